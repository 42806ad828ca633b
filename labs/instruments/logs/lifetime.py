"""What a server writes when it is told to stop, when it dies, and when it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.instruments.logs.entries import Entry
from labs.instruments.logs.kernels import lines as kernel_lines
from labs.simulator.front import EXIT_LINGER_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from labs.instruments.logs.entries import Settings
    from labs.simulator.engine import Engine
    from labs.simulator.memory.lives import Life
    from labs.simulator.memory.state import Memory
    from labs.simulator.turnover import Stop

_ORDERED = (
    ("launcher.py:254", "API server: shutdown triggered"),
    ("launcher.py:270", "API server: stopping engine client mode=abort timeout=0s"),
    ("core_client.py:770", "MPClient: start timeout=0s"),
    ("core_client.py:772", "MPClient: stopping engine manager"),
    ("utils.py:628", "Process manager: send sigterm to process EngineCore"),
    ("core.py:1454", "EngineCore: trigger received signal=SIGTERM"),
    ("core_client.py:774", "MPClient: engine manager stopped"),
    ("launcher.py:279", "API server: engine client stopped"),
    ("launcher.py:304", "API server: shutting down FastAPI HTTP server"),
)
"""SIGTERM with the default ``--shutdown-timeout 0``, as a server wrote it."""


def shutdown_lines(t_s: float) -> Iterator[Entry]:
    """Return what a server writes that gets SIGTERM at ``t_s`` with no time to finish what runs."""
    for source, text in _ORDERED:
        yield Entry(t_s, "INFO", source, f"[shutdown] {text}")


def _drained_lines(stop: Stop, gone_s: float | None) -> Iterator[Entry]:
    """Return what a server writes that gets SIGTERM with time to finish what runs, as one wrote it with 30 s."""
    timeout = f"timeout={stop.shutdown_timeout_s:.0f}s"
    said = [
        (source, text.replace("mode=abort timeout=0s", f"mode=drain {timeout}"))
        for source, text in _ORDERED[:6]
    ]
    said[2] = (said[2][0], f"MPClient: start {timeout}")
    said.append(("core.py:1635", f"EngineCore: start mode=drain {timeout}"))
    if stop.in_flight:
        count = f"count={stop.in_flight} {timeout}"
        said.append(("core.py:1655", f"EngineCore: draining in-flight requests {count}"))
    for source, text in said:
        yield Entry(stop.term_s, "INFO", source, f"[shutdown] {text}")
    if gone_s is None:
        return
    if gone_s < stop.term_s + stop.shutdown_timeout_s:
        text = "EngineCore: request processing complete; starting resource teardown"
        done_s = max(stop.term_s, gone_s - EXIT_LINGER_S)
        yield Entry(done_s, "INFO", "core.py:1666", f"[shutdown] {text}")
    for source, text in _ORDERED[6:]:
        yield Entry(gone_s, "INFO", source, f"[shutdown] {text}")


def stops_lines(engine: Engine, stops: Sequence[Stop]) -> Iterator[Entry]:
    """Return the lines of every stop of one replica's servers that somebody asked for, in no order."""
    for stop in stops:
        if stop.shutdown_timeout_s:
            ends = (life.stopped_s for life in engine.processes if life.stopped_s >= stop.term_s)
            yield from _drained_lines(stop, next(ends, None))
        else:
            yield from shutdown_lines(stop.term_s)


def lives_lines(
    engine: Engine, memory: Memory | None, settings: Settings, stops: Sequence[Stop] = ()
) -> Iterator[Entry]:
    """Return the lines of every start and end of a replica's server, in no order.

    With a memory the start says its phases and the end its error; without one, only that it ended and is up. Where
    somebody wrote down whom they told to stop, and with how much time, the ends are those.
    """
    if stops:
        yield from stops_lines(engine, stops)
        return
    if memory is not None:
        for life in memory.lives:
            yield from _life_lines(life, settings)
        return
    for process in engine.processes[1:]:
        yield from shutdown_lines(process.stopped_s)
    if settings.kernels is not None:
        for process in engine.processes:
            yield from kernel_lines(settings.kernels, process.up_s)


def _life_lines(life: Life, settings: Settings) -> Iterator[Entry]:
    for line in life.startup.lines:
        yield Entry(life.start_s + line.after_s, line.level, line.source, line.text)
    if settings.kernels is not None:
        yield from kernel_lines(settings.kernels, life.start_s)
    if life.ended_s is None:
        return
    if not life.ended_by:
        yield from shutdown_lines(life.ended_s)
    elif life.startup.failure is None:
        yield Entry(life.ended_s, "ERROR", "core.py:1244", "EngineCore encountered a fatal error.")
        yield Entry(
            life.ended_s, "ERROR", "core.py:1244", f"torch.OutOfMemoryError: {life.ended_by}"
        )

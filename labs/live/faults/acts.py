"""Acts: a command and what undoes it, or a replica that is started in another way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from labs.live.launching import launch_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from labs.live.boxes import Box
    from labs.live.launching import Launch
    from labs.live.placing import Seat
    from labs.simulator.config import EngineConfig

type Argv = tuple[str, ...]


STANDS_FOR = {"VLLM_TEST_FORCE_FP8_MARLIN": "VLLM_DISABLED_KERNELS"}
"""Variables that vLLM 0.32 no longer reads (pull request 52182), and those by which a start here does what they did.

Both are set and taken away together; vLLM warns of the first as one that it does not know.
"""


class Cannot(ValueError):  # noqa: N818
    """What no real means makes on this box; the message is a sentence that says why."""


@dataclass(frozen=True)
class Start:
    """All that decides how a replica is started: two starts differ in what a fault changes of it."""

    box: Box
    config: EngineConfig
    seat: Seat
    flags: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    fp8_kv: bool = False

    def launch(
        self, log_path: Path, *, marks: Mapping[str, str] | None = None, as_written: bool = False
    ) -> Launch:
        """Return the command and environment. ``marks`` are ``guard.marks`` of the lease. Raises BoxError, see there."""
        return launch_of(
            self.box,
            self.config,
            port=self.seat.port,
            log_path=log_path,
            devices=self.seat.devices,
            flags=self.flags,
            env={**dict(self.env), **(marks or {})},
            fp8_kv=self.fp8_kv,
            as_written=as_written,
        )

    def with_env(self, **variables: str) -> Start:
        """Return it with variables added."""
        return replace(self, env=tuple(sorted({**dict(self.env), **variables}.items())))

    def without_env(self, name: str) -> Start:
        """Return it without a variable, and without what it stands for: what ``unset-env NAME`` does at the next start."""
        gone = {name, STANDS_FOR.get(name)}
        return replace(self, env=tuple(pair for pair in self.env if pair[0] not in gone))

    def with_flags(self, *words: str) -> Start:
        """Return it with words added to its command."""
        return replace(self, flags=(*self.flags, *words))


@dataclass(frozen=True)
class Act:
    """One thing that a fault does, at a time of the incident."""

    says: str
    at_s: int = 0
    """Incident seconds; the page is at 0."""
    replica: int | None = None
    reads: Argv = ()
    """Run first. It prints numbers on one line, and ``{0}``, ``{1}`` of the commands below become the first, the second."""
    do: tuple[Argv, ...] = ()
    undo: tuple[Argv, ...] = ()
    """Written into the ledger before anything is done; each may be run twice."""
    env: tuple[tuple[str, str], ...] = ()
    """What commands of ``do`` find in their environment."""
    stays: bool = False
    """The command of ``do`` runs on by itself: a process beside the engine."""
    starts: tuple[Start, ...] = ()
    """Replicas that are stopped and started so; their end undoes it, and a start without it ends it sooner."""
    at_least: tuple[tuple[int, int], ...] = ()
    """(number, index of a number that ``reads`` printed): the number is raised to that, where it is below."""
    needs_root: bool = False
    note: str = ""
    proves: Argv = ()
    """The reading that shows whether it is done, and undone."""
    values: tuple[int, ...] = ()
    """``{v0}``, ``{v1}`` of the commands, after ``at_least``."""


def filled(argv: Argv, read: tuple[str, ...] = (), values: tuple[int, ...] = ()) -> Argv:
    """Return a command with what was read, and with the act's values, in place of ``{0}`` and ``{v0}``."""
    names = {f"{{{index}}}": number for index, number in enumerate(read)}
    names |= {f"{{v{index}}}": str(value) for index, value in enumerate(values)}
    return tuple(_filled(word, names) for word in argv)


def _filled(word: str, names: Mapping[str, str]) -> str:
    for name, value in names.items():
        word = word.replace(name, value)
    return word


def values_of(act: Act, read: tuple[str, ...] = ()) -> tuple[int, ...]:
    """Return an act's values once its readings are known: none is below what the device allows."""
    values = list(act.values)
    for index, number in act.at_least:
        if read:
            values[index] = max(values[index], round(float(read[number])))
    return tuple(values)

"""A guard between a worker and its engine: when the worker is gone, however it went, so is the engine.

Run as a file, with the standard library alone::

    python guard.py [--ledger FILE] [--grace SECONDS] [--nice N] -- vllm serve ...

It starts the engine in a session of its own and holds the read end of a pipe, its standard input, whose write end only
the worker has. The pipe says how to go on:

- ``stop``: end the engine, and leave what the ledger would undo: another engine follows.
- ``drain N``: SIGTERM to the engine's own process alone, as whoever replaces machines sends it: what runs there may end.
  What is left N seconds later is ended as by ``stop``.
- the end of the pipe, or SIGTERM: the worker is gone, or somebody sweeps. End the engine, undo, exit.

Ending is SIGTERM to every process of the engine, a grace, SIGKILL. An engine that ends by itself ends its guard with the
same status. A ledger is a file of JSON lines, each the argv of a command that undoes a fault; the last is run first, and
what has been undone is taken out. Linux only: processes are read from /proc.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import FrameType

MARK = "COURSEWARE_LEASE"
"""The environment variable by which a sweep knows the processes of a lease."""
PLACE = "COURSEWARE_LIVE_DIR"
"""The one by which it knows those of its own site: two sites may share a machine."""
NUMBER = "COURSEWARE_GUARD"
"""The one by which a guard knows what its own engine started: a lease may have several engines."""
PROC = Path("/proc")
GRACE_S = 10.0
LOOK_EVERY_S = 0.1
UNDO_LIMIT_S = 30.0
STOP = "stop"
DRAIN = "drain"


def marks(lease: str, live_dir: Path | str) -> dict[str, str]:
    """Return what an engine's environment must hold for the sweep to find it and all that it starts.

    vLLM names its processes by setproctitle, which writes the name over the environment that /proc shows, unless told.
    """
    return {MARK: lease, PLACE: str(live_dir), "SPT_NOENV": "1"}


def command(
    argv: Sequence[str], *, ledger: Path | None = None, grace_s: float = GRACE_S, nice: int = 0
) -> list[str]:
    """Return the command that runs ``argv`` under a guard. Its standard input must be a pipe that only the worker holds."""
    undone = ["--ledger", str(ledger)] if ledger else []
    return [
        *(sys.executable, "-I", str(Path(__file__).resolve())),
        *undone,
        *("--grace", f"{grace_s:g}", "--nice", str(nice), "--", *argv),
    ]


def spawn(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    output: IO[bytes] | int,
    ledger: Path | None = None,
    grace_s: float = GRACE_S,
    nice: int = 0,
) -> subprocess.Popen[bytes]:
    """Start ``argv`` under a guard and return the guard's process: it ends when the engine does, with its status.

    Keep the object: its ``stdin`` is the pipe, and when that closes the engine is ended. A process that is forked without
    exec would hold the pipe too, and outlive its parent with it: fork none.
    """
    return subprocess.Popen(
        command(argv, ledger=ledger, grace_s=grace_s, nice=nice),
        env=dict(env),
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def drain(guard: subprocess.Popen[bytes], *, within_s: float) -> None:
    """Have a guard tell its engine to stop, and end what is left of it after ``within_s``; nobody is waited for."""
    _tell(guard, f"{DRAIN} {within_s:g}")


def _tell(guard: subprocess.Popen[bytes], word: str) -> None:
    if guard.stdin is not None:
        with suppress(OSError, ValueError):  # Closed: it was stopped before.
            guard.stdin.write(f"{word}\n".encode())
            guard.stdin.flush()


def stop(guard: subprocess.Popen[bytes], *, within_s: float) -> int:
    """Have a guard end its engine without undoing anything, and return its status; SIGKILL is the last resort."""
    _tell(guard, STOP)
    try:
        return guard.wait(timeout=within_s)
    except subprocess.TimeoutExpired:
        guard.kill()
        return guard.wait()
    finally:
        if guard.stdin is not None:
            with suppress(OSError):
                guard.stdin.close()


# -------------------------------------------------------------------------------------- processes


@dataclass(frozen=True)
class Process:
    """A process as /proc shows it. Its id may be given to another one later: its start says which is meant."""

    pid: int
    started: int
    """Clock ticks since boot."""
    session: int

    @property
    def is_alive(self) -> bool:
        return process(self.pid) == self

    def signal(self, number: int) -> bool:
        """Send a signal to this process and to no other that has its id by now; False if it is gone."""
        try:
            handle = os.pidfd_open(self.pid)
        except OSError:
            return False
        try:
            # The handle stays with the process that had the id when it was opened: look whether that is ours.
            if not self.is_alive:
                return False
            signal.pidfd_send_signal(handle, number)
        except OSError:
            return False
        finally:
            os.close(handle)
        return True


def process(pid: int) -> Process | None:
    """Return the process of an id; None if there is none, or if it has ended and was not waited for yet."""
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # After the name, which may hold anything: state, parent, group, session, ...; the start is the 22nd field.
    state, _, _, session, *rest = text.rpartition(")")[2].split()
    if state in {"Z", "X"}:
        return None
    return Process(pid, int(rest[15]), int(session))


def processes() -> list[Process]:
    """Return all processes of this machine."""
    ids = (int(each.name) for each in PROC.iterdir() if each.name.isdecimal())
    return [found for each in ids if (found := process(each)) is not None]


def environment(pid: int) -> dict[str, str]:
    """Return the environment that a process was started with; empty if it is not ours to read."""
    try:
        raw = (PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return {}
    pairs = (each.partition(b"=") for each in raw.split(b"\0") if b"=" in each)
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}


def title(pid: int) -> str:
    """Return what a process calls itself, or was called with, in one line; '' if it is gone or not ours to read."""
    try:
        raw = (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return ""
    return os.fsdecode(raw).replace("\0", " ").strip()


def marked(live_dir: Path | str) -> list[tuple[Process, str]]:
    """Return the processes of this site's leases, each with the lease that it is of; never this process itself."""
    found = []
    for each in processes():
        env = environment(each.pid)
        if each.pid != os.getpid() and env.get(PLACE) == str(live_dir) and env.get(MARK):
            found.append((each, env[MARK]))
    return found


def end_all(
    look: Callable[[], Iterable[Process]], *, grace_s: float, kill_s: float = 5.0
) -> list[Process]:
    """End the processes that ``look`` finds: SIGTERM once each, SIGKILL from the end of the grace on.

    Looks again until none is left, so that one which was started meanwhile is found too. Returns those that outlive
    even that, for ``kill_s``: a process that waits for a device cannot be ended.
    """
    told: set[Process] = set()
    kill_at = time.monotonic() + grace_s
    while left := list(look()):
        now = time.monotonic()
        for each in left:
            if now >= kill_at:
                each.signal(signal.SIGKILL)
            elif each not in told:
                told.add(each)
                each.signal(signal.SIGTERM)
        if now >= kill_at + kill_s:
            return left
        time.sleep(LOOK_EVERY_S)
    return []


# --------------------------------------------------------------------------------------- the ledger


def undo(ledger: Path) -> list[str]:
    """Run what a ledger says, the last line first; return a sentence for each that failed, which stays in the file.

    Safe to call twice, and from two processes at once: the second waits, and finds what the first has left.
    """
    if not ledger.exists():
        return []
    try:
        with _alone(ledger):
            return _undo_all(ledger)
    except OSError as error:
        return [f"The ledger {ledger} cannot be read or written: {error.strerror or error}."]


def _undo_all(ledger: Path) -> list[str]:
    problems: list[str] = []
    kept: list[str] = []
    waiting = _lines(ledger)
    while waiting:
        line = waiting.pop()
        if problem := _undo_one(line):
            problems.append(problem)
            kept.insert(0, line)
        # Written after each, so that a stop half-way undoes nothing twice.
        _write(ledger, [*waiting, *kept])
    return problems


@contextmanager
def _alone(ledger: Path) -> Iterator[None]:
    """Hold a lock on a ledger; it goes with the process that holds it."""
    with ledger.with_suffix(f"{ledger.suffix}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _lines(ledger: Path) -> list[str]:
    """Return what is to be undone. What a crash has torn off, at the end, was never done: its command came after."""
    try:
        whole, _, _ = ledger.read_text(encoding="utf-8", errors="replace").rpartition("\n")
    except FileNotFoundError:
        return []
    return [each for each in whole.split("\n") if each.strip()]


def _undo_one(line: str) -> str:
    try:
        argv = json.loads(line)
    except ValueError:
        return f"A line of the ledger is no JSON: {line[:200]}"
    if not (isinstance(argv, list) and argv and all(isinstance(each, str) for each in argv)):
        return f"A line of the ledger is no list of words: {line[:200]}"
    said = " ".join(argv)
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=UNDO_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"“{said}” could not be run: {error}"
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        return f"“{said}” ended with status {done.returncode}: {' '.join(last)}"
    return ""


def _write(ledger: Path, lines: list[str]) -> None:
    """Replace a ledger; what is said of it is on disk before this returns."""
    if not lines:
        ledger.unlink(missing_ok=True)
    else:
        beside = ledger.with_suffix(f"{ledger.suffix}.new")
        with beside.open("w", encoding="utf-8") as file:
            file.write("".join(f"{each}\n" for each in lines))
            file.flush()
            os.fsync(file.fileno())
        beside.replace(ledger)
    folder = os.open(ledger.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def record(ledger: Path, argv: Sequence[str]) -> None:
    """Add a command that undoes a fault to a ledger, on disk before the fault is made. Raises OSError."""
    ledger.parent.mkdir(parents=True, exist_ok=True)
    with _alone(ledger):
        _write(ledger, [*_lines(ledger), json.dumps(list(argv))])


# ---------------------------------------------------------------------------------------- the guard


def give_way(pid: int, nice: int) -> None:
    """Lower the priority of a process that has just started, and of all that it will start, below others of the machine.

    A kernel that groups processes by session weighs them by the session's niceness, and by their own only within it.
    """
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, nice)
    with suppress(OSError):
        (PROC / str(pid) / "autogroup").write_text(str(nice), encoding="ascii")


def watch(argv: Sequence[str], *, ledger: Path | None, grace_s: float, nice: int = 0) -> int:
    """Run an engine until it ends, is told to, or the worker is gone; return the status to exit with."""
    asked: list[str] = []

    def on_term(_number: int, _frame: FrameType | None) -> None:
        asked.append("SIGTERM")

    signal.signal(signal.SIGTERM, on_term)
    for each in (signal.SIGINT, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    number = f"{os.getpid()}.{time.time_ns()}"
    env = {**os.environ, NUMBER: number}
    try:
        engine = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, start_new_session=True)
    except OSError as error:
        say(f"{argv[0]} cannot be started: {error.strerror or error}")
        return 127
    if nice:
        give_way(engine.pid, nice)
    why = _waited(engine, asked)
    if engine.poll() is None:
        say(f"ending the engine ({why})")
    left = end_all(lambda: _of(engine, number), grace_s=grace_s)
    if left:
        say(f"these cannot be ended: {', '.join(str(each.pid) for each in left)}")
    engine.poll()
    if ledger is not None and why and why != STOP:
        for problem in undo(ledger):
            say(problem)
    status = engine.returncode
    return 1 if status is None else status if status >= 0 else 128 - status


def _of(engine: subprocess.Popen[bytes], number: str) -> list[Process]:
    """Return the engine's processes: those of its session, and those that left it but carry this guard's number."""
    engine.poll()
    return [
        each
        for each in processes()
        if each.session == engine.pid or environment(each.pid).get(NUMBER) == number
    ]


def _waited(engine: subprocess.Popen[bytes], asked: Sequence[str]) -> str:
    """Wait until an engine has ended or is to be ended, and return why it is; '' if it ended by itself."""
    end_at = float("inf")
    while engine.poll() is None:
        why = asked[0] if asked else _said(LOOK_EVERY_S)
        if why.startswith(DRAIN):
            end_at = _told(engine, why)
        elif why:
            return why
        elif time.monotonic() >= end_at:
            return STOP
    return ""


def _told(engine: subprocess.Popen[bytes], word: str) -> float:
    """Send SIGTERM to the engine's own process, and return when what is left is to be ended: ``time.monotonic``."""
    within_s = float(word.split()[1])
    say(f"telling the engine to stop, within {within_s:g} s")
    with suppress(ProcessLookupError):
        engine.send_signal(signal.SIGTERM)
    return time.monotonic() + within_s


def _said(within_s: float) -> str:
    """Return what the pipe says: "stop", "drain N", that it has ended, or nothing yet; of several words the last."""
    readable, _, _ = select.select([sys.stdin.fileno()], [], [], within_s)
    if not readable:
        return ""
    said = os.read(sys.stdin.fileno(), 1024)
    if not said:
        return "the worker is gone"
    lines = said.decode(errors="replace").splitlines()
    known = [each for each in lines if re.fullmatch(rf"{STOP}|{DRAIN} \d+(\.\d+)?", each)]
    return known[-1] if known else ""


def say(text: str) -> None:
    """Write a line into the engine's log."""
    with suppress(OSError):
        print(f"guard: {text}", file=sys.stderr, flush=True)  # noqa: T201  (the log is standard error)


def main() -> int:
    """Read the arguments and watch."""
    parser = argparse.ArgumentParser(description="Run an engine that ends with its worker.")
    parser.add_argument("--ledger", type=Path, help="JSON lines: what is to be undone at the end")
    parser.add_argument("--grace", type=float, default=GRACE_S, metavar="SECONDS")
    parser.add_argument(
        "--nice", type=int, default=0, help="of the engine; the guard keeps its own"
    )
    parser.add_argument("argv", nargs="+", metavar="-- COMMAND")
    options = parser.parse_args()
    return watch(options.argv, ledger=options.ledger, grace_s=options.grace, nice=options.nice)


if __name__ == "__main__":
    sys.exit(main())

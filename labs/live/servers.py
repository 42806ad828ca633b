"""The process of an engine: started, waited for, looked at, stopped. Each failure is a sentence that a person can act on."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import socket
import subprocess
import textwrap
import time
import urllib.error
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from labs.live import guard
from labs.live.launching import HOST

if TYPE_CHECKING:
    from collections.abc import Callable

    from labs.live.launching import Launch

LOOK_EVERY_S = 0.25
ASK_TIMEOUT_S = 2.0
KEPT_LINES = 200
SAID_CHARACTERS = 400
LINE_BYTES = 400
"""Of a long line of the log."""
FULL_BYTES = 1_000_000
"""A disk with less than this is full: no log, and no cache of the engine, has room."""
OK = 200


class EngineError(Exception):
    """Why there is no engine: one sentence for whoever reads it, what the log ends with is the operator's."""


class EngineDied(EngineError):  # noqa: N818
    """The process ended by itself."""


class NotReady(EngineError):  # noqa: N818
    """The engine did not answer in time."""


@dataclass
class Server:
    """A started engine."""

    launch: Launch
    process: subprocess.Popen[bytes]
    started_s: float
    """``time.monotonic`` of the start."""
    log_at: int = 0
    """Where its own lines begin in its log, bytes: an engine that is restarted goes on in the same file."""

    @property
    def base_url(self) -> str:
        return self.launch.base_url

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None


def free_port() -> int:
    """Return a port of the loopback address that nobody has at the moment."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def port_for(wanted: int) -> int:
    """Return the wanted port of the loopback address, or another one if somebody has that."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, wanted))
        except OSError:
            return free_port()
    return wanted


def start(launch: Launch) -> Server:
    """Start an engine under a guard, its output in its log: when this process is gone, so is the engine.

    Raises EngineError, whose text says what is missing, if the start is hopeless before it began.
    """
    _check(launch)
    log_at = launch.log_path.stat().st_size if launch.log_path.exists() else 0
    try:
        launch.log_path.parent.mkdir(parents=True, exist_ok=True)
        with launch.log_path.open("ab") as log:
            process = guard.spawn(
                launch.argv,
                env=launch.environment(),
                output=log,
                ledger=launch.ledger,
                nice=launch.nice,
            )
    except OSError as exc:
        raise EngineError(_why(exc, launch)) from exc
    return Server(launch, process, time.monotonic(), log_at)


def _check(launch: Launch) -> None:
    program = launch.argv[0]
    if shutil.which(program) is None:
        raise EngineError(
            f"There is no {program}: `make live` prepares the engine's environment; on a box of GPUs, PATH must lead to it."
        )
    model = Path(launch.argv[2])
    if not (model / "config.json").is_file():
        raise EngineError(
            f"The model's folder {model} is missing or has no config.json: `make live` builds the small models, "
            "and a box's profile names the folder of any other."
        )
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, launch.port))
        except OSError as exc:
            raise EngineError(
                f"Port {launch.port} is taken by another process; the engine was not started. End that process, or give another port."
            ) from exc


def _why(exc: OSError, launch: Launch) -> str:
    if exc.errno == errno.ENOSPC:
        return f"The disk is full: the engine's log {launch.log_path} could not be written."
    return f"The engine could not be started: {exc.strerror or exc}."


def wait_ready(
    server: Server, *, within_s: float, tell: Callable[[float, str], None] | None = None
) -> float:
    """Wait until ``/health`` answers 200, and return the seconds since the start.

    Raises EngineDied or NotReady. ``tell`` is told the share of the time that is over, and what the log said last;
    it may raise to stop.
    """
    while True:
        waited_s = time.monotonic() - server.started_s
        if not server.is_alive:
            raise EngineDied(why_ended(server))
        if answers(server.base_url):
            return waited_s
        if waited_s > within_s:
            raise NotReady(
                f"The engine did not answer within {within_s:.0f} s of its start; it was stopped."
            )
        if tell is not None:
            tell(min(1.0, waited_s / within_s), doing(server.launch.log_path, server.log_at))
        time.sleep(LOOK_EVERY_S)


def answers(base_url: str, path: str = "/health") -> bool:
    """Return whether the server answers 200."""
    try:
        with urllib.request.urlopen(base_url + path, timeout=ASK_TIMEOUT_S) as answer:  # noqa: S310  (loopback)
            return bool(answer.status == OK)
    except (OSError, urllib.error.URLError, ValueError):
        return False


def stop(server: Server, *, grace_s: float = 10.0) -> None:
    """End an engine and all that it started: SIGTERM, and SIGKILL after the grace. Nothing is left behind."""
    guard.stop(server.process, within_s=grace_s + guard.GRACE_S)


def tell_to_stop(server: Server, *, within_s: float) -> None:
    """Send an engine's own process SIGTERM and go on; its guard ends what is left of it after ``within_s``."""
    guard.drain(server.process, within_s=within_s)


def is_open(server: Server) -> bool:
    """Return whether the engine's port takes connections: of vLLM, one that was told to stop may do so for a while."""
    with socket.socket() as probe:
        probe.settimeout(ASK_TIMEOUT_S)
        return probe.connect_ex((HOST, server.launch.port)) == 0


def tail(log_path: Path, lines: int = KEPT_LINES, *, since: int = 0) -> str:
    """Return the last lines of a log from a byte on, without colours; '' if there is none."""
    try:
        with log_path.open("rb") as log:
            end = log.seek(0, os.SEEK_END)
            # Not the whole of it: an engine under load writes some MB a minute.
            log.seek(max(since, end - lines * LINE_BYTES, 0))
            text = log.read().decode(errors="replace")
    except OSError:
        return ""
    return plain("".join(text.splitlines(keepends=True)[-lines:]))


def plain(text: str) -> str:
    """Return a text without a terminal's colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


_ERROR = re.compile(
    r"(?:\b[A-Za-z]+(?:Error|Exception): |\bNo space left on device|\berror: argument ).*",
    re.MULTILINE,
)
"""What an error says at the end of its traceback; a line of source that raises one has no colon behind its name."""


def said_last(log_path: Path, code: int | None, *, since: int = 0) -> str:
    """Return one sentence on why an engine ended: the last error that its log names from a byte on."""
    lines = [each for each in tail(log_path, since=since).splitlines() if " WARNING " not in each]
    found = [
        each.strip()
        for each in _ERROR.findall("\n".join(lines))
        if "See root cause" not in each and "EngineDeadError" not in each
    ]
    # The engine's own process says why; those that wait for it follow with errors of their own.
    specific = [each for each in found if "Engine core initialization failed" not in each]
    said = (specific or found or [""])[-1]
    if not said and _is_full(log_path):
        return f"The engine ended by itself ({_ended(code)}): the disk that holds its log is full."
    ended = f"The engine ended by itself ({_ended(code)})"
    short = textwrap.shorten(said, SAID_CHARACTERS, placeholder=" …")
    return f"{ended}: {short}" if said else f"{ended} and named no error."


def why_ended(server: Server) -> str:
    """Return one sentence on why an engine that was started has ended."""
    return said_last(server.launch.log_path, server.process.returncode, since=server.log_at)


def _ended(code: int | None) -> str:
    """Return an exit status in words; what a shell adds to a signal's number is taken off."""
    number = 0 if code is None else -code if code < 0 else code - 128
    if number > 0:
        with suppress(ValueError):
            return f"killed by {signal.Signals(number).name}"
    return f"exit status {code}"


def _is_full(log_path: Path) -> bool:
    try:
        return shutil.disk_usage(log_path.parent).free < FULL_BYTES
    except OSError:
        return False


_DOING = (
    ("init engine", "Ready to listen"),
    ("KV cache size", "The KV pool is laid out"),
    ("Loading weights took", "The weights are loaded"),
    ("Starting to load model", "Loading the weights"),
    ("Initializing a V1 LLM engine", "The engine's process is up"),
)


def doing(log_path: Path, since: int = 0) -> str:
    """Return what a starting engine is at, in a few words."""
    text = tail(log_path, 60, since=since)
    return next((words for mark, words in _DOING if mark in text), "Importing the engine")

"""The supervisor of a box: it keeps one worker of the queue ``live`` running, sweeps, and leaves no engine behind.

What each crash leads to, and who notices:

- the process of a task is killed: its guard ends the engine; Celery starts another process; the next sweep, within
  15 s, finds that the lease's holder is gone and ends the lease.
- Celery's parent is killed: the supervisor kills what is left of its group, the guard ends the engine, the sweep ends
  the lease, a new worker starts.
- the supervisor is killed: the kernel tells the worker to stop, which takes no further lease and holds the one it has to
  its end. Nobody sweeps until the next supervisor starts, whose first act it is.
- the machine: its leases go silent, and beat's tasks end them.
"""

from __future__ import annotations

import ctypes
import fcntl
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

from django.conf import settings
from django.db import DatabaseError, connection
from django.utils import timezone

from labs import leases, live_sweep
from labs.live import boxes, servers
from labs.models import BoxPulse, Lease

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

logger = logging.getLogger(__name__)

SWEEP_EVERY_S = 15.0
LOOK_EVERY_S = 0.2
RESTART_AFTER_S = (1.0, 2.0, 5.0, 15.0, 30.0)
"""After a worker that died soon: longer each time."""
SOON_S = 60.0
STOP_MARGIN_S = 10.0
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class NotSetUp(Exception):  # noqa: N818
    """Why this machine cannot start engines, in sentences that say what to do."""


def problems_of(profile: str) -> list[str]:
    """Return what is missing on this machine for engines of a profile, a sentence each."""
    found: list[str] = []
    if not Path("/proc/self/environ").exists():
        found.append("A box must be a Linux machine: processes are found in /proc.")
    try:
        box = boxes.box(profile)
    except boxes.BoxError as error:
        return [*found, f"LIVE_PROFILE={profile}: {error}."]
    if box.url:
        return [*found, *_unanswered(box)]
    program = boxes.program(box.program)
    if shutil.which(program) is None:
        found.append(
            f"The live environment is missing: there is no {program}. `make live` prepares it; "
            "a profile may name another."
        )
    return [*found, *_without_models(box)]


def _unanswered(box: boxes.Box) -> list[str]:
    """Return why the engine of others cannot be reached; empty if it answers."""
    try:
        url = boxes.address(box)
    except boxes.BoxError as error:
        return [f"{error}."]
    if servers.answers(url):
        return []
    return [
        f"The engine at {url} does not answer /health. It is run by somebody else: ask them, or mend the address."
    ]


def _without_models(box: boxes.Box) -> list[str]:
    """Return why no model of a box can be served; empty if one can, for not every lab needs them all."""
    found: list[str] = []
    for said in [box.model] if box.model else [each.model for each in box.models]:
        try:
            model = boxes.place(said)
        except boxes.BoxError as error:
            found.append(f"{error}.")
            continue
        if (model / "config.json").is_file():
            return []
        found.append(
            f"The model's folder {model} is missing, or has no config.json. `make live` builds the small models; "
            "a profile may name another folder."
        )
    return found


def worker_command() -> list[str]:
    """Return the command of the worker: one process, which takes a message only when it has nothing to do."""
    return [
        *(sys.executable, "-m", "celery", "-A", "courseware", "worker"),
        *("-Q", "live", "--concurrency", "1", "--disable-prefetch"),
        *("--without-gossip", "--without-mingle"),
        *("-n", f"live-{settings.LIVE_BOX}@%h", "--loglevel", "INFO"),
    ]


@dataclass
class Supervisor:
    """One box: its worker, its sweeps, its lock."""

    command: list[str] = field(default_factory=worker_command)
    worker: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    failures: int = 0
    lock: IO[str] | None = None
    asked: list[int] = field(default_factory=list)
    """Signals that told it to stop."""

    def run(self) -> None:
        """Work until told to stop; then leave nothing behind. Raises NotSetUp if another supervisor has this box."""
        self.hold_box()
        for number in STOP_SIGNALS:
            signal.signal(number, self._on_signal)
        try:
            self.sweep()
            swept_at = time.monotonic()
            self.start()
            while not self.asked:
                if self.worker is not None and self.worker.poll() is not None:
                    self.mourn(self.worker)
                    self.sweep()
                elif self.worker is None and time.monotonic() - self.started_at >= self.pause_s:
                    self.start()
                if time.monotonic() - swept_at >= SWEEP_EVERY_S:
                    self.sweep()
                    swept_at = time.monotonic()
                time.sleep(LOOK_EVERY_S)
        finally:
            self.stop()

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self.asked.append(number)

    def hold_box(self) -> None:
        folder = Path(settings.LIVE_DIR)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.lock = (folder / "box.lock").open("a+", encoding="utf-8")
        except OSError as error:
            raise NotSetUp(
                f"LIVE_DIR={folder} cannot be written: {error.strerror or error}."
            ) from error
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.lock.close()
            raise NotSetUp(
                f"Another live_worker has {folder}: one is enough for a box. "
                "A second box on this machine needs a LIVE_DIR and a LIVE_BOX of its own."
            ) from None

    # ------------------------------------------------------------------------------ its worker

    @property
    def pause_s(self) -> float:
        """How long to wait before the worker is started anew."""
        return (
            RESTART_AFTER_S[min(self.failures, len(RESTART_AFTER_S) - 1)] if self.failures else 0.0
        )

    def start(self) -> None:
        self.started_at = time.monotonic()
        self.worker = subprocess.Popen(
            self.command,
            cwd=settings.BASE_DIR,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=_stop_with_parent,  # noqa: PLW1509  (this process has one thread)
        )
        logger.info("the worker of box %s is process %s", settings.LIVE_BOX, self.worker.pid)

    def mourn(self, worker: subprocess.Popen[bytes]) -> None:
        """End what a dead worker left of its group: nobody would end a lease whose worker has no parent."""
        _signal_group(worker.pid, signal.SIGKILL)
        lasted_s = time.monotonic() - self.started_at
        self.failures = self.failures + 1 if lasted_s < SOON_S else 1
        logger.error(
            "the worker of box %s ended (status %s) after %.0f s; another is started in %.0f s",
            settings.LIVE_BOX,
            worker.returncode,
            lasted_s,
            self.pause_s,
        )
        self.worker, self.started_at = None, time.monotonic()

    def stop(self) -> None:
        """End the lease and the worker, then whatever is left, and say that the box is down."""
        for number in STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        worker = self.worker
        if worker is not None:
            worker.send_signal(signal.SIGTERM)
        _through_outages(_end_leases)
        if worker is not None:
            with suppress(subprocess.TimeoutExpired):
                worker.wait(timeout=settings.LIVE_GRACE_S + STOP_MARGIN_S)
            _signal_group(worker.pid, signal.SIGKILL)
            worker.wait()
            self.worker = None
        _through_outages(live_sweep.sweep_box)
        _through_outages(lambda: BoxPulse.objects.filter(name=settings.LIVE_BOX).delete())
        if self.lock is not None:
            self.lock.close()

    # ------------------------------------------------------------------------------ its rounds

    def sweep(self) -> None:
        """Sweep the box, and say that it is up, and what it cannot get rid of."""
        why: list[str] = []
        _through_outages(lambda: why.extend(live_sweep.sweep_box().in_the_way))
        _through_outages(lambda: self.pulse(" ".join(why)))

    def pulse(self, problem: str = "") -> None:
        if self.failures > 1:
            problem = f"Its worker ended {self.failures} times within a minute of its start."
        BoxPulse.objects.update_or_create(
            name=settings.LIVE_BOX,
            defaults={
                "host": live_sweep.host(),
                "profile": settings.LIVE_PROFILE,
                "seen_at": timezone.now(),
                "problem": problem,
            },
        )


def _end_leases() -> None:
    """End the leases of this box; their holders notice at their next breath."""
    for each in Lease.objects.held().filter(box=settings.LIVE_BOX):
        leases.end(each, Lease.Reason.WORKER_STOPPED)


def _through_outages(do: Callable[[], object]) -> None:
    """Do something with the database, or log that it is away: a supervisor does not end because of that."""
    try:
        do()
    except DatabaseError:
        logger.exception("the database does not answer; box %s goes on", settings.LIVE_BOX)
        connection.close()


def _signal_group(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _stop_with_parent() -> None:
    """Run in the child before its program: hear of it if the supervisor is killed."""
    set_death_signal = 1
    ctypes.CDLL(None).prctl(set_death_signal, signal.SIGTERM)

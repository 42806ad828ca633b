"""Holding a lease: from the claim to the end, by one process, in one loop.

What is started, driven and stopped is a ``Session``; this module knows its clocks and its rows. While the engine runs,
the holder performs the attempt's queued actions itself: they are claimed from the log like any other, and no other
worker takes them.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.db import DatabaseError, connection
from django.utils import timezone
from django.utils.module_loading import import_string

from labs import doorbell, lease_order, leases, live_sweep, worker
from labs.models import Action, Attempt, Lease

if TYPE_CHECKING:
    from collections.abc import Callable

    from labs.incident import Progress
    from labs.worker import Worlds

logger = logging.getLogger(__name__)

BEAT_EVERY_S = 2.0
LOOK_EVERY_S = 0.25
"""A queued action is found within so long."""
Reason, Status = Lease.Reason, Lease.Status


class Session(Protocol):
    """An engine and its load, for one lease.

    Whatever takes longer than ``LIVE_SILENCE_S`` / 3 tells, and lets what telling raises pass through. A failure that
    a learner should read about is an ``EngineLost``. Its processes carry ``labs.live.guard.marks``.
    """

    @property
    def worlds(self) -> Worlds:
        """Where actions are performed; asked for once the engine is ready."""

    @property
    def pids(self) -> dict[str, list[int]]:
        """What it has started, for the operator: a name -> [process id, start in clock ticks]."""

    @property
    def log_path(self) -> str:
        """The log whose last lines are kept with the lease."""

    def start(self, tell: Progress) -> None:
        """Start the engine, and return when it answers."""

    def serve(self, until: float) -> None:
        """Let the load run until ``time.monotonic`` is ``until``. Raises EngineLost once the engine is gone."""

    def follow(self, tell: Progress) -> None:
        """Let the world run on after the attempt was closed, for as long as its mark looks at it."""

    def stop(self) -> None:
        """End the load and every process, store the record. Called once, however it went, also before ``start``."""


class EngineLost(worker.GivenUp):
    """There is no engine, or none any more. Its text is the sentence that the learner reads; it may be empty.

    ``reason`` is why the lease ends; None for what an engine that is gone is called at that time.
    """

    def __init__(self, said: str, reason: Lease.Reason | None = None) -> None:
        super().__init__(said)
        self.reason = reason


class Over(worker.GivenUp):
    """The lease ends here, for this reason; for none if somebody else has ended it already."""

    def __init__(self, reason: Lease.Reason | None) -> None:
        super().__init__(reason)
        self.reason = reason


def session_of(lease: Lease) -> Session:
    """Return a new session for a lease, as the setting LIVE_SESSION says."""
    made: Callable[[Lease], Session] = import_string(settings.LIVE_SESSION)
    return made(lease)


def hold(lease_id: int) -> None:
    """Take the next lease that waits for this box, and hold it to its end.

    ``lease_id`` only says that somebody waits: the order is fair by person, whoever rang. Safe to call twice, and at any
    time: a box holds one lease at once.
    """
    swept = live_sweep.sweep_box(idle=True)
    if swept.in_the_way:
        # Its devices are not free, or not as they were: whoever came next would meet an engine that cannot start, or a fault of another lease.
        logger.error("box %s takes no lease: %s", settings.LIVE_BOX, " ".join(swept.in_the_way))
        return
    lease = leases.claim_next(
        settings.LIVE_BOX,
        host=live_sweep.host(),
        pids={"holder": live_sweep.myself()},
        fits=lambda each: lease_order.fits(each, settings.LIVE_PROFILE),
    )
    if lease is None:
        logger.info("lease %s rang; nobody is to be taken by %s", lease_id, settings.LIVE_BOX)
        return
    _Holder(lease).hold()


@dataclass
class _Holder:
    """This process and its lease."""

    lease: Lease
    heard_at: float = field(default_factory=time.monotonic)
    """When the row was last reached."""
    beaten_at: float = 0.0
    session: Session | None = None
    """Once its engine has answered."""
    is_begun: bool = False
    """Whether the world has come to its page."""
    left_one: bool = False
    """Whether an action may have been left half-way, because the database was away when it was claimed."""

    def hold(self) -> None:
        session: Session | None = None
        reason, said = Reason.WORKER_STOPPED, ""
        try:
            if self.lease.tries > 1:
                live_sweep.clear(
                    self.lease
                )  # An earlier try may have left an engine under the same mark.
            session = session_of(self.lease)
            self.run(session)
        except Over as over:
            reason = over.reason or reason
            if session is not None and reason == Reason.FINISHED:
                self.follow(session)
        except EngineLost as loss:
            reason, said = loss.reason or self.broke(), str(loss)
        except SoftTimeLimitExceeded:
            reason = Reason.DEADLINE
        except Exception:
            logger.exception("lease %s could not be held any longer", self.lease.public_id)
            reason = self.broke()
        finally:
            self.end(session, reason, said)

    def follow(self, session: Session) -> None:
        """Watch the world that a closed attempt left, if it is to be marked and ever came to its page."""
        marking = Attempt.objects.filter(pk=self.lease.attempt_id, status=Attempt.Status.MARKING)
        try:
            if self.is_begun and marking.exists():
                session.follow(self.watch)
        except (Over, EngineLost, DatabaseError) as exc:
            logger.warning("lease %s was not watched to the end: %s", self.lease.public_id, exc)

    def watch(self, share: float, doing: str) -> None:
        """Beat while nobody asks for anything any more; raise Over if the lease is not ours, or is not to go on."""
        if time.monotonic() - self.beaten_at < BEAT_EVERY_S:
            return
        self.beaten_at = time.monotonic()
        is_own = leases.beat(self.lease, progress=share, doing=doing[:120])
        doorbell.ring(self.lease.attempt_id)
        if not is_own or self.lease.cancel_requested:
            raise Over(None)

    def broke(self) -> Lease.Reason:
        """Return what a failure is called now."""
        is_ready = self.lease.status == Status.RUNNING
        return Reason.ENGINE_DIED if is_ready else Reason.START_FAILED

    def run(self, session: Session) -> None:
        """Start the engine and go on until something raises."""
        if self.next_action() is None:
            raise Over(
                Reason.CANCELLED
            )  # Its beginning was cancelled: there is nothing to start for.
        session.start(self.tell)
        self.session = session
        self.look(log_path=session.log_path, **self.started())
        if not self.in_time(lambda: leases.ready(self.lease)):
            raise Over(None)
        while True:
            self.breathe()
            action_id = self.next_action()
            if action_id is None:
                self.require_beginning()
                session.serve(time.monotonic() + LOOK_EVERY_S)
                continue
            try:
                worker.work(
                    action_id,
                    session.worlds,
                    doing="At the engine",
                    breathe=self.breathe,
                    bear=self.missed,
                )
                leases.touch(self.lease)
            except DatabaseError:
                self.missed()
                self.left_one = True

    def in_time[T](self, do: Callable[[], T]) -> T:
        """Do something with the database; one that is away is waited for, and borne for a while."""
        while True:
            try:
                return do()
            except DatabaseError:
                self.missed()
                time.sleep(LOOK_EVERY_S)

    def next_action(self) -> int | None:
        """Return the action that waits for this engine, if there is one and the database says so."""
        log = Action.objects.filter(attempt=self.lease.attempt_id).exclude(kind=Action.Kind.FINISH)
        queued = log.filter(status=Action.Status.QUEUED).values_list("pk", flat=True)
        try:
            if self.left_one:
                # Nobody else performs them: one that runs now is one that was left.
                running = log.filter(status=Action.Status.RUNNING)
                running.update(status=Action.Status.QUEUED, progress=0.0, doing="")
                self.left_one = False
            return queued.first()
        except DatabaseError:
            self.missed()
            return None

    def require_beginning(self) -> None:
        """Raise Over or EngineLost if the world will never come to its page: its beginning was cancelled, or failed."""
        if self.is_begun:
            return
        begins = Action.objects.filter(attempt=self.lease.attempt_id, kind=Action.Kind.BEGIN)
        begin = self.in_time(begins.last)
        if begin is None or begin.status == Action.Status.CANCELLED:
            raise Over(Reason.CANCELLED)
        if begin.status == Action.Status.FAILED:
            raise EngineLost(
                "The engine answered, but the incident could not be brought to its page, three times."
            )
        self.is_begun = begin.status == Action.Status.DONE

    def tell(self, share: float, doing: str) -> None:
        """Store how far the start is; raise Over if it is not wanted any more."""
        if time.monotonic() - self.beaten_at >= BEAT_EVERY_S:
            self.look(progress=share, doing=doing[:120])
            doorbell.ring(self.lease.attempt_id)

    def breathe(self) -> None:
        """Beat, if it is time; raise Over if the lease is over."""
        if time.monotonic() - self.beaten_at >= BEAT_EVERY_S:
            self.look(**self.started())

    def started(self) -> dict[str, Any]:
        """Return the processes of the lease, if they are others than the row says: an engine that is restarted is another."""
        if self.session is None:
            return {}
        pids = {"holder": self.lease.pids.get("holder", live_sweep.myself()), **self.session.pids}
        return {} if pids == self.lease.pids else {"pids": pids}

    def look(self, **fields: Any) -> None:
        """Beat, and raise Over if the lease is not ours any more or is to end. A database that is away is borne for a while."""
        self.beaten_at = time.monotonic()
        try:
            is_own = leases.beat(self.lease, **fields)
            reason = leases.over(self.lease, timezone.now()) if is_own else None
        except DatabaseError:
            self.missed()
            return
        self.heard_at = self.beaten_at
        if not is_own or reason is not None:
            raise Over(reason)

    def missed(self) -> None:
        """Go on without the database, until whoever looks would take this holder for lost."""
        logger.error("the database does not answer the holder of lease %s", self.lease.public_id)
        connection.close()
        if time.monotonic() - self.heard_at > settings.LIVE_SILENCE_S:
            raise Over(None)

    def end(self, session: Session | None, reason: Lease.Reason, said: str) -> None:
        """Stop the session, see that nothing of it is left, and let the box be taken again: in this order."""
        lease = self.lease
        try:
            leases.beat(lease, doing="Stopping the engine")
        except DatabaseError:
            logger.exception("lease %s: going on to stop its engine", lease.public_id)
        log = ""
        if session is not None:
            try:
                session.stop()
            except Exception:
                logger.exception("the session of lease %s did not stop by itself", lease.public_id)
            log = live_sweep.tail(Path(session.log_path)) if session.log_path else ""
        for problem in live_sweep.clear(lease):
            logger.error("%s", problem)
        if leases.end(lease, reason, said, of_try=lease.tries, engine_log=log):
            logger.info("lease %s ended: %s", lease.public_id, reason)
        elif log:
            leases.keep_log(lease, log)

"""The life of a lease: asked for, claimed by a box, ready, kept alive, extended, cancelled, ended.

A lease is a row and its message, written in one transaction. The message only means "look who is next": it may be lost
or come twice. ``labs.live_session`` holds a lease from claim to end.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, Max
from django.utils import timezone

from labs import attempts, doorbell, lease_order, lease_quotas, lease_words, outbox
from labs.models import Action, Attempt, Lease

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from courseware.models import User
    from labs.models.leases import LeaseQuerySet
    from labs.specs import LabSpec

HOLD = "labs.tasks.hold_lease"
MAX_TRIES = 2
"""A lease whose holder is lost while it starts is queued again, until it was claimed so often."""
Reason, Status = Lease.Reason, Lease.Status


class Refused(attempts.NotNow):
    """No lease now. Its text is the sentence that says why, and from when on."""


def ask(attempt: Attempt) -> Lease:
    """Return the attempt's lease, queued if there was none, with the beginning of its world queued beside it.

    Raises Refused if a quota forbids it, or if the attempt has had its engine; attempts.Closed if the attempt is over.
    """
    unended = Lease.objects.unended().filter(attempt=attempt)
    try:
        with transaction.atomic():
            # The other one of two clicks may have asked already: then that is the lease.
            lease_quotas.hold_others(attempt)
            if (existing := unended.first()) is not None:
                return existing
            if refused := _why_not(attempt):
                raise Refused(refused)
            lease = Lease.objects.create(attempt=attempt, person_id=attempt.learner_id)
            attempts.take_up_again(attempt)
            _ring(lease.pk)
    except IntegrityError:
        if (existing := unended.first()) is None:
            raise
        return existing
    doorbell.ring(attempt.pk)
    return lease


def begin(*, learner: User, spec: LabSpec) -> Attempt:
    """Return the learner's open attempt at a lab; a new live one, its lease asked for, if there is none.

    Raises what ``attempts.start_attempt`` does. A lease that a quota refuses leaves the attempt: its room says why, and
    asks again.
    """
    attempt = attempts.start_attempt(learner=learner, spec=spec)
    if attempt.is_live and attempt.is_open:
        with suppress(Refused):
            ask(attempt)
    return attempt


def _why_not(attempt: Attempt) -> str:
    if not Attempt.objects.filter(pk=attempt.pk, status=Attempt.Status.OPEN).exists():
        raise attempts.Closed
    if at_page(attempt.pk):
        return (
            "This attempt has had its engine, and a second one would be another world. "
            "Diagnose from what you have read and close the incident, or give it up and take the page again."
        )
    return lease_quotas.why_not(attempt)


def of_attempt(attempt: Attempt) -> Lease | None:
    """Return the attempt's last lease, ended or not."""
    return Lease.objects.filter(attempt=attempt).order_by("requested_at", "pk").last()


def at_page(attempt_id: int) -> bool:
    """Whether the world of an attempt has come to its page."""
    begun = Action.objects.filter(attempt=attempt_id, kind=Action.Kind.BEGIN, status="done")
    return begun.exists()


# ------------------------------------------------------------------------------------- the holder's


def claim_next(
    box: str,
    *,
    host: str = "",
    pids: dict[str, Any] | None = None,
    fits: Callable[[Lease], bool] = lambda lease: True,
) -> Lease | None:
    """Claim the next lease that fits a box; None if none waits, or if the box has one."""
    now = timezone.now()
    for each in lease_order.in_order(now):
        if not fits(each):
            continue
        rows = Lease.objects.filter(pk=each.pk, cancel_requested=False)
        try:
            with transaction.atomic():
                claimed = rows.move(
                    Status.QUEUED,
                    Status.STARTING,
                    box=box,
                    host=host,
                    pids=pids or {},
                    tries=F("tries") + 1,
                    claimed_at=now,
                    heartbeat_at=now,
                    deadline_at=now + timedelta(seconds=settings.LIVE_START_S),
                    doing="Starting the engine",
                    progress=0.0,
                )
        except IntegrityError:
            return None
        if claimed:
            doorbell.ring(each.attempt_id)
            return Lease.objects.select_related("attempt", "person").get(pk=each.pk)
    return None


def ready(lease: Lease) -> bool:
    """Tell that the engine answers: from now on the lease runs. False if it is not this holder's any more."""
    now = timezone.now()
    moved = _own(lease).move(
        Status.STARTING,
        Status.RUNNING,
        ready_at=now,
        heartbeat_at=now,
        last_used_at=now,
        deadline_at=now + timedelta(seconds=settings.LIVE_DEADLINE_S),
        doing="",
        progress=1.0,
    )
    if moved:
        lease.refresh_from_db()
        doorbell.ring(lease.attempt_id)
    return moved


def beat(lease: Lease, **fields: Any) -> bool:
    """Tell that the holder is alive, and look what was asked of it; False if the lease is not its own any more."""
    if _own(lease).held().update(heartbeat_at=timezone.now(), **fields) != 1:
        return False
    lease.refresh_from_db()
    return True


def touch(lease: Lease) -> None:
    """Begin the idle clock anew: the lease was used."""
    Lease.objects.filter(pk=lease.pk).held().update(last_used_at=timezone.now())


def over(lease: Lease, now: datetime) -> Lease.Reason | None:
    """Return what ends a held lease now: its person, or the clock that has run out; None if it goes on."""
    if lease.cancel_requested:
        return Reason.CANCELLED
    if not Attempt.objects.filter(pk=lease.attempt_id, status=Attempt.Status.OPEN).exists():
        return Reason.FINISHED
    is_late = lease.deadline_at is not None and now >= lease.deadline_at
    if lease.status == Status.STARTING:
        return Reason.START_TIMEOUT if is_late else None
    if is_late:
        return Reason.DEADLINE
    idle = idle_at(lease)
    return Reason.IDLE if idle is not None and now >= idle else None


def idle_at(lease: Lease) -> datetime | None:
    """Return when the idle clock of a running lease runs out; None while something is under way."""
    log = Action.objects.filter(attempt=lease.attempt_id)
    if lease.status != Status.RUNNING or log.under_way().exists():
        return None
    moved = log.aggregate(created=Max("created_at"), done=Max("done_at"))
    used: list[datetime | None] = [lease.last_used_at, lease.ready_at, *moved.values()]
    return max(each for each in used if each) + timedelta(seconds=settings.LIVE_IDLE_S)


def _own(lease: Lease) -> LeaseQuerySet:
    return Lease.objects.filter(pk=lease.pk, tries=lease.tries)


# ------------------------------------------------------------------------------------ the person's


def extend(lease: Lease) -> bool:
    """Give a running lease more time; False if it has had all that there is, or does not run."""
    if lease.extensions >= settings.LIVE_EXTENSIONS or lease.deadline_at is None:
        return False
    rows = Lease.objects.filter(pk=lease.pk, extensions=lease.extensions, cancel_requested=False)
    extended = rows.move(
        Status.RUNNING,
        Status.RUNNING,
        extensions=F("extensions") + 1,
        deadline_at=lease.deadline_at + timedelta(seconds=settings.LIVE_EXTENSION_S),
        last_used_at=timezone.now(),
    )
    if extended:
        doorbell.ring(lease.attempt_id)
    return extended


def cancel(lease: Lease) -> bool:
    """Cancel a lease: at once if no box has it, at its holder's next breath if one has; False if it has ended."""
    if end(lease, Reason.CANCELLED, while_queued=True):
        return True
    asked = Lease.objects.filter(pk=lease.pk).held().update(cancel_requested=True) == 1
    if asked:
        doorbell.ring(lease.attempt_id)
    return asked


# --------------------------------------------------------------------------------------- the end


def end(
    lease: Lease,
    reason: Lease.Reason,
    said: str = "",
    *,
    of_try: int | None = None,
    while_queued: bool = False,
    **fields: Any,
) -> bool:
    """End a lease; True if this call ended it, so that it may be called by whoever notices first.

    ``said`` is what happened, where that is known better than the reason tells it. What is kept and what to do is
    added. What the attempt had under way is cancelled uncharged, its marking announced, and the next box rung for.
    """
    now = timezone.now()
    with transaction.atomic():
        rows = Lease.objects.filter(pk=lease.pk).unended()
        if of_try is not None:
            rows = rows.filter(tries=of_try)
        if while_queued:
            rows = rows.queued()
        row = rows.select_for_update().first()
        if row is None:
            return False
        ended = rows.update(
            status=Status.ENDED,
            ended_at=now,
            end_reason=reason,
            end_text=_end_text(row, reason, said),
            doing="",
            progress=0.0,
            **fields,
        )
        if ended != 1:
            return False
        let_go(row.attempt_id)
        ring_for_next()
    doorbell.ring(lease.attempt_id)
    return True


def _end_text(lease: Lease, reason: Lease.Reason, said: str) -> str:
    limit_s = {
        Reason.IDLE: float(settings.LIVE_IDLE_S),
        Reason.DEADLINE: lease_order.running_s(lease.extensions),
        Reason.START_TIMEOUT: float(settings.LIVE_START_S),
    }.get(reason, 0.0)
    is_queued = lease.status == Status.QUEUED
    what = said.strip() or lease_words.happened(reason, was_queued=is_queued, limit_s=limit_s)
    is_open = Attempt.objects.filter(pk=lease.attempt_id, status=Attempt.Status.OPEN).exists()
    return f"{what} {lease_words.after(is_open=is_open, at_page=at_page(lease.attempt_id))}"


def put_back(lease: Lease) -> bool:
    """Queue a lease whose holder was lost while it started: nothing had begun. False if it has moved meanwhile."""
    with transaction.atomic():
        moved = _own(lease).move(
            Status.STARTING,
            Status.QUEUED,
            box="",
            host="",
            pids={},
            claimed_at=None,
            deadline_at=None,
            doing="",
            progress=0.0,
        )
        if moved:
            _ring(lease.pk)
    if moved:
        doorbell.ring(lease.attempt_id)
    return moved


def let_go(attempt_id: int) -> None:
    """Cancel what waits for an engine that is gone, uncharged, and announce the marking that waited for its end."""
    log = Action.objects.filter(attempt=attempt_id).under_way()
    log.exclude(kind=Action.Kind.FINISH).update(
        status=Action.Status.CANCELLED, done_at=timezone.now(), doing=""
    )
    for action_id in log.filter(kind=Action.Kind.FINISH).values_list("pk", flat=True):
        outbox.post(action_id)


def ring_for_next() -> None:
    """Tell the boxes that one of them may take the next lease."""
    for each in lease_order.in_order(timezone.now())[:1]:
        _ring(each.pk)


def _ring(lease_id: int) -> None:
    """Tell that somebody waits: every box, where the first that hears of it might be of another kind."""
    for _ in range(lease_order.rings(timezone.now())):
        outbox.post(lease_id, HOLD)


def keep_log(lease: Lease, log: str) -> None:
    """Keep the end of an engine's log with its lease, ended or not."""
    Lease.objects.filter(pk=lease.pk).update(engine_log=log)

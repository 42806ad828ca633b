"""Rounds of marking anew, as people move them: asked for, looked at, applied, undone, cancelled.

A round is a row and its message, written in one transaction; ``labs.remarker`` does the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from labs import mark_diff, outbox
from labs.catalogue import labs
from labs.models import Attempt, MarkChange, Remarking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.db.models import QuerySet

    from courseware.models import User

Status = Remarking.Status
WRITTEN = (Status.APPLYING, Status.APPLIED, Status.UNDOING, Status.UNDONE)
"""A round in one of these has changed marks, or begun to."""


class Busy(Exception):  # noqa: N818
    """Another round is writing marks."""


def attempts_at(slugs: Sequence[str]) -> QuerySet[Attempt]:
    """Return the attempts at these labs that have been marked, or could not be."""
    return Attempt.objects.counted().filter(
        lab_slug__in=slugs, status__in=(Attempt.Status.MARKED, Attempt.Status.NOT_GRADED)
    )


def ask(
    slugs: Sequence[str], *, by: User | None = None, simulate: bool = False, send: bool = True
) -> Remarking:
    """Have it worked out what today's rules would change in the attempts at these labs.

    Without ``send`` no worker is told: whoever asks carries it on. Raises KeyError for a lab that is not there.
    """
    chosen = sorted({labs()[slug].slug for slug in slugs})
    with transaction.atomic():
        found = Remarking.objects.create(
            labs=chosen, by=by, simulate=simulate, of=attempts_at(chosen).count()
        )
        if send:
            outbox.post(found.pk, Remarking.TASK)
    return found


def apply(remarking: Remarking, *, reason: str, by: User | None = None, send: bool = True) -> bool:
    """Have the changes written; False if the round is not ready. Raises Busy while another round writes."""
    fields = {"by": by, "reason": reason, "applied_at": timezone.now()}
    return _begin(remarking, Status.READY, Status.APPLYING, send=send, **fields)


def undo(remarking: Remarking, *, send: bool = True) -> bool:
    """Have the changes taken back; False if the round is not applied. Raises Busy while another round writes."""
    return _begin(remarking, Status.APPLIED, Status.UNDOING, send=send)


def cancel(remarking: Remarking) -> bool:
    """End a round before anything is written; False if it writes already, or is over."""
    return any(
        Remarking.move(remarking.pk, source, Status.CANCELLED)
        for source in (Status.COUNTING, Status.READY)
    )


def _begin(remarking: Remarking, source: str, target: str, *, send: bool, **fields: Any) -> bool:
    try:
        with transaction.atomic():
            moved = Remarking.move(
                remarking.pk,
                source,
                target,
                tries=0,
                heartbeat_at=None,
                after_pk=0,
                passed_over=0,
                **fields,
            )
            if moved and send:
                outbox.post(remarking.pk, Remarking.TASK)
    except IntegrityError as exc:
        raise Busy from exc
    return moved


def share_done(remarking: Remarking) -> float:
    """Return how much of the work under way is done, 0 to 1."""
    if remarking.status == Status.COUNTING:
        return remarking.looked_at / remarking.of if remarking.of else 1.0
    rows: QuerySet[Any] = (
        remarking.changes.filter(cause=MarkChange.Cause.REMARKED)
        if remarking.status == Status.UNDOING
        else remarking.planned.all()
    )
    of = rows.count()
    return rows.filter(pk__lte=remarking.after_pk).count() / of if of else 1.0


def before_of(remarking: Remarking) -> dict[int, dict[str, Any]]:
    """Return the marks that the round has written over, by attempt."""
    rows = remarking.changes.filter(cause=MarkChange.Cause.REMARKED)
    return {each.attempt_id: each.before or {} for each in rows.only("attempt", "before")}


def summary_of(remarking: Remarking) -> mark_diff.Summary:
    """Return what the round would change, or has changed."""
    planned = remarking.planned.select_related("attempt").only("mark", "attempt__mark")
    if remarking.status in WRITTEN:
        before = before_of(remarking)
        return mark_diff.summary(
            (before[each.attempt_id], each.mark) for each in planned if each.attempt_id in before
        )
    return mark_diff.summary((each.attempt.mark, each.mark) for each in planned)

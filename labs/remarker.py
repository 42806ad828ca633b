"""The work behind a round of marking anew: claimed, carried on in chunks, taken up again.

What a chunk found is stored together with how far the round got, so that a worker that dies leaves a round that another
carries on. A mark that somebody changed since it was looked at is passed over.
"""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import F, Prefetch
from django.utils import timezone

from labs import checkpoints, errands, mark_changes, mark_diff, marks, reruns, tables
from labs.errands import Stopped
from labs.logged import entries_of
from labs.models import Action, Attempt, KeptReruns, MarkChange, PlannedMark, Remarking, Review
from labs.remarking import attempts_at
from labs.rules import rules_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from django.db.models import QuerySet

    from labs.marking.table import Table

logger = logging.getLogger(__name__)

CHUNK = 50
MOST_FAULTS = 50
Status = Remarking.Status


def carry_on(remarking_id: int) -> None:
    """Carry a round on until it is over. Safe to call twice: a round that a worker has is left alone."""
    remarking = errands.claim(Remarking, remarking_id)
    if remarking is None:
        return
    work: dict[str, tuple[Callable[[Remarking], None], str]] = {
        Status.COUNTING: (_count, Status.READY),
        Status.APPLYING: (_apply, Status.APPLIED),
        Status.UNDOING: (_undo, Status.UNDONE),
    }
    phase, end = work[remarking.status]
    try:
        phase(remarking)
    except Stopped:
        return
    except Exception:
        logger.exception("re-marking %s could not be carried on", remarking_id)
        errands.put_back(remarking)
        return
    errands.own(remarking, end)


def _got(remarking: Remarking, after_pk: int, **counted: int) -> None:
    """Store how far the round got; call in the transaction that stores a chunk. Raises Stopped if it is another's."""
    fields: dict[str, Any] = {name: F(name) + number for name, number in counted.items()}
    errands.hold(remarking, after_pk=after_pk, **fields)
    remarking.after_pk = after_pk


def _chunks[M: (Attempt, PlannedMark, MarkChange)](
    rows: QuerySet[M], remarking: Remarking
) -> Iterator[list[M]]:
    while chunk := list(rows.filter(pk__gt=remarking.after_pk).order_by("pk")[:CHUNK]):
        yield chunk


# ------------------------------------------------------------------------------------ what would change


@dataclass
class _Look:
    """What was found in a chunk."""

    planned: list[PlannedMark] = field(default_factory=list)
    as_before: int = 0
    without_reruns: int = 0
    faults: list[dict[str, Any]] = field(default_factory=list)


def _count(remarking: Remarking) -> None:
    done = Action.objects.filter(status=Action.Status.DONE, kind__in=marks.KINDS).order_by("seq")
    rows = attempts_at(remarking.labs).select_related("kept_reruns")
    rows = rows.prefetch_related(Prefetch("actions", queryset=done, to_attr="done_actions"))
    known: dict[str, Table] = {}
    for chunk in _chunks(rows, remarking):
        look = _Look()
        for attempt in chunk:
            try:
                _look_at(attempt, remarking, known, look)
            except Stopped:
                raise
            except Exception as exc:
                logger.exception("attempt %s could not be judged", attempt.pk)
                look.faults.append(
                    {"attempt": attempt.pk, "message": f"{type(exc).__name__}: {exc}"[:300]}
                )
        with transaction.atomic():
            _got(
                remarking,
                chunk[-1].pk,
                looked_at=len(chunk),
                as_before=look.as_before,
                without_reruns=look.without_reruns,
            )
            PlannedMark.objects.bulk_create(look.planned)
            if look.faults:
                remarking.faults = [*remarking.faults, *look.faults][:MOST_FAULTS]
                errands.hold(remarking, faults=remarking.faults)


def _look_at(attempt: Attempt, remarking: Remarking, known: dict[str, Table], look: _Look) -> None:
    key = attempt.lab_key
    stored: KeptReruns | None = getattr(attempt, "kept_reruns", None)
    kept = reruns.load(stored.kept) if stored else None
    truth = stored.hypothesis if stored else ""
    log = entries_of(getattr(attempt, "done_actions"))  # noqa: B009  (what Prefetch adds has no type)
    if kept is None:
        if not remarking.simulate:
            look.without_reruns += 1
            return
        kept, truth = _simulated(attempt, remarking)
    if key not in known:
        known[key] = tables.table_for(attempt.spec, _progress(remarking))
    judgement = marks.judged(attempt, log, kept, truth, known[key])
    mark = mark_diff.plain(asdict(judgement))
    if mark_diff.same(attempt.mark, mark):
        look.as_before += 1
        return
    mark = mark_diff.plain(mark_changes.with_overrides(attempt.pk, mark))
    look.planned.append(
        PlannedMark(
            remarking=remarking,
            attempt=attempt,
            from_version=attempt.mark_version,
            status=mark_changes.status_of(mark),
            mark=mark,
            total=mark["total"],
            rules=rules_of(key),
        )
    )


def _simulated(attempt: Attempt, remarking: Remarking) -> tuple[reruns.Kept, str]:
    finish = attempt.actions.filter(kind=Action.Kind.FINISH).latest("seq")
    progress = _progress(remarking)
    log = marks.log_of(attempt, before_seq=finish.seq)
    left = marks.left_by(finish, progress)
    kept, truth = marks.simulated(attempt, log, left, progress)
    checkpoints.forget(attempt.pk)
    marks.keep(attempt, kept, truth)
    return kept, truth


def _progress(remarking: Remarking) -> Callable[[float, str], None]:
    told = [timezone.now()]

    def tell(_share: float, _doing: str) -> None:
        now = timezone.now()
        if now - told[0] > timedelta(seconds=1):
            told[0] = now
            _got(remarking, remarking.after_pk)

    return tell


# ----------------------------------------------------------------------------------- writing, taking back


def _apply(remarking: Remarking) -> None:
    rows = PlannedMark.objects.filter(remarking=remarking).select_related("attempt")
    for chunk in _chunks(rows, remarking):
        with transaction.atomic():
            passed_over = sum(not _written(planned, remarking) for planned in chunk)
            _got(remarking, chunk[-1].pk, passed_over=passed_over)


def _written(planned: PlannedMark, remarking: Remarking) -> bool:
    attempt = planned.attempt
    if attempt.mark_version != planned.from_version:
        return False
    written = mark_changes.write(
        attempt,
        planned.mark,
        rules=planned.rules,
        cause=MarkChange.Cause.REMARKED,
        by=remarking.by,
        reason=remarking.reason,
        remarking=remarking,
    )
    explained = attempt.actions.filter(kind=Action.Kind.EXPLAIN, status=Action.Status.DONE)
    if written and planned.mark["graded"] and explained.exists():
        Review.objects.get_or_create(attempt=attempt, reading=1)
    return written


def _undo(remarking: Remarking) -> None:
    rows = MarkChange.objects.filter(remarking=remarking, cause=MarkChange.Cause.REMARKED)
    for chunk in _chunks(rows.select_related("attempt"), remarking):
        with transaction.atomic():
            passed_over = sum(not _taken_back(change, remarking) for change in chunk)
            _got(remarking, chunk[-1].pk, passed_over=passed_over)


def _taken_back(change: MarkChange, remarking: Remarking) -> bool:
    attempt = change.attempt
    if attempt.mark_version != change.version or change.before is None:
        return False
    return mark_changes.write(
        attempt,
        change.before,
        rules=change.before_rules,
        cause=MarkChange.Cause.UNDONE,
        by=remarking.by,
        reason=remarking.reason,
        remarking=remarking,
    )

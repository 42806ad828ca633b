"""Every change of a mark goes through here: one guarded UPDATE, and one row in the trail beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from labs.models import Attempt, MarkChange, MarkOverride
from labs.overridden import Given, overridden

if TYPE_CHECKING:
    from collections.abc import Mapping

    from courseware.models import User
    from labs.models import Remarking

Cause = MarkChange.Cause


class MovedOn(Exception):  # noqa: N818
    """Nothing was written: the mark has been changed since the page was shown."""


def given_to(attempt_id: int) -> dict[str, Given]:
    """Return the overrides in force of an attempt, by part."""
    rows = MarkOverride.objects.filter(attempt=attempt_id, withdrawn_at=None)
    return {row.part: Given(float(row.points), row.reason) for row in rows}


def status_of(mark: Mapping[str, Any]) -> str:
    """Return the status of an attempt with this mark."""
    return Attempt.Status.MARKED if mark["graded"] else Attempt.Status.NOT_GRADED


def write(
    attempt: Attempt,
    mark: Mapping[str, Any],
    *,
    rules: str,
    cause: MarkChange.Cause,
    by: User | None = None,
    reason: str = "",
    remarking: Remarking | None = None,
    **fields: Any,
) -> bool:
    """Give an attempt a mark, with its trail; False if status or mark have moved on since ``attempt`` was read."""
    status, total = status_of(mark), mark["total"]
    with transaction.atomic():
        rows = Attempt.objects.filter(pk=attempt.pk, mark_version=attempt.mark_version)
        written = rows.move(
            attempt.status,
            status,
            mark=dict(mark),
            total=total,
            rules=rules,
            mark_version=F("mark_version") + 1,
            **fields,
        )
        if written:
            MarkChange.objects.create(
                attempt=attempt,
                version=attempt.mark_version + 1,
                cause=cause,
                reason=reason,
                by=by,
                remarking=remarking,
                before_status=attempt.status,
                before=attempt.mark,
                before_total=attempt.total,
                before_rules=attempt.rules,
                after_status=status,
                after_total=total,
            )
    return written


def override(
    attempt: Attempt, part: str, points: float, *, reason: str, by: User, version: int
) -> None:
    """Give one part of a mark its points by hand, and sum it anew. ``version`` is the mark that the page showed.

    Raises ValueError for points beyond the part's weight, MovedOn if the mark has changed.
    """
    given = {**given_to(attempt.pk), part: Given(points, reason)}
    mark = overridden(attempt.mark or {}, given)
    if attempt.mark_version != version:
        raise MovedOn
    with transaction.atomic():
        _withdraw(attempt, part)
        MarkOverride.objects.create(attempt=attempt, part=part, points=points, reason=reason, by=by)
        if not write(
            attempt, mark, rules=attempt.rules, cause=Cause.OVERRIDDEN, by=by, reason=reason
        ):
            raise MovedOn


def withdraw(attempt: Attempt, part: str, *, reason: str, by: User, version: int) -> bool:
    """Let the rule's points count again; False if nobody had given any. Raises MovedOn if the mark has changed."""
    given = given_to(attempt.pk)
    if given.pop(part, None) is None:
        return False
    mark = overridden(attempt.mark or {}, given)
    if attempt.mark_version != version:
        raise MovedOn
    with transaction.atomic():
        _withdraw(attempt, part)
        if not write(
            attempt, mark, rules=attempt.rules, cause=Cause.WITHDRAWN, by=by, reason=reason
        ):
            raise MovedOn
    return True


def _withdraw(attempt: Attempt, part: str) -> None:
    MarkOverride.objects.filter(attempt=attempt, part=part, withdrawn_at=None).update(
        withdrawn_at=timezone.now()
    )


def with_overrides(attempt_id: int, mark: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mark that the rules gave, with what people have given parts of it."""
    return overridden(mark, given_to(attempt_id))

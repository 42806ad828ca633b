"""What the readings of an attempt come to, and what its learner sees of them: nothing before all is settled."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from labs.catalogue import labs
from labs.models import Review, ReviewOutcome
from labs.review_points import points_of

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from labs.models import Attempt


def settle(attempt: Attempt, now: datetime) -> ReviewOutcome | None:
    """Store what the readings of an attempt come to; None while one of them is still to be done.

    Called in the transaction in which a reader has released theirs. Called twice, it changes nothing.
    """
    readings = list(Review.objects.select_related("attempt").filter(attempt=attempt))
    if not readings or any(each.released_at is None for each in readings):
        return None
    last = max(readings, key=lambda each: each.reading)
    found, _ = ReviewOutcome.objects.get_or_create(
        attempt=attempt,
        defaults={"points": points_of(last), "comment": last.comment, "released_at": now},
    )
    return found


# ------------------------------------------------------------------------------ what the learner sees


@dataclass(frozen=True)
class ShownItem:
    """One item of the rubric as the learner sees it. Two readers' mean may hold a half."""

    title: str
    points: float
    of: int


@dataclass(frozen=True)
class ShownReview:
    """What was released of an attempt's readings, as the learner sees it. Who read it is not said."""

    items: tuple[ShownItem, ...]
    total: float
    of: int
    comment: str
    released_at: datetime


def shown_to_learner(attempt: Attempt) -> ShownReview | None:
    """Return what an attempt's readings came to; None before: a draft is nobody's but the grader's."""
    outcome = ReviewOutcome.objects.filter(attempt=attempt).first()
    return None if outcome is None else _shown(outcome, attempt)


def totals_shown(attempts: QuerySet[Attempt]) -> dict[int, tuple[float, int]]:
    """Return the points that learners see, and the most that there are, of the attempts that have an outcome: one query."""
    rows = ReviewOutcome.objects.filter(attempt__in=attempts, attempt__lab_slug__in=labs())
    rows = rows.select_related("attempt").defer("attempt__mark", "attempt__panel")
    shown = ((each.attempt_id, _shown(each, each.attempt)) for each in rows)
    return {key: (each.total, each.of) for key, each in shown}


def _shown(outcome: ReviewOutcome, attempt: Attempt) -> ShownReview:
    rubric = attempt.spec.rubric
    given = [*outcome.points, *[0] * len(rubric)]
    items = tuple(
        ShownItem(item.title, points or 0, item.points)
        for item, points in zip(rubric, given, strict=False)
    )
    return ShownReview(
        items,
        sum(item.points for item in items),
        sum(item.of for item in items),
        outcome.comment,
        outcome.released_at,
    )

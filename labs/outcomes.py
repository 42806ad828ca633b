"""What the readings of an attempt come to, and what its learner sees of them: nothing before all is settled."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from labs.catalogue import labs
from labs.models import Review, ReviewOutcome
from labs.moderation import difference, is_drawn, mean
from labs.reading_rules import rules_of
from labs.review_points import as_stored, points_of
from labs.rubric_editions import at, current
from labs.rubric_words import values_of
from labs.rubrics import with_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from django.db.models import QuerySet

    from labs.models import Attempt
    from labs.rubrics import Rubric

Basis = ReviewOutcome.Basis


def settle(attempt: Attempt, now: datetime) -> ReviewOutcome | None:
    """Store what the readings of an attempt come to; None while one of them is still to be done.

    A first reading that is drawn is followed by a second; two that lie too far apart by a third, which decides.
    Called in the transaction in which a reader has released theirs. Called twice, it changes nothing.
    """
    rows = Review.objects.filter(attempt=attempt).select_related("attempt")
    readings = list(rows.order_by("reading"))
    if not readings or any(each.released_at is None for each in readings):
        return None
    rules = rules_of(attempt.lab_slug)
    given = [points_of(each) for each in readings]
    basis, points, comment = Basis.ONE, given[-1], readings[-1].comment
    match len(readings):
        case 1 if is_drawn(attempt.public_id, rules.second_percent):
            _ask_for_another(readings)
            return None
        case 2 if difference(*given) > rules.most_difference:
            _ask_for_another(readings)
            return None
        case 2:
            basis, points = Basis.MEAN, mean(*given)
            comment = "\n\n".join(each.comment for each in readings if each.comment)
        case 3:
            basis = Basis.THIRD
    found, _ = ReviewOutcome.objects.get_or_create(
        attempt=attempt,
        defaults={
            "basis": basis,
            "edition": current(attempt.lab_slug).number,
            "points": as_stored(attempt, points),
            "moments": _moments(readings[-2:] if basis == Basis.MEAN else readings[-1:]),
            "comment": comment,
            "names_readers": rules.learners_see_readers,
            "released_at": now,
        },
    )
    return found


def _moments(readings: Sequence[Review]) -> dict[str, int]:
    """Return the moments that items point at; where two readers differ, the first one's."""
    found: dict[str, int] = {}
    for each in reversed(readings):
        found |= each.moments
    return found


def _ask_for_another(readings: Sequence[Review]) -> None:
    """Put one more reading into the queue. It waits since the first one does: its learner has waited as long."""
    first = readings[0]
    Review.objects.get_or_create(
        attempt_id=first.attempt_id,
        reading=len(readings) + 1,
        defaults={"created_at": first.created_at},
    )


def open_readings(attempts: Iterable[int]) -> dict[int, int]:
    """Return which reading is still to be done, by attempt; those that wait for none are left out."""
    rows = Review.objects.to_read().filter(attempt__in=list(attempts))
    return dict(rows.values_list("attempt", "reading"))


# ------------------------------------------------------------------------------ what the learner sees


@dataclass(frozen=True)
class ShownItem:
    """One item of the rubric as the learner sees it. Two readers' mean may hold a half."""

    key: str
    title: str
    points: float
    of: int
    """Negative for an item that takes points away."""
    moment: int | None = None
    """The moment of the log that it points at."""


@dataclass(frozen=True)
class ShownReview:
    """What was released of an attempt's readings, as the learner sees it."""

    items: tuple[ShownItem, ...]
    total: float
    of: int
    comment: str
    released_at: datetime
    basis: str = Basis.ONE
    readers: tuple[str, ...] = ()
    """Who read it; empty where the rules do not tell."""


def items_of(outcome: ReviewOutcome) -> tuple[ShownItem, ...]:
    """Return the items for which an outcome holds points, under the edition of the rubric that it stands under."""
    attempt = outcome.attempt
    rubric = at(attempt.lab_slug, outcome.edition).rubric
    return _items(outcome, with_values(rubric, values_of(attempt.spec, attempt.seed, attempt.mark)))


def _items(outcome: ReviewOutcome, rubric: Rubric) -> tuple[ShownItem, ...]:
    given: dict[str, float | None] = outcome.points
    return tuple(
        ShownItem(
            item.key,
            item.title,
            given[item.key] or 0,
            item.points,
            outcome.moments.get(item.key),
        )
        for item in rubric.items
        if item.key in given
    )


def shown_to_learner(attempt: Attempt) -> ShownReview | None:
    """Return what an attempt's readings came to; None before: a draft is nobody's but the grader's."""
    outcome = ReviewOutcome.objects.filter(attempt=attempt).first()
    if outcome is None:
        return None
    outcome.attempt = attempt
    items = items_of(outcome)
    total, of = _sum_of(items)
    return ShownReview(
        items,
        total,
        of,
        outcome.comment,
        outcome.released_at,
        outcome.basis,
        _readers(attempt) if outcome.names_readers else (),
    )


def totals_shown(attempts: QuerySet[Attempt]) -> dict[int, tuple[float, int]]:
    """Return the points that learners see, and the most that there are, of the attempts that have an outcome."""
    rows = ReviewOutcome.objects.filter(attempt__in=attempts, attempt__lab_slug__in=labs())
    rows = rows.select_related("attempt").defer("attempt__mark", "attempt__panel")
    rubrics: dict[tuple[str, int], Rubric] = {}
    found: dict[int, tuple[float, int]] = {}
    for each in rows:
        edition = (each.attempt.lab_slug, each.edition)
        if edition not in rubrics:
            rubrics[edition] = at(*edition).rubric
        found[each.attempt_id] = _sum_of(_items(each, rubrics[edition]))
    return found


def _sum_of(items: Sequence[ShownItem]) -> tuple[float, int]:
    total = sum(item.points for item in items)
    return max(0, total), sum(item.of for item in items if item.of > 0)


def _readers(attempt: Attempt) -> tuple[str, ...]:
    rows = attempt.reviews.exclude(claimed_by=None).select_related("claimed_by")
    return tuple(str(each.claimed_by) for each in rows.order_by("reading"))

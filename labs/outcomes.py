"""What the readings of an attempt come to, and what its learner sees of them: nothing before all is settled."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils import timezone

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

    from courseware.models import User
    from labs.models import Attempt
    from labs.rubrics import Rubric

Basis = ReviewOutcome.Basis


def settle(attempt: Attempt, now: datetime) -> ReviewOutcome | None:
    """Store what the readings of an attempt come to; None while one of them is still to be done.

    A first reading that is drawn is followed by a second; two that lie too far apart by a third, which decides.
    Called in the transaction in which a reader has released theirs. Called twice, it changes nothing.
    """
    readings = _readings(attempt)
    if not readings or any(each.released_at is None for each in readings):
        return None
    rules = rules_of(attempt.lab_slug)
    is_first_drawn = len(readings) == 1 and is_drawn(attempt.public_id, rules.second_percent)
    given = [points_of(each) for each in readings]
    are_far_apart = len(readings) == 2 and difference(*given) > rules.most_difference  # noqa: PLR2004
    if is_first_drawn or are_far_apart:
        _ask_for_another(readings)
        return None
    return _store(attempt, readings, now)


class StillRead(Exception):  # noqa: N818
    """Nothing was settled: somebody holds the reading that is still to be done, or there is none."""


def settle_without(attempt: Attempt, *, by: User, reason: str) -> ReviewOutcome:
    """Settle an attempt by the readings that are done, without the second or third that is still free.

    Raises StillRead if somebody holds that one, or nothing is left to be done.
    """
    now = timezone.now()
    with transaction.atomic():
        rest = Review.objects.filter(attempt=attempt, reading__gt=1)
        # Whoever claims it in this instant either comes first, and is found to hold it, or finds it gone.
        if rest.free(now).update(claimed_by=by, claimed_at=now, lease_until=now) != 1:
            raise StillRead
        rest.to_read().filter(claimed_by=by).delete()
        outcome = _store(attempt, _readings(attempt), now)
        ReviewOutcome.objects.filter(pk=outcome.pk).update(settled_by=by, settled_because=reason)
    return outcome


def settled_by_hand(attempt_id: int) -> ReviewOutcome | None:
    """Return the outcome of an attempt that an instructor settled without a reading, with who and why."""
    rows = ReviewOutcome.objects.select_related("settled_by").filter(attempt=attempt_id)
    return rows.exclude(settled_because="").first()


def _readings(attempt: Attempt) -> list[Review]:
    rows = Review.objects.filter(attempt=attempt).select_related("attempt")
    return list(rows.order_by("reading"))


def _store(attempt: Attempt, readings: Sequence[Review], now: datetime) -> ReviewOutcome:
    """Store what some readings come to: one as it is, the mean of two, or the third's decision."""
    given = [points_of(each) for each in readings]
    basis, points, counts = Basis.ONE, given[-1], readings[-1:]
    if len(readings) == 2:  # noqa: PLR2004
        basis, points, counts = Basis.MEAN, mean(*given), readings
    elif len(readings) > 2:  # noqa: PLR2004
        basis = Basis.THIRD
    found, _ = ReviewOutcome.objects.get_or_create(
        attempt=attempt,
        defaults={
            "basis": basis,
            "edition": current(attempt.lab_slug).number,
            "points": as_stored(attempt, points),
            "moments": _moments(counts),
            "comment": "\n\n".join(each.comment for each in counts if each.comment),
            "names_readers": rules_of(attempt.lab_slug).learners_see_readers,
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

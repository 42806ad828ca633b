"""The queue at work: who is given which review next, and what goes back unread, with the reason kept.

Next goes over what is free in the grader's own order and takes the first that a guarded UPDATE lets it have. Of two
graders who want the same one, the second goes on to the following; nobody is refused while anything is free.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import Count, Q
from django.utils import timezone

from labs import reviews
from labs.models import GraderSettings, Review, ReviewReturn
from labs.readable import is_readable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime
    from uuid import UUID

    from django.db.models import QuerySet

    from courseware.models import User

MOST_HELD = 3
"""Next hands out no further review to somebody who holds this many."""
MOST_REASON_CHARACTERS = 300

type Kind = ReviewReturn.Kind


class HoldsEnough(Exception):  # noqa: N818
    """No further review is handed out: the grader holds MOST_HELD."""


# -------------------------------------------------------------------------------------------- next


def settings_of(grader: User) -> GraderSettings:
    """Return how a grader likes to work; the defaults until they have said."""
    return GraderSettings.objects.filter(grader=grader.pk).first() or GraderSettings(grader=grader)


def set_order(grader: User, order: str) -> None:
    """Store in which order Next hands reviews out to a grader."""
    GraderSettings.objects.update_or_create(grader=grader, defaults={"order": order})


def set_keys(grader: User, keys: Mapping[str, str]) -> None:
    """Store the keys of a grader that differ from the defaults, by action."""
    GraderSettings.objects.update_or_create(grader=grader, defaults={"keys": dict(keys)})


def place(grader_pk: int, public_id: UUID) -> str:
    """Return where a review stands in a grader's shuffled order: the same always, another for each grader."""
    return hashlib.sha256(f"{grader_pk}:{public_id}".encode()).hexdigest()


def candidates(grader: User, now: datetime) -> list[int]:
    """Return the keys of the reviews that Next may give to a grader, in their order.

    Left out: their own attempts, what anybody holds, and what they have skipped.
    """
    skipped = ReviewReturn.objects.filter(by=grader.pk, kind=ReviewReturn.Kind.SKIPPED)
    free = reviews.waiting(grader).filter(pk__in=Review.objects.free(now).values("pk"))
    rows = free.exclude(pk__in=skipped.values("review")).values_list("pk", "attempt__public_id")
    if settings_of(grader).order == GraderSettings.Order.SHUFFLED:
        return [pk for pk, _ in sorted(rows, key=lambda row: place(grader.pk, row[1]))]
    return [pk for pk, _ in rows]


def take_next(grader: User, *, asked_from: datetime | None = None) -> Review | None:
    """Claim the next free review for a grader and return it; None if none is free.

    ``asked_from`` is when the page with the button was made: the button pressed twice gives one review, not two.
    Raises HoldsEnough if they hold MOST_HELD.
    """
    now = timezone.now()
    held = reviews.waiting(grader).filter(claimed_by=grader.pk, lease_until__gte=now)
    if asked_from is not None:
        given = held.filter(claimed_at__gte=asked_from).first()
        if given is not None:
            return given
    if held.count() >= MOST_HELD:
        raise HoldsEnough
    return _first_taken(grader, candidates(grader, now))


def _first_taken(grader: User, keys: Iterable[int]) -> Review | None:
    """Claim the first of some reviews that is still free at the moment of the write."""
    for pk in keys:
        found = reviews.open_to(grader).filter(pk=pk).first()
        if found is None or not is_readable(found.attempt):
            continue
        now = timezone.now()
        free = Review.objects.filter(pk=pk).free(now)
        if free.update(claimed_by=grader, claimed_at=now, lease_until=now + reviews.LEASE):
            return reviews.open_to(grader).get(pk=pk)
    return None


# ---------------------------------------------------------------------------------------- going back


def skip(review: Review, grader: User, *, reason: str) -> None:
    """Put a review back with a reason; Next gives it to this grader no more. Sent twice, it is done once.

    Whatever draft it has stays with it. Raises Conflict if the review is not the grader's any more.
    """
    kind = ReviewReturn.Kind.SKIPPED
    if _send_back(
        review, reviews.held_by(grader, review), kind, by=grader, holder_pk=grader.pk, reason=reason
    ):
        return
    conflict = reviews.conflict_over(review, grader)
    is_theirs = conflict.review.claimed_by_id == grader.pk
    if is_theirs or not review.returns.filter(by=grader.pk, kind=kind).exists():
        raise conflict


def free(review: Review, instructor: User, *, holder_pk: int, reason: str) -> None:
    """Take a review from whoever holds it, with a reason; their saved draft stays with it.

    Raises Conflict if ``holder_pk``, whom the instructor saw, holds it no more.
    """
    held = Review.objects.to_read().filter(pk=review.pk, claimed_by=holder_pk)
    kind = ReviewReturn.Kind.FREED
    if not _send_back(review, held, kind, by=instructor, holder_pk=holder_pk, reason=reason):
        raise reviews.conflict_over(review, instructor)


def _send_back(
    review: Review,
    held: QuerySet[Review],
    kind: Kind,
    *,
    by: User,
    holder_pk: int,
    reason: str,
) -> bool:
    with transaction.atomic():
        if held.update(claimed_by=None, claimed_at=None, lease_until=None) != 1:
            return False
        ReviewReturn.objects.create(
            review=review, kind=kind, by=by, holder_id=holder_pk, reason=reason
        )
    return True


def last_return(review: Review) -> ReviewReturn | None:
    """Return how a review last went back for a reason."""
    return review.returns.select_related("by", "holder").first()


def skips_of(found: Iterable[Review]) -> dict[int, int]:
    """Return how often each of some reviews was skipped, by key; those that never were are left out."""
    skipped = Count("returns", filter=Q(returns__kind=ReviewReturn.Kind.SKIPPED))
    rows = Review.objects.filter(pk__in=[review.pk for review in found]).annotate(times=skipped)
    return dict(rows.filter(times__gt=0).values_list("pk", "times"))

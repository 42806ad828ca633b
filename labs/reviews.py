"""The grader's work on an explanation: claim it, score it, hand it back or release it.

A claim is a lease. It decides who may write, and ends by itself when nobody saves for half an hour: then anybody may
take it. Until somebody does, whoever held it may still save. Each change is one guarded UPDATE, so of two graders at
once exactly one succeeds, and the other is told what the review has become.
"""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import F, Q
from django.shortcuts import get_object_or_404
from django.utils import timezone

from courseware.admission import whose_work_is_read_by
from labs import outcomes
from labs.catalogue import labs
from labs.models import Review
from labs.review_points import points_of
from labs.rubric_editions import current
from labs.training import untrained_labs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from django.db.models import QuerySet

    from courseware.models import User
    from labs.review_points import Draft

LEASE = timedelta(minutes=30)
"""A claim lasts this long from the claim or the last save."""
MOST_COMMENT_CHARACTERS = 4000
SECOND, THIRD = 2, 3
"""Readings: the second is blind to the first, the third sees both and decides."""


class Standing(StrEnum):
    """What a review is to one grader."""

    FREE = "free"
    YOURS = "yours"
    OVER = "over"
    """Theirs, but the lease has ended: anybody may take it now."""
    TAKEN = "taken"
    RELEASED = "released"


class Conflict(Exception):  # noqa: N818
    """Nothing was written: the review is no longer what the page showed. ``review`` is what it is now."""

    def __init__(self, review: Review, grader: User) -> None:
        super().__init__(str(review))
        self.review = review
        self.standing = standing(review, grader)
        """YOURS or OVER: it is still the grader's, and was saved from another page."""


class Undecided(Exception):  # noqa: N818
    """Not released: these items of the rubric, by key, have no points yet."""

    def __init__(self, keys: Sequence[str]) -> None:
        super().__init__(", ".join(keys))
        self.keys = tuple(keys)


class RubricChanged(Exception):  # noqa: N818
    """Not released: the points were given by an earlier edition of the rubric."""


# ----------------------------------------------------------------------------------------- looking


def open_to(grader: User) -> QuerySet[Review]:
    """Return the reviews that a grader may see.

    Left out are their own attempts, whatever is still to be read of an attempt that they have read already or of a lab
    that asks them to train first, and, for those who read for cohorts, what nobody of those did.
    """
    return but_for_training(grader).exclude(
        ~Q(claimed_by=grader.pk),
        released_at=None,
        attempt__lab_slug__in=untrained_labs(grader),
    )


def waiting_untrained(grader: User, lab_slug: str) -> QuerySet[Review]:
    """Return what waits of a lab for a grader who has yet to pass its training."""
    return but_for_training(grader).filter(released_at=None, attempt__lab_slug=lab_slug)


def but_for_training(grader: User) -> QuerySet[Review]:
    """Return what ``open_to`` does, and what is still to be read in labs that ask this grader to train first."""
    rows = Review.objects.select_related("attempt__learner", "claimed_by")
    learners = whose_work_is_read_by(grader)
    if learners is not None:
        rows = rows.filter(attempt__learner__in=learners.values("person"))
    read = Review.objects.exclude(released_at=None).filter(claimed_by=grader.pk)
    return (
        rows.filter(attempt__lab_slug__in=labs())
        .exclude(attempt__learner=grader.pk)
        .exclude(released_at=None, attempt__in=read.values("attempt"))
    )


def waiting(grader: User) -> QuerySet[Review]:
    """Return what is still to be read, the oldest first."""
    return open_to(grader).filter(released_at=None).order_by("created_at", "pk")


def released_since(grader: User, moment: datetime) -> QuerySet[Review]:
    """Return what was released since ``moment``, by anybody, the latest first."""
    return but_for_training(grader).filter(released_at__gte=moment).order_by("-released_at", "pk")


def is_kept_from(
    review: Review, grader: User, open_reading: int | None, *, is_untrained: bool = False
) -> bool:
    """Whether the points of a released reading are not shown to a grader.

    A second reader must not know them, nor must whoever may have to train with them.
    """
    is_own = review.claimed_by_id == grader.pk
    must_not_know = open_reading == SECOND or is_untrained
    return review.released_at is not None and must_not_know and not is_own


def earlier_readings(review: Review) -> list[Review]:
    """Return the two readings between which a third decides, in their order; none for a first or a second."""
    if review.reading != THIRD:
        return []
    rows = Review.objects.select_related("attempt").filter(attempt=review.attempt_id)
    return list(rows.filter(reading__lt=THIRD).order_by("reading"))


def standing(review: Review, grader: User, now: datetime | None = None) -> Standing:
    """Return what a review is to a grader now."""
    if review.released_at is not None:
        return Standing.RELEASED
    held = review.lease_until is not None and review.lease_until >= (now or timezone.now())
    if review.claimed_by_id == grader.pk:
        return Standing.YOURS if held else Standing.OVER
    return Standing.TAKEN if review.claimed_by_id is not None and held else Standing.FREE


# ----------------------------------------------------------------------------------------- working


def claim(review: Review, grader: User) -> None:
    """Give a review to a grader for half an hour. Claiming what one holds renews it.

    Raises Conflict if another grader holds it or it is released.
    """
    now = timezone.now()
    until = now + LEASE
    held_elsewhere = Review.objects.filter(pk=review.pk).free(now).exclude(claimed_by=grader)
    if held_elsewhere.update(claimed_by=grader, claimed_at=now, lease_until=until):
        return
    if held_by(grader, review).update(lease_until=until) != 1:
        raise conflict_over(review, grader)


def extend(review: Review, grader: User) -> None:
    """Let the grader's claim last half an hour from now. Raises Conflict if it is not theirs any more."""
    if held_by(grader, review).update(lease_until=timezone.now() + LEASE) != 1:
        raise conflict_over(review, grader)


def save(review: Review, grader: User, draft: Draft, *, version: int) -> int:
    """Store a draft and extend the claim; return the version that the draft has now.

    ``version`` is the one that the grader's page showed. The same draft sent twice is stored once. Raises Conflict if
    the review is not the grader's any more, or was saved from another page since.
    """
    written = held_by(grader, review).filter(version=version)
    until = timezone.now() + LEASE
    if written.update(**draft.fields(), version=F("version") + 1, lease_until=until):
        return version + 1
    conflict = conflict_over(review, grader)
    is_own = conflict.standing in {Standing.YOURS, Standing.OVER}
    if not (is_own and _is_that(conflict.review, version + 1, draft)):
        raise conflict
    extend(review, grader)
    return version + 1


def hand_back(review: Review, grader: User, draft: Draft, *, version: int) -> None:
    """Store a draft and put the review back into the queue with it, in one step. Sent twice, it is done once.

    Raises Conflict as ``save`` does.
    """
    written = held_by(grader, review).filter(version=version)
    if written.update(
        **draft.fields(),
        version=F("version") + 1,
        claimed_by=None,
        claimed_at=None,
        lease_until=None,
    ):
        return
    conflict = conflict_over(review, grader)
    handed_back = conflict.review.claimed_by_id is None
    if not (handed_back and _is_that(conflict.review, version + 1, draft)):
        raise conflict


def release(review: Review, grader: User, *, version: int) -> bool:
    """Be done with a review, for good; False if this grader has released it before.

    Its learner sees it once every reading of the attempt is done. Raises Undecided while an item has no points,
    RubricChanged if the points were given by an earlier edition, Conflict if the review is not the grader's any more or
    is not the version that they confirmed.
    """
    stored = Review.objects.select_related("attempt").get(pk=review.pk)
    if stored.released_at is not None and stored.claimed_by_id == grader.pk:
        return False
    if stored.version == version:
        if stored.edition != current(stored.attempt.lab_slug).number:
            raise RubricChanged
        if undecided := [key for key, each in points_of(stored).items() if each is None]:
            raise Undecided(undecided)
    # The version pins the points that were looked at: a save in between makes this match nothing.
    rows, now = held_by(grader, review).filter(version=version), timezone.now()
    with transaction.atomic():
        done = rows.update(released_at=now, lease_until=None) == 1
        if done:
            outcomes.settle(stored.attempt, now)
    if not done and not _was_released_by(grader, review):
        raise conflict_over(review, grader)
    return done


def _was_released_by(grader: User, review: Review) -> bool:
    """Whether the same button, pressed twice, was faster the other time."""
    released = Review.objects.exclude(released_at=None)
    return released.filter(pk=review.pk, claimed_by=grader.pk).exists()


def held_by(grader: User, review: Review) -> QuerySet[Review]:
    """Return the review if it is still the grader's: an ended lease counts until another takes it."""
    return Review.objects.filter(pk=review.pk, claimed_by=grader.pk, released_at=None)


def _is_that(review: Review, version: int, draft: Draft) -> bool:
    return review.version == version and draft.is_in(review)


def conflict_over(review: Review, grader: User) -> Conflict:
    """Return why a guarded write matched nothing: what the review is by now.

    Raises Http404 if it is nothing to this grader any more: it was settled without them, or they may not read it.
    """
    return Conflict(get_object_or_404(open_to(grader), pk=review.pk), grader)

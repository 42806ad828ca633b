"""Drafts that a conflict would have lost: the refused one and the one that stood stored are both kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.models import ReviewRecord
from labs.review_points import draft_of

if TYPE_CHECKING:
    from courseware.models import User
    from labs.models import Review
    from labs.review_points import Draft

MOST_SHOWN = 10


def keep(review: Review, grader: User, refused: Draft) -> None:
    """Keep a refused draft; and, where the stored one is the same grader's, that one as well.

    ``review`` is what it is now. What is kept already is not kept twice.
    """
    if review.claimed_by_id == grader.pk and review.has_draft:
        _keep(review, grader, draft_of(review), is_refused=False)
    _keep(review, grader, refused, is_refused=True)


def _keep(review: Review, grader: User, draft: Draft, *, is_refused: bool) -> None:
    rows = ReviewRecord.objects.filter(review=review, grader=grader, is_refused=is_refused)
    last = rows.first()
    if last is None or not draft.is_in(last):
        ReviewRecord.objects.create(
            review=review, grader=grader, is_refused=is_refused, **draft.fields()
        )


def records_of(review: Review, grader: User) -> list[ReviewRecord]:
    """Return a grader's own kept drafts of a review, the latest first."""
    return list(ReviewRecord.objects.filter(review=review, grader=grader)[:MOST_SHOWN])

"""The points of a review, as its rubric has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labs.models import Review

type Points = list[int | None]
"""Points in the order of the lab's rubric; None is an item that is not decided yet."""


def points_of(review: Review) -> Points:
    """Return the points of a review, one entry for each item of the rubric."""
    size = len(review.attempt.spec.rubric)
    return [*review.points, *[None] * size][:size]


def total_of(points: Points) -> int:
    """Return the sum of the points that are decided."""
    return sum(each for each in points if each is not None)

"""The points of a review, as its rubric has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labs.models import Attempt, Review

type Points = list[int | None]
"""Points in the order of the lab's rubric; None is an item that is not decided yet."""


@dataclass(frozen=True)
class Item:
    """One item of an attempt's rubric, by its key."""

    key: str
    title: str
    points: int


def items_of(attempt: Attempt) -> tuple[Item, ...]:
    """Return the items of an attempt's rubric, in their order."""
    rubric = attempt.spec.rubric
    return tuple(Item(str(place), each.title, each.points) for place, each in enumerate(rubric, 1))


def by_item(attempt: Attempt, stored: list[float | None]) -> dict[str, float | None]:
    """Return stored points by the key of their item; None where nothing is stored."""
    items = items_of(attempt)
    padded = [*stored, *[None] * len(items)]
    return {item.key: given for item, given in zip(items, padded, strict=False)}


def as_stored(attempt: Attempt, given: Mapping[str, float | None]) -> list[float | None]:
    """Return points by item as a row stores them: what ``by_item`` reads."""
    return [given.get(item.key) for item in items_of(attempt)]


def points_of(review: Review) -> Points:
    """Return the points of a review, one entry for each item of the rubric."""
    size = len(review.attempt.spec.rubric)
    return [*review.points, *[None] * size][:size]


def total_of(points: Points) -> int:
    """Return the sum of the points that are decided."""
    return sum(each for each in points if each is not None)

"""The points of a review under its lab's rubric as it stands, and the draft that holds them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labs import rubric_editions
from labs.rubric_points import carried, rescored, total
from labs.rubric_words import values_of
from labs.rubrics import with_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labs.models import Attempt, Review, ReviewRecord
    from labs.rubric_editions import Edition
    from labs.rubrics import Item, Rubric

type Points = dict[str, float | int | None]
"""Points by the key of the item, in the order of the rubric; None is an item that is not decided."""


def rubric_of(attempt: Attempt) -> Rubric:
    """Return the rubric by which an attempt is read."""
    return rubric_editions.current(attempt.lab_slug).rubric


def items_of(attempt: Attempt) -> tuple[Item, ...]:
    """Return the items of an attempt's rubric in their order, with what they name of its world."""
    values = values_of(attempt.spec, attempt.seed, attempt.mark)
    return with_values(rubric_of(attempt), values).items


def by_item(attempt: Attempt, stored: Mapping[str, float | None]) -> dict[str, float | None]:
    """Return stored points for each item of the rubric; None where nothing is stored."""
    return {key: stored.get(key) for key in rubric_of(attempt).keys}


def as_stored(attempt: Attempt, given: Mapping[str, float | None]) -> dict[str, float | None]:
    """Return points by item as an outcome stores them: what ``by_item`` reads, without what was never decided."""
    stored = {key: given.get(key) for key in rubric_of(attempt).keys}
    return {key: points for key, points in stored.items() if points is not None}


def points_of(review: Review, edition: Edition | None = None) -> Points:
    """Return the points of a review under the rubric as it stands, an entry for each of its items.

    ``edition`` is that rubric, for whoever has it at hand.
    What was released is carried over by share; in a draft, points that may not be given any more are open again.
    """
    slug = review.attempt.lab_slug
    now = edition or rubric_editions.current(slug)
    given: Points = review.points
    if review.released_at is None:
        return dict(carried(given, now.rubric))
    if review.edition != now.number:
        old = rubric_editions.at(slug, review.edition)
        given = rescored(given, old.rubric, now.rubric)
    return {key: given.get(key) for key in now.rubric.keys}


def total_of(points: Points) -> float:
    """Return the sum of the points that are decided; never below 0."""
    return total(points)


@dataclass(frozen=True)
class Draft:
    """What a grader has given and written, by one edition of the rubric."""

    points: Points
    comment: str
    moments: Mapping[str, int] = field(default_factory=dict)
    edition: int = 0

    def fields(self) -> dict[str, Any]:
        """Return it as a review's fields."""
        return {
            "points": self.points,
            "comment": self.comment,
            "moments": dict(self.moments),
            "edition": self.edition,
        }

    def is_in(self, row: Review | ReviewRecord) -> bool:
        """Whether it is what a review holds, or a record of one."""
        return all(getattr(row, name) == value for name, value in self.fields().items())


def draft_of(review: Review) -> Draft:
    """Return what is stored of a review."""
    return Draft(review.points, review.comment, review.moments, review.edition)

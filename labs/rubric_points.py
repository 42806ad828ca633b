"""Points by the key of a rubric's item: their total, and what becomes of them when the rubric changes. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from labs.rubrics import Item, Rubric

type Given = Mapping[str, float | int | None]
"""Points by key. None is an item that is not decided yet; a key that is missing was not in the rubric then."""


def total(given: Given) -> float:
    """Return the sum of what is decided; never below 0."""
    return max(0, sum(each for each in given.values() if each is not None))


def rescored(given: Given, old: Rubric, new: Rubric) -> dict[str, float | int | None]:
    """Return released points under another edition, by share: given times new over old, half up to whole points.

    An item that was removed is left out. One that was added is not put in: nobody was asked about it.
    """
    found: dict[str, float | int | None] = {}
    for item in new.items:
        before = old.item(item.key)
        if item.key not in given or before is None:
            continue
        points = given[item.key]
        if points is not None and before.points != item.points:
            points = math.floor(abs(points * item.points / before.points) + 0.5)
            points = -points if item.takes_away else points
        found[item.key] = points
    return found


def carried(given: Given, new: Rubric) -> dict[str, int | None]:
    """Return a draft's points under another edition: kept where they may be given there, else open again."""
    return {
        item.key: int(points)
        if (points := given.get(item.key)) is not None and points in item.choices
        else None
        for item in new.items
    }


@dataclass(frozen=True)
class Change:
    """What became of one item from one edition to another."""

    what: str
    """added, removed, points, words or note."""
    key: str
    before: Item | None
    after: Item | None


def changes(old: Rubric, new: Rubric) -> Iterator[Change]:
    """Yield what is different: points before words, and words before the note that only staff read."""
    for item in new.items:
        before = old.item(item.key)
        if before is None:
            yield Change("added", item.key, None, item)
        elif before.points != item.points:
            yield Change("points", item.key, before, item)
        elif before.title != item.title:
            yield Change("words", item.key, before, item)
        elif before.note != item.note:
            yield Change("note", item.key, before, item)
    for item in old.items:
        if new.item(item.key) is None:
            yield Change("removed", item.key, item, None)


def is_reordered(old: Rubric, new: Rubric) -> bool:
    """Whether items that stand in both stand in another order."""
    shared = [key for key in old.keys if new.item(key) is not None]
    return shared != [key for key in new.keys if old.item(key) is not None]


@dataclass(frozen=True)
class Move:
    """What an edit does to one released mark."""

    before: float
    after: float

    @property
    def by(self) -> float:
        return self.after - self.before


def summary(moves: list[Move]) -> str:
    """Return what an edit moves in one sentence: “moves 37 of 120 released marks, mean +0.4”."""
    moved = [each.by for each in moves if each.by]
    if not moved:
        return f"moves none of {len(moves)} released mark{'' if len(moves) == 1 else 's'}"
    mean = f"{sum(moved) / len(moved):+.1f}".replace("-", "−")
    return f"moves {len(moved)} of {len(moves)} released mark{'' if len(moves) == 1 else 's'}, mean {mean}"

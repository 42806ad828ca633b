"""Sure and wrong: items of which people were at least 80 % sure, and how many of these were wrong. Pure, and never a mark.

A wrong answer that is given with doubt is a gap; one that is given with certainty is a misconception, and wants another
treatment. Items with fewer than LEAST sure people say nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from labs.marking.predictions import wilson

SURE_PERCENT = 80
LEAST = 10
MOST_ANSWERS = 3

type Kind = Literal["prediction", "lab prediction", "diagnosis", "drill"]


@dataclass(frozen=True)
class Said:
    """One answer that one learner gave with a confidence."""

    learner: int
    kind: Kind
    key: str
    """Of the item among those of its kind."""
    percent: int
    """Confidence."""
    right: bool
    answer: str
    """What was said, in words that many share."""
    version: str = ""
    """Of the item; answers to other versions are other items."""


@dataclass(frozen=True)
class Item:
    """One item, as those answered who were sure of it."""

    kind: Kind
    key: str
    version: str
    n: int
    """Everybody who answered, sure or not."""
    sure: int
    wrong: int
    """Of those who were sure."""
    answers: tuple[tuple[str, int], ...]
    """What those who were sure and wrong said, the commonest first."""

    @property
    def share(self) -> float:
        """Wrong of sure, 0 to 1."""
        return self.wrong / self.sure

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's, 90 %."""
        return wilson(self.wrong, self.sure)


@dataclass(frozen=True)
class Found:
    """All items that enough people were sure of, the surest and wrongest first."""

    items: tuple[Item, ...]
    hidden: int
    """Items with answers that fewer than LEAST people were sure of."""
    sure: int
    """Over all shown items: answers that were sure."""
    wrong: int


def sure_and_wrong(said: Iterable[Said]) -> Found:
    """Return the items by the lower end of the interval of their share: what is surely wrong before what may be chance."""
    groups: dict[tuple[Kind, str, str], list[Said]] = defaultdict(list)
    for each in said:
        groups[each.kind, each.key, each.version].append(each)
    items = [_item(rows) for rows in groups.values()]
    shown = [item for item in items if item.sure >= LEAST]
    shown.sort(key=lambda item: (-item.interval[0], -item.share, item.kind, item.key))
    return Found(
        tuple(shown),
        len(items) - len(shown),
        sum(item.sure for item in shown),
        sum(item.wrong for item in shown),
    )


def _item(rows: list[Said]) -> Item:
    sure = [row for row in rows if row.percent >= SURE_PERCENT]
    wrong = Counter(row.answer for row in sure if not row.right)
    ordered = sorted(wrong.items(), key=lambda one: (-one[1], one[0]))
    first = rows[0]
    return Item(
        first.kind,
        first.key,
        first.version,
        len(rows),
        len(sure),
        wrong.total(),
        tuple(ordered[:MOST_ANSWERS]),
    )


def off_by(said: float, came: float) -> str:
    """Return how a number missed what came, in words that many share."""
    if came > 0 and said < came / 2:
        return "less than half of what came"
    if came > 0 and said > 2 * came:
        return "more than twice what came"
    return "too low" if said < came else "too high"

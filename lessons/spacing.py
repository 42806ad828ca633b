"""When something that was missed comes back: a ladder of 2, 7 and 21 days. Pure: rows and a day in, dates out.

Repeats that are spaced hold better than massed ones; whether gaps grow or stay equal makes no difference
(Latimier et al. 2021), so a fixed ladder does. A right answer climbs it, a wrong one starts again.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LADDER_DAYS = (2, 7, 21)
"""Days from the miss, or from the last answer, to the next time, by how often in a row it was right since."""
SURE_PERCENT = 80
"""A prediction that was missed comes back if its confidence was at least so much."""

type Kind = Literal["check", "prediction"]


@dataclass(frozen=True, order=True)
class Item:
    """Something that can come back."""

    kind: Kind
    lesson: str
    key: str


@dataclass(frozen=True)
class Missed:
    """An item was missed where it first stood."""

    item: Item
    on: date


@dataclass(frozen=True)
class Repeated:
    """An item came back and was answered."""

    item: Item
    on: date
    right: bool


@dataclass(frozen=True)
class Scheduled:
    """Where an item stands on the ladder."""

    item: Item
    missed_on: date
    step: int
    """Right answers in a row since the miss or the last wrong one: 0 to 3."""
    due: date | None
    """The day on which it comes back; None once it is at the top and stays away."""

    def is_due(self, day: date) -> bool:
        """Tell whether it comes back on ``day``; what was due earlier waits."""
        return self.due is not None and self.due <= day


def schedule(missed: Iterable[Missed], repeated: Iterable[Repeated]) -> tuple[Scheduled, ...]:
    """Return every missed item with its next day, the earliest first, those that stay away last.

    Of several misses of one item the first counts. Answers to what was never missed count nowhere.
    """
    answers: dict[Item, list[Repeated]] = {}
    for each in repeated:
        answers.setdefault(each.item, []).append(each)
    first: dict[Item, date] = {}
    for miss in missed:
        first[miss.item] = min(miss.on, first.get(miss.item, miss.on))
    found = [_scheduled(item, on, answers.get(item, [])) for item, on in first.items()]
    return tuple(sorted(found, key=lambda each: (each.due or date.max, each.missed_on, each.item)))


def _scheduled(item: Item, missed_on: date, answers: list[Repeated]) -> Scheduled:
    step, last = 0, missed_on
    for each in sorted(answers, key=lambda answer: answer.on):
        step, last = (step + 1 if each.right else 0), each.on
    due = last + timedelta(days=LADDER_DAYS[step]) if step < len(LADDER_DAYS) else None
    return Scheduled(item, missed_on, min(step, len(LADDER_DAYS)), due)


def due_on(day: date, scheduled: Iterable[Scheduled]) -> tuple[Scheduled, ...]:
    """Return what comes back on a day, in the order given."""
    return tuple(each for each in scheduled if each.is_due(day))


def in_another_order[T](things: Sequence[T], seed: str) -> tuple[T, ...]:
    """Return the same things in another order, the same for the same seed; fewer than two have none."""
    if len(things) < 2:  # noqa: PLR2004
        return tuple(things)
    places = list(range(len(things)))
    random.Random(f"repeat-order:{seed}").shuffle(places)
    if places == sorted(places):
        places = places[1:] + places[:1]
    return tuple(things[place] for place in places)

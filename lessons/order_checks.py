"""A check of kind ``order``: items to be put in order. Pure.

    1. what comes first
    2. what follows
       > why it cannot stand before what it follows

The block lists them in the right order. An answer is a list of all keys, in the learner's order.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from lessons.question_body import Item, QuestionError, option_key

if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST_ITEMS = 3
"""Of two, saying that they are the wrong way round says the answer."""


@dataclass(frozen=True)
class Ordered:
    """One item; Markdown."""

    key: str
    text: str
    feedback: str
    """Said when it stands right before an item that it must follow; the first has none."""


@dataclass(frozen=True)
class Ordering:
    """The items in the right order."""

    items: tuple[Ordered, ...]

    @property
    def right_answer(self) -> list[str]:
        return [item.key for item in self.items]

    @property
    def offered(self) -> tuple[Ordered, ...]:
        """The items as they are shown at first: by key, and never in the right order."""
        shown = sorted(self.items, key=lambda item: item.key)
        if shown == list(self.items):
            shown.reverse()
        return tuple(shown)


def parse_ordering(items: Sequence[Item]) -> Ordering:
    """Read the items of an order. Raises QuestionError."""
    for place, item in enumerate(items, 1):
        if item.number != place:
            raise QuestionError(f"“{item.text}” has number {item.number}: write {place}", item.line)
        if place > 1 and not item.words:
            raise QuestionError(f"“{item.text}” has no feedback", item.line)
        if place == 1 and item.words:
            raise QuestionError(
                f"“{item.text}” is first and never stands too early: it needs no feedback",
                item.line,
            )
    if len(items) < LEAST_ITEMS:
        raise QuestionError(f"an order needs {LEAST_ITEMS} items or more, “1. ” and so on")
    ordered = tuple(Ordered(option_key(item.text), item.text, item.feedback) for item in items)
    if len({item.key for item in ordered}) < len(ordered):
        raise QuestionError("two items have the same text")
    return Ordering(ordered)


def mark_ordering(ordering: Ordering, answer: Sequence[str]) -> tuple[bool, tuple[str, ...]]:
    """Return whether the order is right, and which neighbours are the wrong way round (Markdown).

    Only neighbours in the learner's own order are compared: that is enough to go on and does not say
    where an item belongs. Raises ValueError unless every item stands in the answer once.
    """
    places = {item.key: place for place, item in enumerate(ordering.items)}
    if sorted(answer) != sorted(places):
        raise ValueError("give every item a place of its own")
    standing = [ordering.items[places[key]] for key in answer]
    words = [
        f"“{early.text}” stands right before “{late.text}”, and must follow it. {early.feedback}"
        for early, late in pairwise(standing)
        if places[early.key] > places[late.key]
    ]
    return not words, tuple(words)

"""A check of kind ``match``: two lists to be joined, each left item with one right item. Pure.

    - a left item => its right item
      > what is said of any other pairing
      - another right item
        > why this pairing tempts
    - => a right item that belongs to none

An answer is a list of ``left:right``, keys of both, one for each left item.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lessons.question_body import Item, QuestionError, option_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LONGEST_CHOICE_CHARACTERS = 60
"""A right item stands in a select, which neither wraps nor shows more on a phone."""
LEAST_PAIRS = 2
_JOINT = "=>"


@dataclass(frozen=True)
class Choice:
    """One right item; Markdown."""

    key: str
    text: str


@dataclass(frozen=True)
class Pair:
    """One left item, and what belongs to it; Markdown."""

    key: str
    text: str
    right: str
    """Key of the right item that belongs to it."""
    feedback: str
    """Said of a wrong pairing that has no feedback of its own."""
    tempting: Mapping[str, str]
    """Feedback by the key of the wrong right item."""


@dataclass(frozen=True)
class Matching:
    """Both lists."""

    pairs: tuple[Pair, ...]
    choices: tuple[Choice, ...]
    """In the order of their keys, which says nothing about where they belong."""

    @property
    def right_answer(self) -> list[str]:
        return [f"{pair.key}:{pair.right}" for pair in self.pairs]


def parse_matching(items: Sequence[Item]) -> Matching:
    """Read the items of a match. Raises QuestionError."""
    split = [(item, *_split(item)) for item in items]
    texts = dict.fromkeys(right for _, _, right in split)
    lefts = [left for _, left, _ in split if left]
    for item, left, right in split:
        if len(right) > LONGEST_CHOICE_CHARACTERS:
            most = LONGEST_CHOICE_CHARACTERS
            raise QuestionError(f"“{right}” is too long to choose: {most} characters", item.line)
        if left and lefts.count(left) > 1:
            raise QuestionError(f"“{left}” stands on the left twice", item.line)
    if len(lefts) < LEAST_PAIRS or len(texts) < LEAST_PAIRS:
        raise QuestionError("a match needs two items or more on either side")
    pairs = tuple(_pair(item, left, right, texts) for item, left, right in split if left)
    choices = sorted((Choice(option_key(text), text) for text in texts), key=lambda c: c.key)
    return Matching(pairs, tuple(choices))


def _split(item: Item) -> tuple[str, str]:
    left, joint, right = (part.strip() for part in item.text.partition(_JOINT))
    if not joint or not right or item.box is not None:
        raise QuestionError(f"“{item.text}”: write “- left => right”, without a box", item.line)
    if not left and (item.words or item.under):
        raise QuestionError(f"“{right}” belongs to none, so it needs no feedback", item.line)
    return left, right


def _pair(item: Item, left: str, right: str, texts: Mapping[str, None]) -> Pair:
    if not item.words:
        raise QuestionError(f"“{left}” has no feedback", item.line)
    tempting = {}
    for wrong in item.under:
        if wrong.text not in texts:
            raise QuestionError(f"“{wrong.text}” is no right item of this match", wrong.line)
        if wrong.text == right:
            raise QuestionError(f"“{wrong.text}” tempts and is right", wrong.line)
        if not wrong.words:
            raise QuestionError(f"“{wrong.text}” has no feedback", wrong.line)
        tempting[option_key(wrong.text)] = wrong.feedback
    return Pair(option_key(left), left, option_key(right), item.feedback, tempting)


def joined(answer: Sequence[str]) -> dict[str, str]:
    """Return the key of the chosen right item by the key of the left one."""
    parts = (entry.partition(":") for entry in answer)
    return {left: right for left, _, right in parts}


def settled(matching: Matching, answer: Sequence[str]) -> dict[str, str]:
    """Return the pairs of an answer that are right: a second try leaves them as they are."""
    chosen = joined(answer)
    return {pair.key: pair.right for pair in matching.pairs if chosen.get(pair.key) == pair.right}


def mark_matching(matching: Matching, answer: Sequence[str]) -> tuple[bool, tuple[str, ...]]:
    """Return whether every pair is right, and what to say (Markdown).

    Raises ValueError unless each left item is joined with one of the right items.
    """
    chosen = joined(answer)
    offered = {choice.key: choice.text for choice in matching.choices}
    if chosen.keys() != {pair.key for pair in matching.pairs} or len(answer) != len(chosen):
        raise ValueError("join each item with one other")
    if not offered.keys() >= set(chosen.values()):
        raise ValueError("choose among the items on the right")
    wrong = [pair for pair in matching.pairs if chosen[pair.key] != pair.right]
    if not wrong:
        return True, ()
    count, of = len(matching.pairs) - len(wrong), len(matching.pairs)
    words = [f"{count} of {of} pairs {'is' if count == 1 else 'are'} right." if count else ""]
    for pair in wrong:
        said = pair.tempting.get(chosen[pair.key], pair.feedback)
        words.append(f"“{pair.text}” with “{offered[chosen[pair.key]]}”: {said}")
    return False, tuple(filter(None, words))

"""All that a check says, for its author: each answer, whether it is right, and what is said to it. Never for a learner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lessons.check_cards import inline, number_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lessons.match_checks import Matching
    from lessons.questions import Question
    from lessons.text_checks import ShortText

OTHERWISE = "anything else"


@dataclass(frozen=True)
class Told:
    """One answer, HTML, and what is said to it."""

    answer: str
    right: bool
    said: str


def answers_of(question: Question) -> tuple[Told, ...]:
    """Return every answer that a check has words for, in the order of the file."""
    if question.matching:
        return tuple(_pairs(question.matching))
    if question.ordering:
        return tuple(
            Told(f"{place}: {inline(item.text)}", right=True, said=inline(item.feedback))
            for place, item in enumerate(question.ordering.items, 1)
        )
    if question.short_text:
        return tuple(_texts(question.short_text))
    if question.kind == "number":
        return tuple(_numbers(question))
    return tuple(
        Told(inline(option.text), option.right, inline(option.feedback))
        for option in question.options
    )


def _numbers(question: Question) -> Iterator[Told]:
    yield Told(f"{number_words(question.answer)} {question.unit}".strip(), right=True, said="")
    for entry in question.tempting:
        value = OTHERWISE if entry.value is None else number_words(entry.value)
        yield Told(value, right=False, said=inline(entry.feedback))


def _pairs(matching: Matching) -> Iterator[Told]:
    choices = {choice.key: inline(choice.text) for choice in matching.choices}
    for pair in matching.pairs:
        left = inline(pair.text)
        yield Told(f"{left} with {choices[pair.right]}", right=True, said="")
        for key, feedback in pair.tempting.items():
            yield Told(f"{left} with {choices[key]}", right=False, said=inline(feedback))
        if pair.feedback:
            yield Told(f"{left} with {OTHERWISE}", right=False, said=inline(pair.feedback))


def _texts(asked: ShortText) -> Iterator[Told]:
    for text in asked.accepted:
        yield Told(inline(text), right=True, said="")
    for text, feedback in asked.tempting.items():
        yield Told(inline(text), right=False, said=inline(feedback))
    if asked.otherwise:
        yield Told(OTHERWISE, right=False, said=inline(asked.otherwise))

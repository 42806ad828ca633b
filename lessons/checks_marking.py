"""The marking of check-yourself questions. Pure: a question and an answer give a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lessons.match_checks import mark_matching
from lessons.order_checks import mark_ordering
from lessons.questions import is_near
from lessons.text_checks import mark_short_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lessons.questions import Question


@dataclass(frozen=True)
class Verdict:
    """What one try earned, and what to say to it (Markdown). Nothing here tells the right answer."""

    right: bool
    feedback: tuple[str, ...]


def mark(question: Question, chosen: Sequence[str]) -> Verdict:
    """Mark one try: the keys of the chosen options, one number as text, or what the kind's module says.

    Raises ValueError for an answer that the question does not offer.
    """
    if question.matching:
        return Verdict(*mark_matching(question.matching, chosen))
    if question.ordering:
        return Verdict(*mark_ordering(question.ordering, chosen))
    if question.short_text:
        return Verdict(*mark_short_text(question.short_text, chosen))
    if question.kind == "number":
        return _mark_number(question, chosen)
    keys = {option.key for option in question.options}
    if not chosen or not keys.issuperset(chosen):
        raise ValueError("choose among the options")
    if question.kind == "one" and len(set(chosen)) != 1:
        raise ValueError("choose one option")
    return _mark_choice(question, frozenset(chosen))


def _mark_choice(question: Question, chosen: frozenset[str]) -> Verdict:
    if chosen == question.right_keys:
        words = [o.feedback for o in question.options if o.right and o.feedback]
        return Verdict(right=True, feedback=tuple(words))
    words = [o.feedback for o in question.options if o.key in chosen and not o.right]
    missed = len(question.right_keys - chosen)
    if question.kind == "many" and missed:
        belongs = "One more belongs" if missed == 1 else f"{missed} more belong"
        words.append(f"{belongs} on the list." if words else f"Right so far. {belongs}.")
    return Verdict(right=False, feedback=tuple(words))


def _mark_number(question: Question, chosen: Sequence[str]) -> Verdict:
    if len(chosen) != 1:
        raise ValueError("write one number")
    value = float(chosen[0])
    if is_near(value, question.answer, question.within):
        return Verdict(right=True, feedback=())
    named = [t for t in question.tempting if t.value is not None]
    near = [t for t in named if is_near(value, t.value or 0.0, max(question.within, 0.01))]
    fallback = [t for t in question.tempting if t.value is None]
    return Verdict(right=False, feedback=((near or fallback)[0].feedback,))


def is_resolved(question: Question, verdicts: Sequence[bool]) -> bool:
    """Tell whether a check explains itself and takes no more tries."""
    return any(verdicts) or len(verdicts) >= question.tries

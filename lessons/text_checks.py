"""A check of kind ``text``: a short text, with a list of accepted answers. Pure.

    - [x] an accepted answer; the first is shown once the check is resolved
    - [x] another
    - [ ] a tempting one
      > why it tempts
    - otherwise
      > what is said of any other

Case, spaces and backticks do not count. An answer is a list of one text, as it was typed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lessons.question_body import Item, QuestionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LONGEST_TEXT_CHARACTERS = 100
_OTHERWISE = "otherwise"


@dataclass(frozen=True)
class ShortText:
    """What is accepted, and what tempts."""

    accepted: tuple[str, ...]
    """As the author wrote them; Markdown."""
    tempting: Mapping[str, str]
    """Feedback by the bare text of a wrong answer."""
    otherwise: str
    """What is said of any other."""

    @property
    def right_answer(self) -> list[str]:
        return [self.accepted[0]]


def bare(text: str) -> str:
    """Return what counts of a text: no case, no spaces, no backticks."""
    return re.sub(r"[\s`]+", "", text).casefold()


def parse_short_text(items: Sequence[Item]) -> ShortText:
    """Read the items of a short text. Raises QuestionError."""
    accepted = [item.text for item in items if item.box == "x"]
    if not accepted:
        raise QuestionError("no answer is accepted: mark one with “[x]”")
    others = [item for item in items if item.box is None]
    if [item.text for item in others] != [_OTHERWISE]:
        line = next((item.line for item in others if item.text != _OTHERWISE), 0)
        raise QuestionError("a text needs “- otherwise” once, and a box at every other item", line)
    seen: set[str] = set()
    for item in items:
        if item.box == "x" and item.words:
            raise QuestionError(f"“{item.text}” is right: say why in the explanation", item.line)
        if item.box != "x" and not item.words:
            raise QuestionError(f"“{item.text}” has no feedback", item.line)
        if item.box is not None and not bare(item.text):
            raise QuestionError("an answer is empty", item.line)
        if item.box is not None and len(item.text) > LONGEST_TEXT_CHARACTERS:
            most = LONGEST_TEXT_CHARACTERS
            raise QuestionError(f"“{item.text}” is too long to type: {most} characters", item.line)
        if item.box is not None and bare(item.text) in seen:
            raise QuestionError(
                f"“{item.text}” stands here twice: case, spaces and backticks do not count",
                item.line,
            )
        if item.box is not None:
            seen.add(bare(item.text))
    tempting = {bare(item.text): item.feedback for item in items if item.box == " "}
    return ShortText(tuple(accepted), tempting, others[0].feedback)


def mark_short_text(asked: ShortText, answer: Sequence[str]) -> tuple[bool, tuple[str, ...]]:
    """Return whether the text is accepted, and what to say (Markdown).

    Raises ValueError unless the answer is one text with something in it.
    """
    if len(answer) != 1 or not bare(answer[0]):
        raise ValueError("write a short text")
    typed = bare(answer[0])
    if typed in {bare(text) for text in asked.accepted}:
        return True, ()
    return False, (asked.tempting.get(typed, asked.otherwise),)

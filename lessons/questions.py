"""The body of a ``check`` block: options with feedback, or a number with its tempting neighbours.

    Question, in one or more paragraphs.

    - [ ] an option that tempts
      > why it tempts, and what is wrong with it
    - [x] the right one
      > why
    > What stands there once the check is resolved.

A number has no boxes: ``- = name`` or ``- 320`` is a tempting value, ``- otherwise`` any other.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from lessons.quantities import NUMBERS

if TYPE_CHECKING:
    from collections.abc import Mapping

type Kind = Literal["one", "many", "number"]
KINDS: tuple[Kind, ...] = ("one", "many", "number")
_ITEM = re.compile(r"- (?:\[(?P<box>[ x])\] )?(?P<text>.+)")
_LEAST_OPTIONS = 2


class QuestionError(ValueError):
    """A check that cannot be asked; ``line`` counts from the first line of its body, 0."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class Option:
    """One answer to choose; Markdown."""

    key: str
    """From its text: a try still names its option when others move."""
    text: str
    right: bool
    feedback: str


@dataclass(frozen=True)
class Tempting:
    """A wrong number that has a reason; None is any other."""

    value: float | None
    feedback: str


@dataclass(frozen=True)
class Question:
    """A check-yourself question; texts are Markdown."""

    key: str
    kind: Kind
    text: str
    explanation: str
    """Shown only when the check is resolved."""
    options: tuple[Option, ...] = ()
    answer: float = 0.0
    within: float = 0.0
    """The share by which a number may be off."""
    unit: str = ""
    tempting: tuple[Tempting, ...] = ()

    @property
    def right_keys(self) -> frozenset[str]:
        return frozenset(option.key for option in self.options if option.right)


@dataclass
class _Item:
    line: int
    text: str
    box: str | None
    feedback: list[str]


def option_key(text: str) -> str:
    """Return the key of an option, from its text."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def parse_question(key: str, options: Mapping[str, str], body: str) -> Question:
    """Read the body of a ``check`` block. Raises QuestionError."""
    kind = options.get("kind")
    if kind not in KINDS:
        raise QuestionError(f"kind: {kind!r}: write one, many or number")
    text, items, explanation = _parts(body)
    if not text:
        raise QuestionError("the question is missing")
    if not explanation:
        raise QuestionError("the explanation is missing: write it after “> ” at the line's start")
    for item in items:
        if not item.feedback and item.box != "x":
            raise QuestionError(f"“{item.text}” has no feedback", item.line)
    if kind == "number":
        return _number(key, options, text, items, explanation)
    return _choice(key, kind, text, items, explanation)


def _parts(body: str) -> tuple[str, list[_Item], str]:
    text: list[str] = []
    explanation: list[str] = []
    items: list[_Item] = []
    for number, line in enumerate(body.splitlines()):
        if line.startswith("> "):
            explanation.append(line[2:])
        elif line.startswith("  > "):
            if not items:
                raise QuestionError("feedback without an option", number)
            items[-1].feedback.append(line[4:])
        elif match := _ITEM.fullmatch(line):
            items.append(_Item(number, match["text"].strip(), match["box"], []))
        elif line.startswith("  ") and line.strip() and items and not items[-1].feedback:
            items[-1].text += " " + line.strip()
        elif line.strip() and (items or explanation):
            raise QuestionError("text after the options: indent it, or start it with “> ”", number)
        else:
            text.append(line)
    return "\n".join(text).strip(), items, " ".join(explanation).strip()


def _choice(key: str, kind: Kind, text: str, items: list[_Item], explanation: str) -> Question:
    for item in items:
        if item.box is None:
            raise QuestionError(f"“{item.text}” needs a box: “- [ ]” or “- [x]”", item.line)
    choices = tuple(
        Option(option_key(item.text), item.text, item.box == "x", " ".join(item.feedback))
        for item in items
    )
    rights = sum(choice.right for choice in choices)
    if len(choices) < _LEAST_OPTIONS:
        raise QuestionError("a choice needs two options or more")
    if len({choice.key for choice in choices}) < len(choices):
        raise QuestionError("two options have the same text")
    if not rights:
        raise QuestionError("no option is right: mark one with “[x]”")
    if kind == "one" and rights > 1:
        raise QuestionError("two options are right: write kind: many")
    return Question(key, kind, text, explanation, options=choices)


def _number(
    key: str, options: Mapping[str, str], text: str, items: list[_Item], explanation: str
) -> Question:
    if "answer" not in options:
        raise QuestionError("a number needs an answer")
    share = options.get("within", "0 %").strip()
    if not re.fullmatch(r"\d+(\.\d+)? ?%", share):
        raise QuestionError(f"within: {share!r}: write a share such as 2 %")
    tempting = tuple(
        Tempting(
            None if item.text == "otherwise" else _value(item.text, item.line),
            " ".join(item.feedback),
        )
        for item in items
    )
    if [entry.value for entry in tempting].count(None) != 1:
        raise QuestionError("a number needs “- otherwise” with feedback, once")
    question = Question(
        key,
        "number",
        text,
        explanation,
        answer=_value(options["answer"], 0),
        within=float(share.rstrip(" %")) / 100,
        unit=options.get("unit", ""),
        tempting=tempting,
    )
    for item, entry in zip(items, tempting, strict=True):
        if entry.value is not None and is_near(entry.value, question.answer, question.within):
            raise QuestionError(f"“{item.text}” tempts and is right", item.line)
    return question


def _value(text: str, line: int) -> float:
    if text.startswith("= "):
        name = text[2:].strip()
        if name not in NUMBERS:
            raise QuestionError(f"no number is called {name!r} in lessons.quantities", line)
        return NUMBERS[name]
    try:
        return float(text.replace(",", ""))
    except ValueError:
        raise QuestionError(f"{text!r} is not a number", line) from None


def is_near(value: float, answer: float, within: float) -> bool:
    """Tell whether ``value`` is the answer, give or take the share ``within``."""
    return abs(value - answer) <= abs(answer) * within + 1e-9

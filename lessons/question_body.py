"""The lines of a ``check`` block, sorted: the question, its items with their feedback, the explanation.

What an item means depends on the kind of check; :mod:`lessons.questions` and the modules of the kinds
read it. Pure.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field

_ITEM = re.compile(r"- (?:\[(?P<box>[ x])\] )?(?P<text>.+)")
_COUNTED = re.compile(r"(?P<number>\d+)\. (?P<text>.+)")
_UNDER = re.compile(r"  - (?P<text>.+)")


class QuestionError(ValueError):
    """A check that cannot be asked; ``line`` counts from the first line of its body, 0."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


@dataclass
class Item:
    """One entry of the list below a question, as it is written."""

    line: int
    text: str
    box: str | None = None
    """``x`` or a space; None without a box."""
    number: int | None = None
    """The number in front of a counted item."""
    words: list[str] = field(default_factory=list)
    under: list[Item] = field(default_factory=list)
    """Items one step further in: the wrong pairs of a match."""

    @property
    def feedback(self) -> str:
        return " ".join(self.words)


@dataclass(frozen=True)
class Body:
    """A check's block, apart; Markdown."""

    text: str
    items: tuple[Item, ...]
    explanation: str
    hints: tuple[str, ...] = ()
    """In the order in which they open."""


def option_key(text: str) -> str:
    """Return the key of an option, from its text."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def body_of(source: str, *, counted: bool = False, nested: bool = False) -> Body:
    """Sort the lines of a block.

    Items begin with ``- ``, or with ``1. `` if they are ``counted``; ``nested`` ones may have items
    under them. A hint is a line after ``? ``. Raises QuestionError if question or explanation is missing or a line fits nowhere.
    """
    text: list[str] = []
    explanation: list[str] = []
    items: list[Item] = []
    hints: list[str] = []
    begins = _COUNTED if counted else _ITEM
    for place, line in enumerate(source.splitlines()):
        if line.startswith("> "):
            explanation.append(line[2:])
        elif line.startswith("? "):
            hints.append(line[2:].strip())
        elif match := begins.fullmatch(line):
            items.append(_item(place, match))
        elif line.startswith("  ") and line.strip() and (items or line.startswith("  > ")):
            _into(items, place, line, nested=nested)
        elif line.strip() and (items or explanation):
            raise QuestionError("text after the options: indent it, or start it with “> ”", place)
        else:
            text.append(line)
    body = Body("\n".join(text).strip(), tuple(items), " ".join(explanation).strip(), tuple(hints))
    if not body.text:
        raise QuestionError("the question is missing")
    if not body.explanation:
        raise QuestionError("the explanation is missing: write it after “> ” at the line's start")
    return body


def _item(place: int, match: re.Match[str]) -> Item:
    found = match.groupdict()
    number = found.get("number")
    return Item(place, match["text"].strip(), found.get("box"), int(number) if number else None)


def _into(items: list[Item], place: int, line: str, *, nested: bool) -> None:
    """Add an indented line to the last item: feedback, an item under it, or more of its text."""
    if not items:
        raise QuestionError("feedback without an option", place)
    last = items[-1]
    if nested and (match := _UNDER.fullmatch(line)):
        last.under.append(Item(place, match["text"].strip()))
        return
    if line.startswith("    "):
        last = last.under[-1] if last.under else last
    said = line.strip()
    if said.startswith("> "):
        last.words.append(said[2:])
    elif last.words:
        raise QuestionError("text after the options: indent it, or start it with “> ”", place)
    else:
        last.text += " " + said

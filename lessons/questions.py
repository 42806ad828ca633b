"""The body of a ``check`` block: options with feedback, or a number with its tempting neighbours.

    Question, in one or more paragraphs.

    - [ ] an option that tempts
      > why it tempts, and what is wrong with it
    - [x] the right one
      > why
    ? A hint: it opens when it is asked for, and after a wait.
    > What stands there once the check is resolved.

A number has no boxes: ``- = name`` or ``- 320`` is a tempting value, ``- otherwise`` any other. What
the items of the other kinds look like stands in match_checks, order_checks and text_checks.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from labs.specs import LAYERS
from lessons.match_checks import Matching, parse_matching
from lessons.numbers import NUMBERS, no_such_number
from lessons.order_checks import Ordering, parse_ordering
from lessons.question_body import Body, QuestionError, body_of, option_key
from lessons.text_checks import ShortText, parse_short_text

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

type Kind = Literal["one", "many", "number", "match", "order", "text"]
KINDS: tuple[Kind, ...] = ("one", "many", "number", "match", "order", "text")
_LEAST_OPTIONS = 2
TRIES = 2
MOST_TRIES = 5
WAIT_S = 30
_WAITS_S = (5, 300)


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
    matching: Matching | None = None
    ordering: Ordering | None = None
    short_text: ShortText | None = None
    hints: tuple[str, ...] = ()
    """Each opens only after the one before it."""
    wait_s: int = WAIT_S
    """So long after it was asked for a hint opens, unless a wrong try has been made for it."""
    tries: int = TRIES
    """After so many, or a right one, the check is resolved: it explains, and takes no more."""
    layer: str = ""
    """The layer that it is about, where its station's are others; empty: its station's."""

    def is_about(self, layer: str, station_layers: Collection[str]) -> bool:
        """Tell whether the check counts in a layer, standing in a station of these."""
        return self.layer == layer if self.layer else layer in station_layers

    @property
    def right_keys(self) -> frozenset[str]:
        return frozenset(option.key for option in self.options if option.right)

    @property
    def wording(self) -> str:
        """Return what tells this wording of the question from others, 12 hexadecimal digits.

        What is asked, what is offered and what is right: feedback, hints and the explanation may change without it.
        """
        said = (
            self.kind,
            self.text,
            [(option.key, option.text, option.right) for option in self.options],
            (self.answer, self.within, self.unit),
            (self.matching, self.ordering, self.short_text),
        )
        return hashlib.sha256(repr(said).encode()).hexdigest()[:12]

    @property
    def right_answer(self) -> list[str]:
        """An answer that is right, as a try holds it. It belongs into no page before it is due."""
        if asked := self.matching or self.ordering or self.short_text:
            return asked.right_answer
        return [f"{self.answer:.15g}"] if self.kind == "number" else sorted(self.right_keys)


def parse_question(key: str, options: Mapping[str, str], source: str) -> Question:
    """Read the body of a ``check`` block. Raises QuestionError."""
    kind = options.get("kind")
    if kind not in KINDS:
        raise QuestionError(f"kind: {kind!r}: write {', '.join(KINDS[:-1])} or {KINDS[-1]}")
    body = body_of(source, counted=kind == "order", nested=kind == "match")
    wait_s = _wait_s(options, body.hints)
    asked = _asked(key, kind, options, body)
    layer = _layer(options)
    return replace(asked, tries=_tries(options), wait_s=wait_s, hints=body.hints, layer=layer)


def _layer(options: Mapping[str, str]) -> str:
    said = options.get("layer", "")
    if said and said not in LAYERS:
        raise QuestionError(f"layer: {said!r}: write one of {', '.join(LAYERS)}")
    return said


def _tries(options: Mapping[str, str]) -> int:
    said = options.get("tries", f"{TRIES}")
    if not said.isdecimal() or not 1 <= int(said) <= MOST_TRIES:
        raise QuestionError(f"tries: {said!r}: write a number from 1 to {MOST_TRIES}")
    return int(said)


def _wait_s(options: Mapping[str, str], hints: Sequence[str]) -> int:
    said = options.get("wait", f"{WAIT_S} s")
    match = re.fullmatch(r"(\d+) s", said)
    least, most = _WAITS_S
    if match is None or not least <= int(match[1]) <= most:
        raise QuestionError(f"wait: {said!r}: write seconds from {least} to {most}, such as 45 s")
    if "wait" in options and not hints:
        raise QuestionError("wait: nothing waits: write a hint, a line after “? ”, or leave it out")
    return int(match[1])


def _asked(key: str, kind: Kind, options: Mapping[str, str], body: Body) -> Question:
    if kind == "match":
        matching = parse_matching(body.items)
        return Question(key, kind, body.text, body.explanation, matching=matching)
    if kind == "order":
        ordering = parse_ordering(body.items)
        return Question(key, kind, body.text, body.explanation, ordering=ordering)
    if kind == "text":
        short_text = parse_short_text(body.items)
        return Question(key, kind, body.text, body.explanation, short_text=short_text)
    for item in body.items:
        if not item.words and item.box != "x":
            raise QuestionError(f"“{item.text}” has no feedback", item.line)
    return _number(key, options, body) if kind == "number" else _choice(key, kind, body)


def _choice(key: str, kind: Kind, body: Body) -> Question:
    for item in body.items:
        if item.box is None:
            raise QuestionError(f"“{item.text}” needs a box: “- [ ]” or “- [x]”", item.line)
    choices = tuple(
        Option(option_key(item.text), item.text, item.box == "x", item.feedback)
        for item in body.items
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
    return Question(key, kind, body.text, body.explanation, options=choices)


def _number(key: str, options: Mapping[str, str], body: Body) -> Question:
    if "answer" not in options:
        raise QuestionError("a number needs an answer")
    share = options.get("within", "0 %").strip()
    if not re.fullmatch(r"\d+(\.\d+)? ?%", share):
        raise QuestionError(f"within: {share!r}: write a share such as 2 %")
    tempting = tuple(
        Tempting(None if item.text == "otherwise" else _value(item.text, item.line), item.feedback)
        for item in body.items
    )
    if [entry.value for entry in tempting].count(None) != 1:
        raise QuestionError("a number needs “- otherwise” with feedback, once")
    question = Question(
        key,
        "number",
        body.text,
        body.explanation,
        answer=_value(options["answer"], 0),
        within=float(share.rstrip(" %")) / 100,
        unit=options.get("unit", ""),
        tempting=tempting,
    )
    for item, entry in zip(body.items, tempting, strict=True):
        if entry.value is not None and is_near(entry.value, question.answer, question.within):
            raise QuestionError(f"“{item.text}” tempts and is right", item.line)
    return question


def _value(text: str, line: int) -> float:
    if text.startswith("= "):
        name = text[2:].strip()
        if name not in NUMBERS:
            raise QuestionError(no_such_number(name, NUMBERS), line)
        return NUMBERS[name]
    try:
        return float(text.replace(",", ""))
    except ValueError:
        raise QuestionError(f"{text!r} is not a number", line) from None


def is_near(value: float, answer: float, within: float) -> bool:
    """Tell whether ``value`` is the answer, give or take the share ``within``."""
    return abs(value - answer) <= abs(answer) * within + 1e-9

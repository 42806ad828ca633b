"""A check for one reader: question, tries and rows to what the template shows.

What is not revealed is left out here: before a check is resolved nothing says which answer is right,
except where the reader has given it.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils import timezone

from courseware.served import remembered
from lessons.check_forms import CheckForm, ProblemForm, WhyForm
from lessons.checks_marking import is_resolved, mark
from lessons.hint_cards import hint_card
from lessons.markdown import inline_html, text_html
from lessons.match_checks import joined, settled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.forms import Form

    from lessons.content import Lesson
    from lessons.hint_cards import Asked, HintCard
    from lessons.match_checks import Matching
    from lessons.models import CheckHint, CheckTry, CheckWhy, ProblemReport
    from lessons.order_checks import Ordering
    from lessons.questions import Question

_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_COUNTS = ("No", "One", "Two", "Three", "Four", "Five")
_TAG = re.compile(r"<[^>]+>")

inline = remembered(inline_html)
text_of = remembered(text_html)


@dataclass(frozen=True)
class OptionRow:
    """One option of a check, as it stands now."""

    key: str
    html: str
    chosen: bool
    """It stands ticked in the form."""
    note: str
    """Such as "your first answer"."""
    verdict: str
    """right, wrong or empty; never right before the check is resolved."""


@dataclass(frozen=True)
class ChoiceRow:
    """One right item of a match."""

    key: str
    html: str
    plain: str
    """Without markup: it stands in a select."""


@dataclass(frozen=True)
class PairRow:
    """One left item of a match, as it stands now."""

    key: str
    html: str
    chosen: str
    """Key of the right item that stands chosen in the form."""
    right: str
    """HTML of the right item; empty until the reader has given it or the check is resolved."""
    notes: tuple[str, ...]
    """What was said wrongly, such as "your first answer: the KV pool"; HTML."""
    is_wrong: bool
    """The form refuses it."""

    @property
    def is_settled(self) -> bool:
        return bool(self.right)


@dataclass(frozen=True)
class PlaceRow:
    """One item of an order, in the learner's last order; once resolved, in the right one."""

    key: str
    html: str
    plain: str
    chosen: str
    """The place that stands chosen in the form."""
    note: str
    """Once resolved, such as "your first answer: 3"."""
    is_wrong: bool


@dataclass(frozen=True)
class TryRow:
    """One try: what was answered, and what was said to it."""

    label: str
    answer: str
    """A number or a text; other kinds show theirs in their rows."""
    right: bool
    feedback: tuple[str, ...]


@dataclass(frozen=True)
class CheckCard:
    """A check for one reader."""

    lesson: Lesson
    key: str
    kind: str
    question: str
    options: tuple[OptionRow, ...]
    pairs: tuple[PairRow, ...]
    choices: tuple[ChoiceRow, ...]
    places: tuple[PlaceRow, ...]
    unit: str
    tries: tuple[TryRow, ...]
    form: Form
    typed: str
    """A number or a text, as it stands in the form."""
    errors: tuple[str, ...]
    """What the form refuses, each sentence once."""
    resolved: bool
    solved: bool
    answer: str
    """The right answer of a number or a text, HTML; empty until resolved."""
    explanation: str
    """Empty until resolved."""
    try_number: int
    """Of the try that the form asks for, from 1."""
    limit: str
    """How many tries it takes, or are left, in a sentence."""
    is_second: bool
    """Another answer came first: this one was not counted."""
    fresh: bool
    """It was answered just now: the feedback takes the focus."""
    why: CheckWhy | None
    why_form: Form
    problem: ProblemReport | None
    """The reader's own report, the last."""
    problem_form: Form
    told: bool
    """A line was stored just now: it takes the focus."""
    hints: HintCard | None


def check_card(
    lesson: Lesson,
    question: Question,
    tries: Sequence[CheckTry],
    *,
    form: Form | None = None,
    fresh: bool = False,
    why: CheckWhy | None = None,
    why_form: Form | None = None,
    problem: ProblemReport | None = None,
    problem_form: Form | None = None,
    told: bool = False,
    is_second: bool = False,
    hints: Sequence[CheckHint] = (),
    asked: Asked = "",
) -> CheckCard:
    """Return a check as its reader may see it."""
    resolved = is_resolved(question, [row.right for row in tries])
    form = form or CheckForm(question)
    typed = form.data.get("answer", "") if form.is_bound else ""
    matching, ordering = question.matching, question.ordering
    return CheckCard(
        lesson=lesson,
        key=question.key,
        kind=question.kind,
        question=text_of(question.text),
        options=_option_rows(question, tries, form, resolved=resolved),
        pairs=_pair_rows(matching, tries, form, resolved=resolved) if matching else (),
        choices=_choice_rows(matching) if matching else (),
        places=_place_rows(ordering, tries, form, resolved=resolved) if ordering else (),
        unit=question.unit,
        tries=tuple(_try_row(question, row) for row in tries),
        form=form,
        typed=typed,
        errors=tuple(dict.fromkeys(str(word) for words in form.errors.values() for word in words)),
        resolved=resolved,
        solved=any(row.right for row in tries),
        answer=_right_answer(question) if resolved else "",
        explanation=inline(question.explanation) if resolved else "",
        try_number=len(tries) + 1,
        limit=_limit(question.tries, len(tries)),
        is_second=is_second,
        fresh=fresh,
        why=why,
        why_form=why_form or WhyForm(),
        problem=problem,
        problem_form=problem_form or ProblemForm(),
        told=told,
        hints=hint_card(question, tries, hints, timezone.now(), resolved=resolved, asked=asked),
    )


def _limit(tries: int, made: int) -> str:
    if made == tries - 1:
        return (
            "The next try is the last; then it explains itself."
            if made
            else "One try; then it explains itself."
        )
    if made:
        return f"{_COUNTS[tries - made]} tries are left, then it explains itself."
    return f"{_COUNTS[tries]} tries, all of them kept. Your map counts the first."


def _option_rows(
    question: Question, tries: Sequence[CheckTry], form: Form, *, resolved: bool
) -> tuple[OptionRow, ...]:
    chosen = set(form.data.getlist("answer")) if form.is_bound else set()  # type: ignore[attr-defined]
    return tuple(
        OptionRow(
            key=option.key,
            html=inline(option.text),
            chosen=option.key in chosen,
            note=_note(option.key, tries),
            verdict=_verdict(question, option.key, tries, resolved=resolved),
        )
        for option in question.options
    )


def _note(key: str, tries: Sequence[CheckTry]) -> str:
    places = [_ordinal(row) for row in tries if key in row.answer]
    return f"your {' and '.join(places)} answer" if places else ""


def _ordinal(row: CheckTry) -> str:
    return _ORDINALS[min(row.number, len(_ORDINALS)) - 1]


def _verdict(question: Question, key: str, tries: Sequence[CheckTry], *, resolved: bool) -> str:
    if resolved and key in question.right_keys:
        return "right"
    chosen = any(key in row.answer for row in tries)
    # Of several options, saying which chosen one is wrong would tell the rest.
    told = resolved or question.kind == "one"
    return "wrong" if chosen and told else ""


# ------------------------------------------------------------------------------- pairs and places


def _choice_rows(matching: Matching) -> tuple[ChoiceRow, ...]:
    return tuple(
        ChoiceRow(choice.key, inline(choice.text), plain(choice.text))
        for choice in matching.choices
    )


def _pair_rows(
    matching: Matching, tries: Sequence[CheckTry], form: Form, *, resolved: bool
) -> tuple[PairRow, ...]:
    shown = {choice.key: inline(choice.text) for choice in matching.choices}
    said = [(_ordinal(row), joined(row.answer)) for row in tries]
    stays = settled(matching, tries[-1].answer) if tries else {}
    rows = []
    for pair in matching.pairs:
        wrong = [
            (ordinal, shown[chosen[pair.key]])
            for ordinal, chosen in said
            if chosen.get(pair.key, pair.right) != pair.right and chosen[pair.key] in shown
        ]
        name = f"pair-{pair.key}"
        rows.append(
            PairRow(
                key=pair.key,
                html=inline(pair.text),
                chosen=form.data.get(name, "") if form.is_bound else "",
                right=shown[pair.right] if resolved or pair.key in stays else "",
                notes=_notes(wrong),
                is_wrong=name in form.errors,
            )
        )
    return tuple(rows)


def _place_rows(
    ordering: Ordering, tries: Sequence[CheckTry], form: Form, *, resolved: bool
) -> tuple[PlaceRow, ...]:
    items = {item.key: item for item in ordering.items}
    whole = [row for row in tries if sorted(row.answer) == sorted(items)]
    places = {row.pk: {key: n for n, key in enumerate(row.answer, 1)} for row in whole}
    last = whole[-1].answer if whole else []
    order = last or [item.key for item in ordering.offered]
    if resolved:
        order = list(items)
    rows = []
    for n, key in enumerate(order, 1):
        name = f"place-{key}"
        chosen = str(n) if last else ""
        said = [(_ordinal(row), str(places[row.pk][key])) for row in whole]
        rows.append(
            PlaceRow(
                key=key,
                html=inline(items[key].text),
                plain=plain(items[key].text),
                chosen=form.data.get(name, "") if form.is_bound else chosen,
                note=", ".join(_notes(said)) if resolved else "",
                is_wrong=name in form.errors,
            )
        )
    return tuple(rows)


def _notes(said: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return what was answered when, each answer once: "your first and second answer: 3"."""
    when: dict[str, list[str]] = {}
    for ordinal, answer in said:
        when.setdefault(answer, []).append(ordinal)
    return tuple(f"your {' and '.join(when[answer])} answer: {answer}" for answer in when)


def plain(source: str) -> str:
    """Return Markdown without markup: it stands in a select, or names a button."""
    return html.unescape(_TAG.sub("", inline(source)))


# ------------------------------------------------------------------------------------------ answers


def _try_row(question: Question, row: CheckTry) -> TryRow:
    answer = ""
    try:
        feedback = mark(question, row.answer).feedback
    except ValueError:
        feedback = ("The question has changed since you answered it.",)
    else:
        if question.kind == "number":
            answer = f"{number_words(float(row.answer[0]))} {question.unit}".strip()
        if question.kind == "text":
            answer = row.answer[0]
    label = f"Your {_ordinal(row)} answer"
    return TryRow(label, answer, row.right, tuple(inline(line) for line in feedback))


def _right_answer(question: Question) -> str:
    if question.kind == "number":
        return html.escape(f"{number_words(question.answer)} {question.unit}".strip())
    return inline(question.short_text.accepted[0]) if question.short_text else ""


def number_words(value: float) -> str:
    """Return a number as people read it: whole with thousands marks, else four figures."""
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.4g}"

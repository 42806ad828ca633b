"""What comes back, as its reader may see it: asked anew, or answered today with its reason."""

from __future__ import annotations

import html
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lessons import content, record
from lessons.check_cards import check_card, inline, number_words, text_of
from lessons.checks_marking import mark
from lessons.guesses import distance
from lessons.match_checks import joined
from lessons.prediction_cards import said_words, unit_of
from lessons.spacing import LADDER_DAYS, Item, in_another_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import date

    from courseware.models import User
    from lessons.check_cards import CheckCard
    from lessons.check_forms import CheckForm
    from lessons.content import Lesson, Station
    from lessons.models import RepeatTry
    from lessons.questions import Question
    from lessons.spacing import Scheduled


@dataclass(frozen=True)
class Said:
    """A prediction that was missed: what was said and what was computed."""

    ask: str
    said: str
    """HTML, as ``computed``."""
    computed: str
    unit: str
    confidence: int
    off: str
    """How far off, in words."""
    is_number: bool


@dataclass(frozen=True)
class Due:
    """One item that comes back today."""

    item: Item
    anchor: str
    lesson: Lesson
    station: Station
    missed_on: date
    times: int
    """Right answers in a row so far."""
    card: CheckCard | None
    """A check, its options in another order; None for a prediction."""
    said: Said | None
    """None for a check."""


@dataclass(frozen=True)
class Done:
    """One item that was answered today."""

    item: Item
    anchor: str
    lesson: Lesson
    station: Station
    asked: str
    answer: tuple[str, ...]
    """Lines of HTML, as those of ``right_answer``."""
    right: bool
    feedback: tuple[str, ...]
    right_answer: tuple[str, ...]
    """Empty if the answer was right."""
    explanation: str
    next_on: date | None
    """None: it stays away."""


def due_cards(
    learner: User,
    due: Iterable[Scheduled],
    day: date,
    *,
    bound: tuple[Item, CheckForm] | None = None,
) -> list[Due]:
    """Return what comes back, ready to be answered. ``bound`` is a form that was refused."""
    known = _said(learner)
    return [
        _due(each, known.get(each.item), f"{learner.pk}:{day}", bound)
        for each in due
        if each.item.kind == "check" or each.item in known
    ]


def _due(
    scheduled: Scheduled, said: Said | None, seed: str, bound: tuple[Item, CheckForm] | None
) -> Due:
    item = scheduled.item
    lesson, station = place_of(item)
    card = None
    if item.kind == "check":
        form = bound[1] if bound and bound[0] == item else None
        card = _asked_anew(lesson, station.checks[item.key], f"{seed}:{item.key}", form)
    return Due(
        item, anchor_of(item), lesson, station, scheduled.missed_on, scheduled.step, card, said
    )


def _asked_anew(lesson: Lesson, question: Question, seed: str, form: CheckForm | None) -> CheckCard:
    card = check_card(lesson, question, [], form=form)
    return replace(
        card,
        # Two lessons may call a check alike, and both may stand on the page.
        key=f"{lesson.slug}-{card.key}",
        options=in_another_order(card.options, seed),
        pairs=in_another_order(card.pairs, seed),
    )


def _said(learner: User) -> dict[Item, Said]:
    found = {}
    for each in record.predictions_computed(learner):
        item = Item("prediction", each.lesson, each.key)
        lesson = content.lessons().get(each.lesson)
        station = lesson.with_prediction(each.key) if lesson else None
        if station is not None:
            text = station.predictions[each.key]
            found[item] = Said(
                ask=inline(text.ask),
                said=said_words(each.said, text.items),
                computed=said_words(each.result["answer"], text.items),
                unit=unit_of(each.key),
                confidence=each.confidence,
                off=distance(each.said, each.result).line,
                is_number=isinstance(each.result["answer"], int | float),
            )
    return found


def done_cards(
    learner: User, rows: Iterable[RepeatTry], scheduled: Iterable[Scheduled]
) -> list[Done]:
    """Return what was answered, with its reason and the day on which it comes back."""
    known = _said(learner)
    next_on = {each.item: each.due for each in scheduled}
    return [card for row in rows for card in _done(row, known, next_on.get(row.item))]


def _done(row: RepeatTry, known: dict[Item, Said], next_on: date | None) -> Iterator[Done]:
    item = row.item
    lesson, station = place_of(item)
    if item.kind == "prediction":
        if said := known.get(item):
            words = "you know why" if row.right else "you would say the same"
            computed = (f"{said.computed} {said.unit}".strip(),)
            yield Done(
                item, anchor_of(item), lesson, station, said.ask, (words,), row.right, (),
                () if row.right else computed, "", next_on,
            )  # fmt: skip
        return
    question = station.checks[item.key]
    try:
        feedback = mark(question, row.answer).feedback
        answer = answer_words(question, row.answer)
    except ValueError:
        feedback, answer = ("The question has changed since you answered it.",), ()
    yield Done(
        item=item,
        anchor=anchor_of(item),
        lesson=lesson,
        station=station,
        asked=text_of(question.text),
        answer=answer,
        right=row.right,
        feedback=tuple(inline(line) for line in feedback),
        right_answer=() if row.right else answer_words(question, question.right_answer),
        explanation=inline(question.explanation),
        next_on=next_on,
    )


def answer_words(question: Question, answer: Sequence[str]) -> tuple[str, ...]:
    """Return an answer as lines of HTML. What the question does not offer is left out."""
    if matching := question.matching:
        choices = {choice.key: inline(choice.text) for choice in matching.choices}
        chosen = joined(answer)
        return tuple(
            f"{inline(pair.text)} with {choices[chosen[pair.key]]}"
            for pair in matching.pairs
            if chosen.get(pair.key) in choices
        )
    if ordering := question.ordering:
        items = {item.key: inline(item.text) for item in ordering.items}
        return tuple(f"{n}. {items[key]}" for n, key in enumerate(answer, 1) if key in items)
    if question.short_text:
        return tuple(html.escape(text) for text in answer[:1])
    if question.kind == "number":
        return (html.escape(f"{number_words(float(answer[0]))} {question.unit}".strip()),)
    return tuple(inline(option.text) for option in question.options if option.key in answer)


def place_of(item: Item) -> tuple[Lesson, Station]:
    """Return where an item first stood. Raises LookupError if the course asks it no more."""
    lesson = content.lessons()[item.lesson]
    check = item.kind == "check"
    station = lesson.with_check(item.key) if check else lesson.with_prediction(item.key)
    if station is None:
        raise LookupError(item)
    return lesson, station


def anchor_of(item: Item) -> str:
    return f"{item.kind}-{item.lesson}-{item.key}"


def ladder_words() -> str:
    """Return the ladder in words: "2, 7 and 21 days"."""
    *first, last = map(str, LADDER_DAYS)
    return f"{', '.join(first)} and {last} days"

"""What a class understood, for its instructors: every check with its statistics, and one with its answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.http import Http404
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from courseware.people import learner_required
from courseware.taught import taught
from lessons import class_answers, content
from lessons.check_cards import inline, plain
from lessons.item_analysis import LEAST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.http import HttpRequest, HttpResponseBase

    from lessons.content import Lesson, Station
    from lessons.item_analysis import Chosen, Item
    from lessons.questions import Question

MOST_ANSWERS = 12
"""Answers without options that are listed, the commonest first."""


@dataclass(frozen=True)
class Row:
    """One check of the course, with its statistics if enough people answered."""

    lesson: Lesson
    station: Station
    key: str
    question: str
    item: Item | None
    facility: str
    """Per cent, as a bar's width."""
    interval: str
    discrimination: str
    could_be: str
    """The interval of the discrimination."""


@dataclass(frozen=True)
class AnswerRow:
    """One answer: what it says, and the shares of those who gave it first."""

    text: str
    right: bool | None
    count: int
    share: str
    upper: str
    lower: str


@never_cache
@require_safe
@learner_required
def index(request: HttpRequest) -> HttpResponseBase:
    """Show every check, lesson by lesson; with ``?flagged`` those that want a look."""
    course, whose = content.lessons(), taught(request)
    items = class_answers.items_of(course, whose.learners)
    only_flagged = "flagged" in request.GET
    every = list(_rows(items))
    rows = [row for row in every if not only_flagged or (row.item and row.item.flags)]
    context = {
        "lessons": [
            (lesson, [row for row in rows if row.lesson.slug == lesson.slug])
            for lesson in course.values()
        ],
        "told": sum(row.item is not None for row in every),
        "of": len(every),
        "flagged": sum(bool(item.flags) for item in items.values()),
        "only_flagged": only_flagged,
        "least": LEAST,
        "taught": whose,
    }
    return render(request, "lessons/insight.html", context)


@never_cache
@require_safe
@learner_required
def item(request: HttpRequest, lesson: str, check: str) -> HttpResponseBase:
    """Show one check: its numbers, what people answered first, and what an author should look at."""
    whose = taught(request)
    found = content.lessons().get(lesson)
    here = found.with_check(check) if found else None
    if found is None or here is None:
        raise Http404
    items = class_answers.items_of(content.lessons(), whose.learners)
    known = items.get(class_answers.item_key(lesson, check))
    question = here.checks[check]
    context = {
        "row": _row(found, here, check, question, known),
        "question": question,
        "asked": inline(question.text),
        "answers": list(_answers(question, known)) if known else [],
        "has_groups": bool(known and known.upper_lower is not None),
        "upper_lower": _signed(known.upper_lower) if known else "",
        "least": LEAST,
        "taught": whose,
        "earlier": [
            (each, _percent(each.facility), " to ".join(map(_percent, each.interval)))
            for each in class_answers.earlier_wordings(lesson, question, whose.learners)
        ],
    }
    return render(request, "lessons/insight_item.html", context)


def _rows(items: dict[str, Item]) -> Iterator[Row]:
    for lesson in content.lessons().values():
        for station in lesson.stations:
            for key, question in station.checks.items():
                found = items.get(class_answers.item_key(lesson.slug, key))
                yield _row(lesson, station, key, question, found)


def _row(lesson: Lesson, station: Station, key: str, question: Question, found: Item | None) -> Row:
    low, high = found.interval if found else (0.0, 0.0)
    return Row(
        lesson=lesson,
        station=station,
        key=key,
        question=plain(question.text),
        item=found,
        facility=_percent(found.facility) if found else "",
        interval=f"{_percent(low)} to {_percent(high)}" if found else "",
        discrimination=_signed(found.discrimination) if found else "",
        could_be=" to ".join(map(_signed, found.could_be)) if found and found.could_be else "",
    )


def _answers(question: Question, found: Item) -> Iterator[AnswerRow]:
    texts = {option.key: (inline(option.text), option.right) for option in question.options}
    for each in found.chosen if texts else found.chosen[:MOST_ANSWERS]:
        text, right = texts.get(each.key, (_typed(each), None))
        yield AnswerRow(
            text,
            right,
            each.count,
            _percent(each.share),
            _percent(each.upper),
            _percent(each.lower),
        )


def _typed(each: Chosen) -> str:
    return inline(f"`{each.key}`") if "`" not in each.key else inline(each.key)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _signed(value: float | None) -> str:
    return "" if value is None else f"{value:+.2f}".replace("-", "\N{MINUS SIGN}")

"""Content and one's own rows to what a template shows. What is not revealed is left out here."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labs import catalogue
from lessons import figures, predictions, tool_reach
from lessons.check_cards import check_card, inline, number_words, text_of
from lessons.demo_cards import demo_card, typed_for
from lessons.forms import PredictionForm, SeenForm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from django.forms import Form

    from lessons.check_lines import Lines
    from lessons.content import Lesson, Part, PredictionText, Station
    from lessons.models import ComputedAnswer, PredictionCommit
    from lessons.progress import Progress

_FACT = re.compile(r"⟦(?P<name>[a-z0-9_]+)⟧")


# ---------------------------------------------------------------------------------------- predictions


@dataclass(frozen=True)
class Confidence:
    """One of the five keys."""

    value: int
    chosen: bool


@dataclass(frozen=True)
class PredictionCard:
    """A prediction for one reader: open, waiting, failed, revealed or explained."""

    lesson: Lesson
    key: str
    state: str
    ask: str
    setting: str
    unit: str
    form: Form
    seen_form: Form
    confidences: tuple[Confidence, ...]
    is_long: bool
    commit: PredictionCommit | None = None
    said: str = ""
    progress: Any = None
    result: dict[str, Any] = field(default_factory=dict)
    """Empty until revealed."""
    distance: predictions.Distance | None = None
    explanation: str = ""
    """Empty until the reader has said what they saw."""
    fresh: bool = False


def prediction_card(
    lesson: Lesson,
    text: PredictionText,
    commit: PredictionCommit | None,
    *,
    form: Form | None = None,
    seen_form: Form | None = None,
    fresh: bool = False,
) -> PredictionCard:
    """Return a prediction as its reader may see it."""
    question = predictions.QUESTIONS[text.key]
    form = form or PredictionForm(question)
    picked = str(form.data.get("confidence", "")) if form.is_bound else ""
    card = PredictionCard(
        lesson=lesson,
        key=text.key,
        state="open",
        ask=inline(text.ask),
        setting=text_of(text.setting),
        unit=question.unit,
        form=form,
        seen_form=seen_form or SeenForm(),
        confidences=tuple(Confidence(c, str(c) == picked) for c in predictions.CONFIDENCES),
        is_long=question.is_long,
        commit=commit,
        fresh=fresh,
    )
    if commit is None:
        return card
    answer = commit.answer
    shown = {**card.__dict__, "said": number_words(commit.value), "progress": answer.progress}
    if not answer.is_done:
        return PredictionCard(**{**shown, "state": "failed" if answer.is_failed else "waiting"})
    result = dict(answer.result or {})
    result["plots"] = _plots(f"prediction-{text.key}", result)
    shown |= {
        "state": "revealed",
        "result": result,
        "distance": predictions.distance(commit.value, result["answer"]),
    }
    if commit.seen_at is not None:
        shown |= {
            "state": "explained",
            "explanation": _filled(text_of(text.explanation), result["facts"]),
        }
    return PredictionCard(**shown)


def _filled(source: str, facts: dict[str, str]) -> str:
    return _FACT.sub(lambda match: html.escape(facts.get(match["name"], "…")), source)


def _plots(prefix: str, result: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**plot, "id": f"{prefix}-{i}"} for i, plot in enumerate(result.get("plots") or ())]


# -------------------------------------------------------------------------------------- figures, labs


@dataclass(frozen=True)
class FigureCard:
    """A figure of a station."""

    key: str
    title: str
    ledgers: tuple[figures.Ledger, ...] = ()
    reaches: tool_reach.Reaches | None = None
    result: dict[str, Any] = field(default_factory=dict)


def figure_card(key: str, answered: Callable[[str], ComputedAnswer]) -> FigureCard:
    """Return a figure; ``answered`` gives a computed answer by name."""
    figure = figures.FIGURES[key]
    if key == "tool-reach":
        return FigureCard(key, figure.title, reaches=tool_reach.reaches())
    if figure.compute is None:
        return FigureCard(key, figure.title, ledgers=figures.four_ledgers())
    answer = answered(f"figure:{key}")
    result = dict(answer.result or {})
    result["plots"] = _plots(f"figure-{key}", result)
    return FigureCard(key, figure.title, result=result)


# ------------------------------------------------------------------------------------------- stations


@dataclass(frozen=True)
class Slot:
    """A part of a station: prose, or a card."""

    kind: str
    html: str = ""
    card: Any = None


def slots(
    lesson: Lesson,
    station: Station,
    progress: Progress,
    answered: Callable[[str], ComputedAnswer],
    *,
    lines: Lines,
    replaced: dict[str, Any] | None = None,
    asked: Mapping[str, str] | None = None,
) -> list[Slot]:
    """Return a station's parts for one reader.

    ``replaced`` holds cards that a bound form stands in; ``asked`` is the address's query, which may set a demonstration.
    """
    replaced, asked = replaced or {}, asked or {}

    def slot(part: Part) -> Slot:
        if part.kind == "prose":
            return Slot("prose", html=part.value)
        if part.value in replaced:
            return Slot(part.kind, card=replaced[part.value])
        if part.kind == "check":
            question = station.checks[part.value]
            tries = progress.tries.get(part.value, [])
            why, problem = lines.whys.get(part.value), lines.problems.get(part.value)
            return Slot("check", card=check_card(lesson, question, tries, why=why, problem=problem))
        if part.kind == "predict":
            text = station.predictions[part.value]
            return Slot(
                "predict", card=prediction_card(lesson, text, progress.commits.get(part.value))
            )
        if part.kind == "figure":
            return Slot("figure", card=figure_card(part.value, answered))
        if part.kind == "demo":
            typed = typed_for(part.value, asked)
            return Slot("demo", card=demo_card(lesson, station, part.value, typed))
        return Slot("lab", card=catalogue.labs().get(part.value))

    return [slot(part) for part in station.parts]


@dataclass(frozen=True)
class Mark:
    """One mark of the ruler."""

    station: Station
    state: str
    is_now: bool

    @property
    def words(self) -> str:
        return {"done": "Read", "tried": "Begun", "ahead": "Not read"}[self.state]


def ruler(lesson: Lesson, progress: Progress, now: Station | None = None) -> list[Mark]:
    """Return the marks of a lesson's ruler."""
    return [Mark(s, progress.state_of(s), s is now) for s in lesson.stations]


@dataclass(frozen=True)
class Committed:
    """One row of a reader's predictions on the lesson's front page."""

    station: Station
    key: str
    ask: str
    said: str
    unit: str
    confidence: int
    computed: str
    """Empty while it is not computed."""
    distance: predictions.Distance | None


def committed(lesson: Lesson, progress: Progress) -> list[Committed]:
    """Return what the reader has predicted, in the order of the lesson."""
    rows = []
    for station in lesson.stations:
        for key, text in station.predictions.items():
            commit = progress.commits.get(key)
            if commit is None:
                continue
            result = commit.answer.result if commit.answer.is_done else None
            rows.append(
                Committed(
                    station, key, inline(text.ask), number_words(commit.value),
                    predictions.QUESTIONS[key].unit, commit.confidence,
                    result["shown"] if result else "",
                    predictions.distance(commit.value, result["answer"]) if result else None,
                )
            )  # fmt: skip
    return rows


def takeaway_html(station: Station) -> str:
    """Return a station's takeaway in one line."""
    return inline(station.takeaway)

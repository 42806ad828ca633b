"""Content and one's own rows to what a template shows. What is not revealed is left out here."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from labs import catalogue
from labs.charts.numbers import bound
from lessons import figures, tool_reach
from lessons.check_cards import check_card, inline
from lessons.demo_cards import demo_card, typed_for
from lessons.prediction_cards import plots, prediction_card
from lessons.run_cards import run_card

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lessons.check_lines import Lines
    from lessons.content import Lesson, Part, Station
    from lessons.guesses import Guess
    from lessons.models import ComputedAnswer, StepRun
    from lessons.progress import Progress

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
    result["method"] = bound(result.get("method") or "")
    result["plots"] = plots(f"figure-{key}", result)
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
    everybody: Mapping[int, Sequence[Guess]] = MappingProxyType({}),
    runs: Mapping[str, Sequence[StepRun]] = MappingProxyType({}),
    replaced: dict[str, Any] | None = None,
    asked: Mapping[str, str] | None = None,
) -> list[Slot]:
    """Return a station's parts for one reader.

    ``everybody`` holds what all people said, by the answer that they were asked for, ``replaced`` cards that a
    bound form stands in; ``asked`` is the address's query, which may set a demonstration.
    """
    replaced, asked = replaced or {}, asked or {}

    def slot(part: Part) -> Slot:
        if part.kind == "prose":
            return Slot("prose", html=part.value)
        if part.kind == "run":
            ran = runs.get(part.value, ())
            card = replaced.get(f"run:{part.value}") or run_card(
                lesson, station.runs[part.value], ran
            )
            return Slot("run", card=card)
        if part.value in replaced:
            return Slot(part.kind, card=replaced[part.value])
        if part.kind == "check":
            question = station.checks[part.value]
            tries = progress.tries.get(part.value, [])
            why, problem = lines.whys.get(part.value), lines.problems.get(part.value)
            hints = progress.hints.get(part.value, ())
            card = check_card(lesson, question, tries, why=why, problem=problem, hints=hints)
            return Slot("check", card=card)
        if part.kind == "predict":
            text = station.predictions[part.value]
            commit = progress.commits.get(part.value)
            cohort = everybody.get(commit.answer_id, ()) if commit else ()
            return Slot("predict", card=prediction_card(lesson, text, commit, cohort=cohort))
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


def takeaway_html(station: Station) -> str:
    """Return a station's takeaway in one line."""
    return inline(station.takeaway)

"""A step of a walkthrough for one reader: its console, what was run, and what follows from it. What is not run is left out."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.utils.safestring import SafeString, mark_safe

from labs import charts, incident
from labs.charts.numbers import bound
from lessons.check_cards import inline, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labs.specs import LabSpec
    from lessons.content import Lesson, RunText
    from lessons.models import StepRun
    from lessons.run_forms import RunForm
    from lessons.simulations import Progress

_FACT = re.compile(r"⟦(?P<name>[a-z0-9_]+)⟧")
_CODE = re.compile(r"`([^`\n]+)`")
_COLUMNS = re.compile(r"\S {2,}\S")
OPEN = 4
"""Exchanges that stand open; the earlier ones beside the step's own are folded."""


@dataclass(frozen=True)
class Exchange:
    """A line and its answer, as the console of the labs prints it, with the clock before and after."""

    key: str
    line: str
    state: str
    """done, refused, failed or waiting."""
    text: str = ""
    before: str = ""
    after: str = ""
    cost: str = ""
    """Empty if it was free."""
    figure: charts.Figure | None = None
    spoken: str = ""
    progress: Progress | None = None
    error: str = ""

    @property
    def is_table(self) -> bool:
        """Whether columns are aligned with spaces: such an answer must not wrap."""
        return _COLUMNS.search(self.text) is not None

    @property
    def shown(self) -> SafeString:
        """The text; what a refusal has in backticks as code."""
        return _marked(self.text) if self.state == "refused" else mark_safe(html.escape(self.text))  # noqa: S308


@dataclass(frozen=True)
class RunCard:
    """One step for one reader."""

    lesson: Lesson
    key: str
    number: int
    of: int
    title: str
    line: str
    """What stands in the field."""
    at: str
    cost: str
    ask: str
    setting: str
    expected: str
    exchanges: tuple[Exchange, ...]
    earlier: tuple[Exchange, ...]
    explanation: str
    """Empty until the step's own answer is there."""
    errors: Mapping[str, Sequence[SafeString]]
    guess: str
    """What stands in the field for what to expect."""
    problem: str = ""
    fresh: bool = False

    @property
    def polls(self) -> bool:
        """Whether the page looks again by itself: something is computed, and nothing that was typed would be lost."""
        waits = any(each.state == "waiting" for each in self.exchanges)
        return waits and not self.errors and not self.problem


def run_card(
    lesson: Lesson,
    text: RunText,
    rows: Sequence[StepRun],
    *,
    form: RunForm | None = None,
    problem: str = "",
    fresh: bool = False,
) -> RunCard:
    """Return a step as its reader may see it. ``rows`` are what they ran at it, ``form`` one that was refused."""
    walk = lesson.walkthrough
    step = None if walk is None else walk.step(text.key)
    if walk is None or step is None:
        raise KeyError(text.key)
    own = next((row for row in rows if row.line == step.line), None)
    done = own.answer.result if own is not None and own.answer.is_done else None
    exchanges = [_exchange(row, walk.spec) for row in rows]
    others = exchanges[1:] if own is not None and rows[0] is own else exchanges
    folded = others[:-OPEN] if len(others) > OPEN else []
    errors = (
        {} if form is None else {n: [_marked(str(m)) for m in e] for n, e in form.errors.items()}
    )
    typed = None if form is None else form.data
    return RunCard(
        lesson=lesson,
        key=step.key,
        number=step.number,
        of=len(walk.steps),
        title=step.title,
        line=typed.get("command", "") if typed is not None else "" if own is not None else step.line,
        at=incident.clock(step.at_s),
        cost=incident.clock(step.cost_s) if step.cost_s else "",
        ask=inline(text.ask) if text.ask and own is None else "",
        setting=text_of(text.setting),
        expected="" if own is None else own.expected,
        exchanges=tuple(each for each in exchanges if each not in folded),
        earlier=tuple(folded),
        explanation=_filled(text_of(text.explanation), done["facts"]) if done is not None else "",
        errors=errors,
        guess=typed.get("expected", "") if typed is not None else "",
        problem=problem,
        fresh=fresh,
    )  # fmt: skip


def _filled(source: str, facts: Mapping[str, str]) -> str:
    return bound(_FACT.sub(lambda match: html.escape(facts.get(match["name"], "…")), source))


def _marked(text: str) -> SafeString:
    return mark_safe(_CODE.sub(r"<code>\1</code>", html.escape(text)))  # noqa: S308  (escaped here)


def _exchange(row: StepRun, spec: LabSpec) -> Exchange:
    key, answer = f"{row.step}-{row.pk}", row.answer
    if answer.is_failed:
        return Exchange(key, row.line, "failed", error=answer.error)
    if not answer.is_done:
        return Exchange(key, row.line, "waiting", progress=answer.progress)
    result: dict[str, Any] = answer.result or {}
    outcome = result["outcome"]
    drawn = outcome["panel"]
    line = spec.timeline
    figure = drawn and charts.panel_figure(
        drawn,
        from_s=line.healthy_from_s,
        to_s=max(60, outcome["at_s"]),
        healthy_to_s=line.fault_at_s,
        changes_s=result["changes_s"],
    )
    return Exchange(
        key=key,
        line=row.line,
        state="refused" if outcome["kind"] == "refused" else "done",
        text=outcome["text"],
        before=incident.clock(result["before_s"]),
        after=incident.clock(outcome["at_s"]),
        cost=incident.clock(outcome["cost_s"]) if outcome["cost_s"] else "",
        figure=figure,
        spoken=f"{drawn['title']}: the numbers are below." if drawn else "",
    )

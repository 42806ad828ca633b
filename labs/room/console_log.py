"""What stands in the console: commands with their answers, the refused line that stays, the one that failed."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from labs import charts, incident
from labs.models import Action
from labs.room.log import ICONS

if TYPE_CHECKING:
    from labs.room.log import Log
    from labs.specs import LabSpec

Status = Action.Status

SHOWN_EXCHANGES = 5
"""Exchanges that stand open in the console; the earlier ones are folded."""


@dataclass(frozen=True)
class Exchange:
    """A command and its answer, as the console shows it."""

    seq: int
    line: str
    status: str
    text: str
    icon: str
    number: int
    at: str
    cost: str
    panel: charts.Figure | None = None
    """What a dashboard drew; its numbers stand in ``text``."""
    spoken: str = ""

    @property
    def figure_id(self) -> str:
        return f"f-{self.seq}"

    @property
    def is_table(self) -> bool:
        """Whether columns are aligned with spaces: such an answer must not wrap."""
        return re.search(r"\S {2,}\S", self.text) is not None

    @property
    def html(self) -> SafeString:
        """The text; what a refusal has in backticks as code."""
        html: str = escape(self.text)
        if self.status == Status.REFUSED:
            html = re.sub(r"`([^`\n]+)`", r"<code>\1</code>", html)
        return mark_safe(html)  # noqa: S308  (escaped above)


@dataclass(frozen=True)
class ConsoleLog:
    log: Log
    spec: LabSpec

    @property
    def earlier(self) -> list[Exchange]:
        return self._exchanges[:-SHOWN_EXCHANGES]

    @property
    def latest(self) -> list[Exchange]:
        return self._exchanges[-SHOWN_EXCHANGES:]

    @cached_property
    def _exchanges(self) -> list[Exchange]:
        return [self._shown(each) for each in self.log.commands if not each.is_under_way]

    def _shown(self, action: Action) -> Exchange:
        found, drawn = _exchange(action), (action.outcome or {}).get("panel")
        if drawn is None:
            return found
        line = self.spec.timeline
        figure = charts.panel_figure(
            drawn,
            from_s=line.healthy_from_s,
            to_s=max(60, action.at_s or 0),
            healthy_to_s=line.fault_at_s,
            changes_s=[
                (each.at_s or 0) - each.cost_s for each in self.log.changes if each.seq < action.seq
            ],
        )
        return replace(found, panel=figure, spoken=f"{drawn['title']}: the numbers are below.")

    @property
    def refused_line(self) -> str:
        """The last command's text if it was refused: it stays in the field."""
        last = self._last
        if last is None or last.status not in {Status.REFUSED, Status.CANCELLED}:
            return ""
        return str(last.payload.get("line", ""))

    @property
    def failed_line(self) -> str:
        """The last command's text if its worker gave up on it."""
        last = self._last
        if last is None or last.status != Status.FAILED:
            return ""
        return str(last.payload.get("line", ""))

    @property
    def told(self) -> str:
        """What just finished, in one sentence for a screen reader."""
        last = self._last
        if last is None or last is not self.log.actions[-1]:
            return ""
        shown = _exchange(last)
        match last.status:
            case Status.DONE:
                kind = str((last.outcome or {}).get("kind", "answer")).capitalize()
                return f"{kind} {shown.number} is done at {shown.at}, cost {shown.cost}."
            case Status.REFUSED:
                return f"Refused, nothing charged: {shown.text.replace('`', '')}"
            case Status.CANCELLED:
                return "Cancelled, nothing charged."
            case Status.FAILED:
                return "The worker stopped; nothing was charged."
            case _:
                return ""

    @property
    def _last(self) -> Action | None:
        return self.log.commands[-1] if self.log.commands else None


def _exchange(action: Action) -> Exchange:
    outcome = action.outcome or {}
    kind = str(outcome.get("kind", "answer"))
    return Exchange(
        seq=action.seq,
        line=str(action.payload.get("line", "")),
        status=action.status,
        text=str(outcome.get("text", "")),
        icon=ICONS.get(kind, ""),
        number=int(outcome.get("number", 0)),
        at=incident.clock(action.at_s or 0),
        cost=incident.clock(action.cost_s) if action.cost_s else "nothing",
    )

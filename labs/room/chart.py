"""The chart of the room: what the alarm watches, until now, the lane of one's actions above it, and both in words and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING

from labs import charts, incident
from labs.charts import number
from labs.lease_words import span

if TYPE_CHECKING:
    from labs.models import Attempt
    from labs.room.gauges import Gauges
    from labs.room.log import Log
    from labs.specs import LabSpec


@dataclass(frozen=True)
class Chart:
    attempt: Attempt
    spec: LabSpec
    log: Log
    gauges: Gauges

    @property
    def history(self) -> str:
        """How long before the page the chart begins, in words."""
        return span(-self.spec.timeline.healthy_from_s)

    @cached_property
    def lane(self) -> charts.Lane:
        line = self.spec.timeline
        done = [
            charts.Done(
                str((each.outcome or {})["kind"]),
                int((each.outcome or {}).get("number", 0)),
                each.at_s or 0,
                each.cost_s,
            )
            for each in self.log.answered
            if each.cost_s
        ]
        return charts.lane(
            done, from_s=line.healthy_from_s, to_s=self._until_s, healthy_to_s=line.fault_at_s
        )

    @cached_property
    def figure(self) -> charts.Figure:
        line = self.spec.timeline
        return charts.alarm_figure(
            self._points,
            from_s=line.healthy_from_s,
            to_s=self._until_s,
            healthy_to_s=line.fault_at_s,
            target=self.spec.alarm.target,
            unit=self.spec.alarm_unit,
            log_scale=self.log_scale,
            changes_s=[(each.at_s or 0) - each.cost_s for each in self.log.changes],
        )

    @cached_property
    def when_healthy(self) -> str:
        line = self.spec.timeline
        values = [v for t, v in self._points if t <= line.fault_at_s and v is not None]
        return number(median(values)) if values else "none"

    @property
    def at_the_page(self) -> str:
        return number(next((v for at_s, v in self._points if at_s == 0), None))

    @property
    def log_scale(self) -> bool:
        """Whether the signal is one that people compare by ratio."""
        return self.spec.signals[self.spec.alarm.signal].transform in {"ln", "ln1p"}

    @property
    def scale(self) -> str:
        return "log scale" if self.log_scale else "linear scale"

    @property
    def spoken(self) -> str:
        peak = max((v for _, v in self._points if v is not None), default=None)
        unit = f" {self.spec.alarm_unit}" if self.spec.alarm_unit else ""
        return (
            f"{self.spec.alarm_title}, {self.scale}. {self.when_healthy}{unit} in the healthy window, "
            f"{self.at_the_page}{unit} at the page, {self.gauges.alarm}{unit} now, "
            f"{number(peak)}{unit} at most. Target {self.gauges.target}{unit}."
        )

    @property
    def table(self) -> list[tuple[str, str]]:
        """The chart's numbers, every five minutes and now."""
        now = self._points[-1][0] if self._points else 0
        return [(incident.clock(t), number(v)) for t, v in self._points if t % 300 == 0 or t == now]

    @cached_property
    def _points(self) -> list[tuple[int, float | None]]:
        return [(int(t), v) for t, v in self.attempt.panel.get("alarm", [])]

    @property
    def _until_s(self) -> int:
        return charts.shown_until_s(self.attempt.clock_s, self.spec.timeline.budget_s)

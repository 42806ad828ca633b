"""The gauges in the head of the room: the incident clock, the alarm's p95 TTFT, the longest gap, users hurt."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from labs import incident
from labs.charts import number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labs.models import Attempt
    from labs.room.log import Log
    from labs.specs import LabSpec


def gap_limit_s(spec: LabSpec) -> float:
    return min((slo.limit_s for slo in spec.slos.values() if slo.measure == "gap"), default=1.0)


def promises_held(spec: LabSpec, signals: Mapping[str, float | None]) -> bool:
    """Return whether a verification found both the alarm's p95 TTFT and the longest gap within their targets."""
    ttft, gap = signals.get("ttft_p95_s"), signals.get("gap_p95_s")
    return (
        ttft is not None
        and gap is not None
        and ttft <= spec.alarm.ttft_p95_above_s
        and gap <= gap_limit_s(spec)
    )


@dataclass(frozen=True)
class Gauges:
    """What the alarm's own panel shows free of charge, and the longest gap once it was measured."""

    attempt: Attempt
    spec: LabSpec
    log: Log

    @property
    def clock(self) -> str:
        return incident.clock(self.attempt.clock_s)

    @property
    def budget(self) -> str:
        return incident.clock(self.spec.timeline.budget_s)

    @property
    def time_is_up(self) -> bool:
        return self.attempt.clock_s >= self.spec.timeline.budget_s

    @property
    def target(self) -> str:
        return f"{self.spec.alarm.ttft_p95_above_s:g}"

    @property
    def ttft(self) -> str:
        return number(self._shown.get("ttft_p95_s"))

    @property
    def ttft_held(self) -> bool:
        value = self._shown.get("ttft_p95_s")
        return value is not None and value <= self.spec.alarm.ttft_p95_above_s

    @property
    def users_hurt(self) -> str:
        return number(float(self._shown.get("users_hurt", 0)), 0)

    @property
    def hurt_per_minute(self) -> str:
        return number(float(self._shown.get("hurt_per_minute", 0)), 0)

    @cached_property
    def gap(self) -> dict[str, Any] | None:
        """Return the longest gap if it was measured, as it was last."""
        limit_s = gap_limit_s(self.spec)
        for each in reversed(self.log.answered):
            value = (each.outcome or {}).get("signals", {}).get("gap_p95_s")
            if value is not None:
                return {
                    "value": number(value),
                    "held": value <= limit_s,
                    "at": incident.clock(each.at_s or 0),
                    "limit": f"{limit_s:g}",
                }
        return None

    @cached_property
    def _shown(self) -> dict[str, Any]:
        gauges: dict[str, Any] = self.attempt.panel.get("gauges", {})
        return gauges

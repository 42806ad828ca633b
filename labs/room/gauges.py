"""The gauges in the head of the room: the incident clock, what the alarm reads, the promises, users hurt."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.utils import timezone

from labs import incident
from labs.charts import number

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from labs.models import Attempt
    from labs.room.log import Log
    from labs.specs import LabSpec

PROMISE = "promise:"


def promises_held(spec: LabSpec, signals: Mapping[str, Any]) -> bool:
    """Return whether a verification found the alarm silent and every promise kept."""
    if not spec.alarm.held(signals.get(spec.alarm.signal)):
        return False
    return all(held for _, _, held in promises_of(spec, signals))


def promises_of(spec: LabSpec, signals: Mapping[str, Any]) -> list[tuple[str, float | None, bool]]:
    """Return (title, share of users to whom it was kept, whether that reaches the target) for each promise."""
    found: list[tuple[str, float | None, bool]] = []
    for name, slo in spec.slos.items():
        share = signals.get(f"{PROMISE}{name}")
        found.append((slo.title, share, share is not None and share >= slo.target))
    return found


@dataclass(frozen=True)
class Gauges:
    """What the alarm's own panel shows free of charge, and how the promises fared when they were last verified."""

    attempt: Attempt
    spec: LabSpec
    log: Log
    runs_since: datetime | None = None
    """When a world of real engines came to its page, while it goes on by itself; None where time stands still."""

    @property
    def now_s(self) -> int:
        """The incident second: the last action's, or the wall's where that goes on."""
        if self.runs_since is None:
            return self.attempt.clock_s
        passed_s = int((timezone.now() - self.runs_since).total_seconds())
        return min(self.spec.timeline.budget_s, max(self.attempt.clock_s, passed_s))

    @property
    def clock(self) -> str:
        return incident.clock(self.now_s)

    @property
    def read_at(self) -> str:
        """The clock when the gauges beside it were read."""
        return incident.clock(self.attempt.clock_s)

    @property
    def budget(self) -> str:
        return incident.clock(self.spec.timeline.budget_s)

    @property
    def time_is_up(self) -> bool:
        return self.now_s >= self.spec.timeline.budget_s

    @property
    def target(self) -> str:
        return f"{self.spec.alarm.target:g}"

    @property
    def alarm(self) -> str:
        return number(self._shown.get("alarm"))

    @property
    def alarm_held(self) -> bool:
        return self.spec.alarm.held(self._shown.get("alarm"))

    @property
    def users_hurt(self) -> str:
        return number(float(self._shown.get("users_hurt", 0)), 0)

    @property
    def hurt_per_minute(self) -> str:
        return number(float(self._shown.get("hurt_per_minute", 0)), 0)

    @cached_property
    def promises(self) -> dict[str, Any] | None:
        """Return how many promises the last verification found kept, and those that were not."""
        if not self.log.verifications:
            return None
        last = self.log.verifications[-1]
        found = promises_of(self.spec, (last.outcome or {}).get("signals", {}))
        kept = [title for title, _, held in found if held]
        return {
            "kept": len(kept),
            "of": len(found),
            "held": len(kept) == len(found),
            "missed": "; ".join(title for title, _, held in found if not held),
            "at": incident.clock(last.at_s or 0),
        }

    @cached_property
    def _shown(self) -> dict[str, Any]:
        gauges: dict[str, Any] = self.attempt.panel.get("gauges", {})
        return gauges

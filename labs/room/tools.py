"""What can be done and what it costs: instruments, waits, verification, closing; the price of a typed line."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from labs import console, incident
from labs.lease_words import span
from labs.room.changes import InForce, in_force, offered

if TYPE_CHECKING:
    from labs.models import Attempt
    from labs.room.log import Log
    from labs.specs import LabSpec

WAITS = ("1m", "5m", "10m")


@dataclass(frozen=True)
class Tool:
    """A button that is the same as typing its command."""

    key: str
    title: str
    note: str
    line: str
    cost: str
    numbers: str = ""
    slower: int = 0


@dataclass(frozen=True)
class Tools:
    attempt: Attempt
    spec: LabSpec
    log: Log

    @cached_property
    def instruments(self) -> list[Tool]:
        """Return what the lab's file declares."""
        return self._looks(panels=False)

    @cached_property
    def panels(self) -> list[Tool]:
        """Return the panels of the dashboard."""
        return self._looks(panels=True)

    def _looks(self, *, panels: bool) -> list[Tool]:
        taken: dict[str, list[str]] = {}
        for each in self.log.readings:
            outcome = each.outcome or {}
            taken.setdefault(outcome["instrument"], []).append(str(outcome.get("number", "")))
        return [
            Tool(
                key,
                each.title,
                each.question,
                each.command,
                incident.clock(each.cost_s),
                ", ".join(taken.get(key, [])),
                round(each.slowdown * 100),
            )
            for key, each in self.spec.instruments.items()
            if each.is_panel is panels
        ]

    @property
    def cheapest(self) -> str:
        return incident.clock(min(each.cost_s for each in self.spec.instruments.values()))

    @cached_property
    def in_force(self) -> list[InForce]:
        return in_force(self.spec, self.log)

    @cached_property
    def changes(self) -> list[Tool]:
        """Return the changes that can be made: those in force are listed apart."""
        return [
            Tool(key, each.title, each.note, each.command, incident.clock(each.cost_s))
            for key, each in offered(self.spec, self.log).items()
        ]

    @property
    def restart_cost(self) -> str:
        return incident.clock(self.spec.fleet.restart_s)

    @property
    def waits(self) -> list[Tool]:
        left_s = self.spec.timeline.budget_s - self.attempt.clock_s
        found: list[Tool] = []
        for words in WAITS:
            parsed = console.parse(f"wait {words}")
            if isinstance(parsed, console.Command):
                seconds = int(parsed.options["seconds"])
                if seconds <= left_s:
                    found.append(Tool(words, words, "", f"wait {words}", incident.clock(seconds)))
        return found

    @property
    def verify_cost(self) -> str:
        return incident.clock(self.spec.windows.verify_s)

    @property
    def judged_until(self) -> str:
        """How long the world runs on after closing, in words."""
        return span(self.spec.mitigation.window_s)

    @property
    def verify_window(self) -> str:
        return span(self.spec.windows.verify_s)


def price(spec: LabSpec, line: str) -> str:
    """Return what a typed line would cost as ``m:ss``; empty for what the console does not understand."""
    parsed = console.parse(line)
    if isinstance(parsed, console.Refusal):
        return ""
    try:
        cost_s = incident.price(spec, parsed)
    except (ValueError, KeyError):
        return ""
    return incident.clock(cost_s) if cost_s else "free"

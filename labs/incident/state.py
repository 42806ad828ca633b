"""The state of an incident, what a command gives, and how its clock is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labs import worlds
from labs.instruments.signals import View, Windows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from labs.incident.changes.kinds import Kind
    from labs.specs import LabSpec
    from labs.worlds import Fleet, World

type Operation = dict[str, Any]
"""What was done to a world, as a log keeps it: its verb, and what the verb needs."""
type Progress = Callable[[float, str], None]
"""Told the share done, 0 to 1, and in words what incident time is being simulated; may raise to stop."""

PIECES_A_WINDOW = 10


@dataclass(frozen=True)
class Change:
    """A change in force or taken back: its number in the log, when it began, and its operation."""

    number: int
    at_s: int
    operation: Operation
    taken_back: bool = False


@dataclass
class Incident:
    """The state of one attempt's world. Picklable."""

    spec: LabSpec
    world: World
    fleet: Fleet
    clock_s: int = 0
    changes: list[Change] = field(default_factory=list)
    kinds: Mapping[str, Kind] | None = None
    """What each verb does to this world, where its engines are real; else ``changes.KINDS``."""

    @property
    def view(self) -> View:
        step_s = worlds.full_pool_step_s(self.fleet)
        return View(
            self.world.cluster,
            self.fleet,
            float(self.clock_s),
            step_s,
            float(self.spec.timeline.healthy_from_s),
            windows=Windows(*self.spec.windows.looked_back),
            real=self.world.real,
        )


@dataclass(frozen=True)
class Outcome:
    """What a command gave. ``at_s`` is the clock when it was done, ``cost_s`` what was charged for it."""

    kind: str
    """reading, wait, change, verification, refused or answer (free)."""
    text: str
    at_s: int
    cost_s: int = 0
    instrument: str = ""
    signals: dict[str, float | str | None] = field(default_factory=dict)
    operation: Operation | None = None
    """What was done to the world, from ``at_s - cost_s`` on."""
    panel: dict[str, Any] | None = None
    """What a dashboard drew, for the page to draw again."""


def clock(seconds: float) -> str:
    """Return incident time as ``m:ss``, with a true minus before the page."""
    whole = round(abs(seconds))
    return f"{'−' if seconds < 0 else ''}{whole // 60}:{whole % 60:02d}"


def advance(incident: Incident, to_s: int, progress: Progress | None = None) -> None:
    """Let incident time pass until ``to_s``, untouched.

    The world advances in pieces, telling how far it is; pieces give the same bytes as the whole.
    """
    from_s = at_s = float(incident.clock_s)
    piece_s = incident.spec.windows.panel_s / PIECES_A_WINDOW
    doing = "Simulating" if incident.spec.live is None else "At"
    while at_s < to_s:
        at_s = min(float(to_s), at_s + piece_s)
        incident.world.cluster.advance(at_s)
        if progress is not None:
            progress((at_s - from_s) / (to_s - from_s), f"{doing} {clock(at_s)} of {clock(to_s)}")
    incident.clock_s = max(incident.clock_s, to_s)

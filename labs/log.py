"""An attempt's log as marking reads it, and what follows from it alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labs.atoms import Timed
from labs.marking.economy import ReadingTaken

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labs.marking.table import Table
    from labs.specs import LabSpec


@dataclass(frozen=True)
class Entry:
    """One entry of a log, as marking reads it. Refused, cancelled and failed actions are not in it."""

    kind: str
    payload: dict[str, Any]
    outcome: dict[str, Any] = field(default_factory=dict)
    at_s: int = 0
    cost_s: int = 0

    @property
    def number(self) -> int:
        """The number that the learner sees; 0 for what is not numbered."""
        return int(self.outcome.get("number", 0))


@dataclass(frozen=True)
class Step:
    """One step of a route, as the debrief shows it."""

    kind: str
    at_s: int
    cost_s: int
    title: str


@dataclass(frozen=True)
class Route:
    """A play carried out: what it did to the world, what it read, and its steps."""

    log: tuple[Entry, ...]
    operations: tuple[Timed, ...]
    steps: tuple[Step, ...]
    signals: Mapping[str, int] = field(default_factory=dict)
    """Each signal of the diagnostic phase, and when it was read last."""

    def known(self, table: Table) -> dict[str, int]:
        """Return signal -> grid time of the table, as marking wants the reference's readings."""
        grid = {
            name: table.grid_time(at_s) for name, at_s in self.signals.items() if table.has(name)
        }
        return {name: at_s for name, at_s in grid.items() if at_s is not None}


def operations_of(log: Sequence[Entry]) -> tuple[Timed, ...]:
    """Return what a log did to the world: changes, and the slowdowns of instruments that perturb."""
    return tuple(
        Timed(entry.at_s - entry.cost_s, entry.number, entry.outcome["operation"])
        for entry in log
        if entry.outcome.get("operation")
    )


def diagnostic_readings(spec: LabSpec, log: Sequence[Entry]) -> list[ReadingTaken]:
    """Return the readings of the diagnostic phase: until the diagnosis or the first change, whichever is earlier."""
    taken: list[ReadingTaken] = []
    waited_s, looked_at_alarm = 0, False
    for entry in log:
        kind = entry.outcome.get("kind")
        if entry.kind == "diagnose" or kind == "change":
            break
        if kind == "wait":
            waited_s += entry.cost_s
        if kind != "reading":
            continue
        instrument = spec.instruments[entry.outcome["instrument"]]
        orientation = instrument.is_alarm and not looked_at_alarm
        looked_at_alarm = looked_at_alarm or instrument.is_alarm
        taken.append(
            ReadingTaken(
                number=entry.number,
                instrument=entry.outcome["instrument"],
                values=entry.outcome.get("signals", {}),
                at_s=entry.at_s,
                cost_s=entry.cost_s,
                disturbance_s=instrument.disturbance_s,
                waited_s=waited_s,
                orientation=orientation,
            )
        )
        waited_s = 0
    return taken


def spent_s(log: Sequence[Entry]) -> float:
    """Return the seconds that readings and waits charged until the diagnosis or the first change.

    A verification is neither: it closes an attempt, and its minutes bought no knowledge.
    """
    spent = 0
    for entry in log:
        if entry.kind == "diagnose" or entry.outcome.get("kind") == "change":
            break
        if entry.outcome.get("kind") in {"reading", "wait"}:
            spent += entry.cost_s
    return float(spent)

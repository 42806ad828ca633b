"""The notebook: what was read, each signal beside what it is when all is well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labs import incident
from labs.charts import number
from labs.room.healthy import healthy_medians
from labs.room.log import ICONS
from labs.specs import unit_word

if TYPE_CHECKING:
    from labs.room.log import Log
    from labs.specs import LabSpec, SignalSpec


@dataclass(frozen=True)
class Measure:
    """One signal of a reading, beside what it is when all is well."""

    title: str
    value: str
    unit: str
    healthy: str


@dataclass(frozen=True)
class Note:
    """One reading in the notebook."""

    number: int
    icon: str
    at: str
    title: str
    measures: tuple[Measure, ...]


def notes_of(spec: LabSpec, log: Log) -> list[Note]:
    """Return what was read, the newest first."""
    healthy = healthy_medians(spec.slug)
    notes = [
        _note(spec, each.outcome or {}, each.at_s or 0, healthy)
        for each in log.answered
        if (each.outcome or {}).get("kind") in {"reading", "verification"}
    ]
    return notes[::-1]


def _note(spec: LabSpec, outcome: dict[str, Any], at_s: int, healthy: dict[str, float]) -> Note:
    verified = outcome["kind"] == "verification"
    return Note(
        int(outcome.get("number", 0)),
        ICONS[outcome["kind"]],
        incident.clock(at_s),
        "Verification" if verified else spec.instruments[outcome["instrument"]].title,
        tuple(
            _measure(spec.signals[name], value, healthy.get(name))
            for name, value in outcome.get("signals", {}).items()
            if name in spec.signals
        ),
    )


def _measure(signal: SignalSpec, value: float | None, healthy: float | None) -> Measure:
    if value is None:
        return Measure(signal.title, "nothing to measure", "", "")
    return Measure(
        signal.title,
        number(value, signal.healthy_decimals),
        unit_of(signal, value),
        "" if healthy is None else number(healthy, signal.healthy_decimals),
    )


def unit_of(signal: SignalSpec, value: float | None) -> str:
    """Return the unit that is written behind a value; a share and a missing value have none."""
    return "" if value is None else unit_word(signal.unit)

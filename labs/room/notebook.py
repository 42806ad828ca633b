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
    healthy = healthy_medians(spec.key)
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
            measure
            for name, value in outcome.get("signals", {}).items()
            if (measure := _shown(spec, name, value, healthy.get(name))) is not None
        ),
    )


def _shown(
    spec: LabSpec, name: str, value: float | str | None, healthy: float | None
) -> Measure | None:
    promise = spec.promise(name)
    if promise is not None and not isinstance(value, str):
        kept = "nobody to ask" if value is None else f"kept to {100 * value:.1f} %"
        return Measure(promise.title, kept, "", "")
    signal = spec.signals.get(name)
    return None if signal is None else _measure(signal, value, healthy)


def _measure(signal: SignalSpec, value: float | str | None, healthy: float | None) -> Measure:
    if value is None:
        return Measure(signal.title, "nothing to measure", "", "")
    return Measure(
        signal.title,
        number(value, signal.healthy_decimals),
        unit_of(signal, value),
        "" if healthy is None else number(healthy, signal.healthy_decimals),
    )


def unit_of(signal: SignalSpec, value: float | str | None) -> str:
    """Return the unit that is written behind a value; a share and a missing value have none."""
    return "" if value is None else unit_word(signal.unit)

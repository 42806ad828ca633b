"""The diagnosis: which of one's own readings can be cited, and what was committed, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labs import incident
from labs.charts import number
from labs.models import Action
from labs.room.notebook import unit_of

if TYPE_CHECKING:
    from labs.room.log import Log
    from labs.specs import LabSpec


@dataclass(frozen=True)
class Citable:
    """One signal of one own reading of the diagnostic phase."""

    reading: int
    signal: str
    title: str
    value: str
    unit: str
    at: str

    @property
    def field(self) -> str:
        return f"cite-{self.reading}-{self.signal}"


def citable_of(spec: LabSpec, log: Log) -> list[Citable]:
    """Return signals of own readings until the first diagnosis or change: the diagnostic phase, as marking has it."""
    found: list[Citable] = []
    for each in log.actions:
        outcome = each.outcome or {}
        if each.status != Action.Status.DONE:
            continue
        if each.kind == Action.Kind.DIAGNOSE or outcome.get("kind") == "change":
            break
        if outcome.get("kind") != "reading":
            continue
        for name, value in outcome.get("signals", {}).items():
            signal = spec.signals.get(name)
            if signal is None:
                continue
            found.append(
                Citable(
                    int(outcome.get("number", 0)),
                    name,
                    signal.title,
                    number(value, signal.healthy_decimals),
                    unit_of(signal, value),
                    incident.clock(each.at_s or 0),
                )
            )
    return found


def diagnosis_of(spec: LabSpec, log: Log) -> dict[str, Any] | None:
    """Return the diagnosis that counts, in words."""
    if not log.diagnoses:
        return None
    last = log.diagnoses[-1]
    said = last.payload
    mechanism = spec.mechanisms.get(said.get("mechanism") or "")
    return {
        "nothing": said.get("scope") == "nothing",
        "layer": said.get("layer"),
        "components": [spec.nodes[key].title for key in said.get("components", [])],
        "mechanism": mechanism.title if mechanism else "",
        "parameter": said.get("parameter"),
        "cited": len(said.get("citations", [])),
        "confidence": said.get("confidence"),
        "at": incident.clock(last.at_s or 0),
        "count": len(log.diagnoses),
    }

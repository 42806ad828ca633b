"""What the text of a rubric may name of an attempt's own world: ``{{ hypothesis }}``. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labs import worlds
from labs.charts import number
from labs.incident import clock
from labs.specs import unit_word

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labs.specs import LabSpec

_NAMES = (
    "hypothesis",
    "mechanism",
    "components",
    "layer",
    "fault_at",
    "alarm",
    "target",
    "untouched",
    "seed",
)
_UNKNOWN = "(not known)"


def names_of(spec: LabSpec) -> tuple[str, ...]:
    """Return the parameters that a lab's rubric may name."""
    asks = any(each.answer.parameter for each in spec.hypotheses.values())
    return (*_NAMES, "parameter") if asks else _NAMES


def values_of(spec: LabSpec, seed: int, mark: Mapping[str, Any] | None) -> dict[str, str]:
    """Return each parameter's value for one attempt, from its seed and what its mark kept of the world."""
    known: Mapping[str, Any] = (mark or {}).get("debrief", {})
    key = str(known.get("hypothesis") or worlds.hypothesis_of(spec, seed))
    hypothesis = spec.hypotheses.get(key)
    if hypothesis is None:
        return dict.fromkeys(names_of(spec), _UNKNOWN)
    answer = hypothesis.answer
    best = max(answer.mechanisms, key=lambda each: each.credit, default=None)
    named = [spec.nodes[name].title for name in (answer.components or ((),))[0]]
    values = {
        "hypothesis": hypothesis.title,
        "mechanism": spec.mechanisms[best.mechanism].title if best else _UNKNOWN,
        "components": ", ".join(named) or "none",
        "layer": answer.layer,
        "fault_at": clock(spec.timeline.fault_at_s),
        "alarm": spec.alarm_title,
        "target": f"{spec.alarm.target:g} {spec.alarm_unit}".rstrip(),
        "untouched": _shown(known.get("prediction", {}).get("truth"), spec.alarm_unit),
        "seed": str(seed),
    }
    if "parameter" in names_of(spec):
        signal = spec.signals.get(answer.parameter or "")
        unit = unit_word(signal.unit) if signal else ""
        values["parameter"] = _shown(known.get("parameter"), unit)
    return values


def _shown(value: object, unit: str) -> str:
    if not isinstance(value, int | float):
        return _UNKNOWN
    return f"{number(value)} {unit}".rstrip()

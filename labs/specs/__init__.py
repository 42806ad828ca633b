"""What a lab folder says, checked: ``lab.toml`` becomes a :class:`LabSpec` or a :class:`SpecError`.

Every quantity carries its unit in its name. Where a world's parameter may be a range ``[low, high]``, each
seed draws its own value, the same one in every hypothesis, so that no constant gives a world away.
"""

from labs.specs.base import LAYERS, Bound, Layer, Range, SpecError, unit_word
from labs.specs.lab import (
    LIVE,
    Alarm,
    Answer,
    ChangeSpec,
    Hypothesis,
    InstrumentSpec,
    LabSpec,
    SignalSpec,
    load_live,
    load_spec,
)
from labs.specs.live import Live
from labs.specs.world import Fleet, MitigationSpec, Slo, Timeline, Traffic, World

__all__ = [
    "LAYERS",
    "LIVE",
    "Alarm",
    "Answer",
    "Bound",
    "ChangeSpec",
    "Fleet",
    "Hypothesis",
    "InstrumentSpec",
    "LabSpec",
    "Layer",
    "Live",
    "MitigationSpec",
    "Range",
    "SignalSpec",
    "Slo",
    "SpecError",
    "Timeline",
    "Traffic",
    "World",
    "load_live",
    "load_spec",
    "unit_word",
]

"""Every signal by name: what tables, readings and predicates are computed from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.instruments.front_signals import FRONT_SIGNALS
from labs.instruments.hardware_signals import HARDWARE_SIGNALS
from labs.instruments.inside_signals import INSIDE_SIGNALS
from labs.instruments.memory_signals import MEMORY_SIGNALS
from labs.instruments.replica_signals import REPLICA_SIGNALS
from labs.instruments.signals import SIGNALS as SERVING_SIGNALS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from labs.instruments.signals import View

type Value = float | str | None
"""A number in the signal's unit, a category, or None where the window holds nothing to measure."""

SIGNALS: dict[str, Callable[[View], Value]] = {
    **SERVING_SIGNALS,
    **HARDWARE_SIGNALS,
    **FRONT_SIGNALS,
    **REPLICA_SIGNALS,
    **INSIDE_SIGNALS,
    **MEMORY_SIGNALS,
}


def signal_values(view: View, names: Iterable[str]) -> dict[str, Value]:
    """Return signals by name. Raises KeyError for a name that is no signal."""
    return {name: SIGNALS[name](view) for name in names}

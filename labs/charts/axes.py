"""What figures over incident time share: the axis of minutes, the log axis, and the lines and window across them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

type Points = Sequence[Sequence[float | None]]
"""``[t_s, value | None]``, in order of time."""
type Figure = dict[str, Any]


def known(points: Points) -> list[tuple[float, float]]:
    return [(float(at_s or 0), float(value)) for at_s, value in points if value is not None]


def rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.3g}")


def decades(values: Sequence[float], target_s: float) -> tuple[int, int]:
    """Return the decades that hold every value and the target, as powers of ten."""
    positive = [value for value in (*values, target_s) if value > 0]
    low, high = math.log10(min(positive)), math.log10(max(positive))
    return math.floor(low), max(math.ceil(high), math.floor(low) + 2)


def log_axis(low: int, high: int) -> dict[str, Any]:
    powers = range(low, high + 1)
    return {
        "type": "log",
        "range": [low, high],
        "tickvals": [10.0**power for power in powers],
        "ticktext": [f"{10.0**power:,.{max(0, -power)}f}" for power in powers],
    }


def value_axis(values: Sequence[float], target_value: float, *, log_scale: bool) -> dict[str, Any]:
    """Return the axis of a signal: whole decades, or from 0 to a tenth above the largest."""
    if log_scale and target_value > 0:
        return log_axis(*decades(values, target_value))
    top = max([*values, target_value, 1e-9]) * 1.1
    bottom = min([0.0, *values]) * 1.1
    return {"range": [bottom, top], "nticks": 5}


def minutes(from_s: int, to_s: int) -> dict[str, Any]:
    """Return the axis of incident minutes with a tick every five or ten, the page named at 0."""
    step = 5 if to_s - from_s <= 45 * 60 else 10
    first, last = math.ceil(from_s / 60 / step) * step, math.floor(to_s / 60 / step) * step
    ticks = list(range(first, last + 1, step))
    return {
        "range": [from_s / 60, to_s / 60],
        "tickvals": ticks,
        "ticktext": ["page" if tick == 0 else f"{tick}".replace("-", "−") for tick in ticks],
        "title": {"text": "incident minutes"},
    }


def window(from_s: int, to_s: int) -> dict[str, Any]:
    return {
        "type": "rect",
        "xref": "x",
        "yref": "paper",
        "x0": from_s / 60,
        "x1": to_s / 60,
        "y0": 0,
        "y1": 1,
        "fillcolor": "--healthy",
        "line": {"width": 0},
        "layer": "below",
    }


def line_at(at_s: int, colour: str, width: float) -> dict[str, Any]:
    return {
        "type": "line",
        "xref": "x",
        "yref": "paper",
        "x0": round(at_s / 60, 2),
        "x1": round(at_s / 60, 2),
        "y0": 0,
        "y1": 1,
        "line": {"color": colour, "width": width},
    }


def target(target_s: float) -> dict[str, Any]:
    return {
        "type": "line",
        "xref": "paper",
        "yref": "y",
        "x0": 0,
        "x1": 1,
        "y0": target_s,
        "y1": target_s,
        "line": {"color": "--bad", "width": 1.5, "dash": "4px,3px"},
    }

"""Figures of what the alarm watches: of one world until now, and of the three runs of one traffic."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from labs.charts import axes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from labs.charts.axes import Figure, Points

_DASHES = {"you": "solid", "reference": "6px,3px", "without it": "6px,3px", "untouched": "2px,3px"}
_COLOURS = {"you": "--c1", "reference": "--c3", "without it": "--c3", "untouched": "--c0"}
_WIDTHS = {"you": 2.5, "reference": 2.0, "without it": 2.0, "untouched": 1.5}


def alarm_figure(
    points: Points,
    *,
    from_s: int,
    to_s: int,
    healthy_to_s: int,
    target: float,
    unit: str,
    log_scale: bool = True,
    changes_s: Iterable[int] = (),
) -> Figure:
    """Return the alarm's signal until now, with healthy window, page, target and changes. ``unit`` may be ''."""
    values = [value for _, value in axes.known(points)]
    behind = f" {unit}" if unit else ""
    shapes = [
        axes.window(from_s, healthy_to_s),
        axes.line_at(0, "--edge", 1),
        *(axes.line_at(at_s, "--accent", 1.5) for at_s in changes_s),
        axes.target(target),
    ]
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "lines",
                "x": [round(float(at_s or 0) / 60, 2) for at_s, _ in points],
                "y": [axes.rounded(value) for _, value in points],
                "line": {"color": "--c1", "width": 2},
                "hovertemplate": f"%{{y}}{behind} at minute %{{x}}<extra></extra>",
            }
        ],
        "layout": {
            "xaxis": axes.minutes(from_s, to_s),
            "yaxis": axes.value_axis(values, target, log_scale=log_scale),
            "shapes": shapes,
        },
    }


def paths_figure(
    runs: Mapping[str, Points], *, from_s: int, to_s: int, target: float, log_scale: bool = True
) -> Figure:
    """Return the alarm's signal in the runs of one traffic, by name: those of ``_DASHES``, what matters most on top."""
    inside = {
        name: [point for point in points if from_s <= float(point[0] or 0) <= to_s]
        for name, points in runs.items()
    }
    values = [value for points in inside.values() for _, value in axes.known(points)]
    order = [name for name in reversed(_DASHES) if name in inside]
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [round(float(at_s or 0) / 60, 2) for at_s, _ in inside[name]],
            "y": [axes.rounded(value) for _, value in inside[name]],
            "line": {"color": _COLOURS[name], "width": _WIDTHS[name], "dash": _DASHES[name]},
            "hovertemplate": f"{name}: %{{y}}<extra></extra>",
        }
        for name in order
    ]
    return {
        "data": data,
        "layout": {
            "xaxis": axes.minutes(from_s, to_s),
            "yaxis": axes.value_axis(values, target, log_scale=log_scale),
            "shapes": [axes.target(target), axes.line_at(0, "--edge", 1)],
            "annotations": [
                {
                    "x": round(from_s / 60, 2),
                    "y": math.log10(target) if log_scale and target > 0 else target,
                    "text": f"target {target:g}",
                    "showarrow": False,
                    "xanchor": "left",
                    "xshift": 4,
                    "yshift": -10,
                    "font": {"color": "--bad", "size": 12},
                }
            ],
        },
    }

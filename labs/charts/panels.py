"""A panel of the dashboard, drawn again from what the reading kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labs.charts import axes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from labs.charts.axes import Figure

_COLOURS = ("--c1", "--c2", "--c3", "--c4", "--c5", "--c0")
_DASHES = ("solid", "6px,3px", "2px,3px", "8px,2px,2px,2px")


def panel_figure(
    drawn: Mapping[str, Any],
    *,
    from_s: int,
    to_s: int,
    healthy_to_s: int,
    changes_s: Iterable[int] = (),
) -> Figure:
    """Return a panel's lines over incident time, with healthy window, page and changes; each named at its end."""
    series = drawn["series"]
    values = [value for each in series for _, value in axes.known(each["points"])]
    log_scale = bool(drawn["log_scale"]) and any(value > 0 for value in values)
    least = min((value for value in values if value > 0), default=1.0)
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": each["name"],
            "x": [round(float(at_s or 0) / 60, 2) for at_s, _ in each["points"]],
            "y": [axes.rounded(value) for _, value in each["points"]],
            "line": {
                "color": _COLOURS[position % len(_COLOURS)],
                "width": 2,
                "dash": _DASHES[position // len(_COLOURS) % len(_DASHES)],
            },
            "hovertemplate": f"{each['name']}: %{{y}} {drawn['unit']}<extra></extra>",
        }
        for position, each in enumerate(series)
    ]
    return {
        "data": data,
        "layout": {
            "xaxis": axes.minutes(from_s, to_s),
            "yaxis": axes.value_axis(values, least if log_scale else 0.0, log_scale=log_scale),
            "shapes": [
                axes.window(from_s, healthy_to_s),
                axes.line_at(0, "--edge", 1),
                *(axes.line_at(at_s, "--accent", 1.5) for at_s in changes_s),
            ],
        },
    }

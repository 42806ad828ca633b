"""The figure of what each instrument is worth as a first measurement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labs.charts.axes import Figure


def value_figure(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Return bits a minute of each instrument as a first measurement; yours is marked. ``rows``: the best first."""
    upward = list(reversed(rows))
    best = max((float(row["value"]) for row in rows), default=0.0)
    top = max(0.5, best * 1.2)
    step = 0.5 if top <= 3 else 1.0  # noqa: PLR2004
    ticks = [round(step * i, 1) for i in range(int(top / step) + 1)]

    def colour(row: Mapping[str, Any]) -> str:
        if row["yours"]:
            return "--accent"
        return "--ink-2" if float(row["value"]) == best else "--edge"

    return {
        "data": [
            {
                "type": "bar",
                "orientation": "h",
                "y": [_short(str(row["title"])) for row in upward],
                "x": [row["value"] for row in upward],
                "text": [f"{row['value']:.2f}{' yours' if row['yours'] else ''}" for row in upward],
                "textposition": "outside",
                "cliponaxis": False,
                "textfont": {"color": "--ink", "size": 12},
                "marker": {"color": [colour(row) for row in upward]},
                "width": 0.62,
                "hovertemplate": "%{y}: %{x} bits a minute<extra></extra>",
            }
        ],
        "layout": {
            "hovermode": "closest",
            "margin": {"l": 150, "r": 24, "t": 2},
            "xaxis": {
                "range": [0, top],
                "tickvals": ticks,
                "showgrid": True,
                "showline": False,
                "ticks": "",
            },
            "yaxis": {
                "showline": False,
                "ticks": "",
                "showgrid": False,
                "ticklabelstandoff": 6,
                "tickfont": {"color": "--ink-2", "size": 12},
            },
        },
    }


def _short(title: str, most: int = 24) -> str:
    return title if len(title) <= most else title[: most - 1].rstrip(" ,") + "…"

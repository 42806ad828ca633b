"""What the pages draw: Plotly figures as plain dicts, and the lane of actions as percentages. Colours are tokens.

Figures say what is true (data, axes, shapes); ``static/js/charts.js`` says how it looks. Time is in incident
minutes, the page at 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from labs.incident import clock

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

type Points = Sequence[Sequence[float | None]]
"""``[t_s, value | None]``, in order of time."""
type Figure = dict[str, Any]

LANE_STEP_S = 600
ROOM_FOR_A_LABEL = 6.0
"""Least distance between two labels of the lane, in per cent of its width."""
_DASHES = {"you": "solid", "reference": "6px,3px", "untouched": "2px,3px"}
_COLOURS = {"you": "--c1", "reference": "--c3", "untouched": "--c0"}
_WIDTHS = {"you": 2.5, "reference": 2.0, "untouched": 1.5}


@dataclass(frozen=True)
class Done:
    """An action that took incident time, as a lane draws it."""

    kind: str
    """reading, change, verification or wait."""
    number: int
    at_s: int
    cost_s: int


@dataclass(frozen=True)
class Bar:
    """One action of a lane. Percentages of the width, ready for an SVG attribute."""

    css: str
    x: str
    width: str


@dataclass(frozen=True)
class Label:
    """A glyph and the numbers that it stands for."""

    icon: str
    css: str
    x: str
    text: str


@dataclass(frozen=True)
class Lane:
    bars: tuple[Bar, ...]
    labels: tuple[Label, ...]
    healthy: str
    """Width of the healthy window, which begins at the left edge; empty if the lane begins at the page."""
    page: str
    """Where the page is."""
    spoken: str


_CSS = {"reading": "f-edge", "change": "f-yours", "verification": "f-ink", "wait": "f-rest"}
_ICON = {"reading": "reading", "change": "change", "verification": "verify"}
_WORDS = {
    "reading": ("reading", "readings"),
    "change": ("change", "changes"),
    "verification": ("verification", "verifications"),
    "wait": ("a wait", "waits"),
}


def shown_until_s(clock_s: int, budget_s: int) -> int:
    """Return where the time axis of the room ends: some minutes ahead of the clock, in whole steps."""
    return min(budget_s, (clock_s // LANE_STEP_S + 1) * LANE_STEP_S)


def lane(
    actions: Iterable[Done], *, from_s: int, to_s: int, healthy_to_s: int | None = None
) -> Lane:
    """Return the strip of actions between two incident times, each as long as it cost."""
    span = to_s - from_s

    def share(seconds: float) -> float:
        return 100.0 * seconds / span

    def place(at_s: float) -> float:
        return share(at_s - from_s)

    bars: list[Bar] = []
    labels: list[Label] = []
    told: list[str] = []
    last = -ROOM_FOR_A_LABEL
    listed = [each for each in actions if each.cost_s]
    for kind, group in groupby(listed, key=lambda each: each.kind):
        run = list(group)
        for each in run:
            # A hairline of space on the right parts two actions of the same kind.
            width = max(share(each.cost_s) - 0.15, 0.15)
            bars.append(
                Bar(_CSS[kind], _per_cent(place(each.at_s - each.cost_s)), _per_cent(width))
            )
        told.append(_told(kind, run))
        if kind == "wait":
            continue
        middle = (place(run[0].at_s - run[0].cost_s) + place(run[-1].at_s)) / 2
        if middle - last >= ROOM_FOR_A_LABEL:
            labels.append(Label(_ICON[kind], _CSS[kind], _per_cent(middle), _numbers(run)))
            last = middle
    spoken = "; ".join(told) if told else "nothing yet"
    healthy = _per_cent(place(healthy_to_s)) if healthy_to_s is not None else ""
    return Lane(tuple(bars), tuple(labels), healthy, _per_cent(place(0)), spoken)


def _told(kind: str, run: list[Done]) -> str:
    one, many = _WORDS[kind]
    until = f"until {clock(run[-1].at_s)}"
    if kind == "wait":
        return f"{one if len(run) == 1 else many} {until}"
    return f"{one if len(run) == 1 else many} {_numbers(run).replace('–', ' to ')} {until}"


def _numbers(run: list[Done]) -> str:
    first, last = run[0].number, run[-1].number
    return f"{first}" if first == last else f"{first}–{last}"


def _per_cent(share: float) -> str:
    return f"{share:.2f}%"


def number(value: float | None, decimals: int = 2) -> str:
    """Return a number for people: thousands marks, and no more decimals than its size deserves."""
    if value is None:
        return "none"
    if abs(value) >= 100:  # noqa: PLR2004
        decimals = 0
    elif abs(value) >= 10:  # noqa: PLR2004
        decimals = min(decimals, 1)
    return f"{value:,.{decimals}f}".replace("-", "−")


# ------------------------------------------------------------------------------------------ figures


def ttft_figure(
    points: Points,
    *,
    from_s: int,
    to_s: int,
    healthy_to_s: int,
    target_s: float,
    changes_s: Iterable[int] = (),
) -> Figure:
    """Return p95 TTFT until now on a log scale, with healthy window, page, target and changes."""
    low, high = _decades([value for _, value in _known(points)], target_s)
    shapes = [
        _window(from_s, healthy_to_s),
        _line_at(0, "--edge", 1),
        *(_line_at(at_s, "--accent", 1.5) for at_s in changes_s),
        _target(target_s),
    ]
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "lines",
                "x": [round(float(at_s or 0) / 60, 2) for at_s, _ in points],
                "y": [_rounded(value) for _, value in points],
                "line": {"color": "--c1", "width": 2},
                "hovertemplate": "%{y} s at minute %{x}<extra></extra>",
            }
        ],
        "layout": {
            "xaxis": _minutes(from_s, to_s),
            "yaxis": _log_axis(low, high),
            "shapes": shapes,
        },
    }


def paths_figure(runs: Mapping[str, Points], *, from_s: int, to_s: int, target_s: float) -> Figure:
    """Return p95 TTFT of the three runs of one traffic: untouched, reference, you; each named at its line."""
    inside = {
        name: [point for point in points if from_s <= float(point[0] or 0) <= to_s]
        for name, points in runs.items()
    }
    values = [value for points in inside.values() for _, value in _known(points)]
    low, high = _decades(values, target_s)
    order = [name for name in ("untouched", "reference", "you") if name in inside]
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [round(float(at_s or 0) / 60, 2) for at_s, _ in inside[name]],
            "y": [_rounded(value) for _, value in inside[name]],
            "line": {"color": _COLOURS[name], "width": _WIDTHS[name], "dash": _DASHES[name]},
            "hovertemplate": f"{name}: %{{y}} s<extra></extra>",
        }
        for name in order
    ]
    return {
        "data": data,
        "layout": {
            "xaxis": _minutes(from_s, to_s),
            "yaxis": _log_axis(low, high),
            "shapes": [_target(target_s), _line_at(0, "--edge", 1)],
            "annotations": [
                {
                    "x": round(from_s / 60, 2),
                    "y": math.log10(target_s),
                    "text": f"target {target_s:g}",
                    "showarrow": False,
                    "xanchor": "left",
                    "xshift": 4,
                    "yshift": -10,
                    "font": {"color": "--bad", "size": 12},
                }
            ],
        },
    }


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


def _known(points: Points) -> list[tuple[float, float]]:
    return [(float(at_s or 0), float(value)) for at_s, value in points if value is not None]


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.3g}")


def _decades(values: Sequence[float], target_s: float) -> tuple[int, int]:
    """Return the decades that hold every value and the target, as powers of ten."""
    positive = [value for value in (*values, target_s) if value > 0]
    low, high = math.log10(min(positive)), math.log10(max(positive))
    return math.floor(low), max(math.ceil(high), math.floor(low) + 2)


def _log_axis(low: int, high: int) -> dict[str, Any]:
    powers = range(low, high + 1)
    return {
        "type": "log",
        "range": [low, high],
        "tickvals": [10.0**power for power in powers],
        "ticktext": [f"{10.0**power:,.{max(0, -power)}f}" for power in powers],
    }


def _minutes(from_s: int, to_s: int) -> dict[str, Any]:
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


def _window(from_s: int, to_s: int) -> dict[str, Any]:
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


def _line_at(at_s: int, colour: str, width: float) -> dict[str, Any]:
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


def _target(target_s: float) -> dict[str, Any]:
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

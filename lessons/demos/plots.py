"""Charts of demonstrations: lines over any axis, and bars. Data, axes and colour tokens; static/js/charts.js owns the looks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from labs.charts.axes import log_axis
from lessons.figures import Plot

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DASHES = {
    "c0": "2px,3px",
    "c1": "solid",
    "c2": "8px,3px",
    "c3": "6px,3px",
    "c4": "8px,3px,2px,3px",
    "c5": "3px,2px",
}
"""Each colour token's dash; ``c0`` is the baseline, what was left untouched."""
_DOTS = ({"symbol": "circle-open", "size": 9}, {"symbol": "circle", "size": 5})
"""Of the second series and the first: a ring round a dot, where both stand on one place."""
_FIGURES = 4
"""Significant figures of a point."""
_LABEL_ROOM = 0.26
_APART = 0.13
"""Of the height: labels that are closer would lie on each other."""


@dataclass(frozen=True)
class Series:
    """One line: its name stands at its end."""

    name: str
    colour: str
    x: Sequence[float]
    y: Sequence[float]
    has_dots: bool = False
    """True: dots without a line, for what was drawn at random."""


@dataclass(frozen=True)
class Rule:
    """A line across the chart at one value: a target, or where the reader stands."""

    at: float
    name: str
    is_vertical: bool = False
    colour: str = "accent"
    """``accent`` the reader's own, ``bad`` a target, ``edge`` anything else."""


@dataclass(frozen=True)
class Bar:
    """One bar: horizontal, from zero, its value written at its end."""

    name: str
    value: float
    words: str
    colour: str = "c1"


def rounded(value: float) -> float:
    """Return a value with as many figures as a chart can show."""
    return float(f"{value:.{_FIGURES}g}")


def lines(
    title: str,
    unit: str,
    spoken: str,
    series: Sequence[Series],
    *,
    x_title: str,
    rules: Sequence[Rule] = (),
    is_log: bool = False,
    y_range: tuple[float, float] | None = None,
    x_range: tuple[float, float] | None = None,
    size: str = "mid",
) -> Plot:
    """Return a chart of ``series``, from zero or on a log axis, each labelled at its end.

    Values of 0 do not exist on a log axis and leave a gap. ``y_range`` fixes the axis, in its unit, so that it stays
    while the reader turns something, or so that it holds values below zero.
    """
    low, high = x_range or _ends(series)
    values = [value for each in series for value in each.y]
    values += [rule.at for rule in rules if not rule.is_vertical]
    yaxis: dict[str, Any]
    if is_log:
        yaxis = _decades(values)
        height = yaxis["range"][1] - yaxis["range"][0]
    else:
        bottom, top = y_range or (0.0, 1.15 * max(values, default=0.0) or 1.0)
        yaxis = {"range": [rounded(bottom), rounded(top)], "nticks": 5}
        height = top - bottom

    def place(value: float) -> float:
        """Return where a value stands on the axis, as Plotly wants it of an annotation."""
        return math.log10(value) if is_log else value

    labelled = [each for each in series if each.y and (not is_log or each.y[-1] > 0)]
    shifts = _shifts([place(each.y[-1]) / height for each in labelled])
    labels = [
        _label(each.name, each.colour, each.x[-1], place(each.y[-1]), shift)
        for each, shift in zip(labelled, shifts, strict=True)
    ]
    width = high - low
    room = _LABEL_ROOM if labels else 0.02
    layout: dict[str, Any] = {
        "xaxis": {
            "range": [low, high + width * room],
            "title": {"text": x_title},
            **_ticks(low, high),
        },
        "yaxis": yaxis,
        "annotations": labels + [_named(rule, place) for rule in rules],
        "shapes": [_shape(rule) for rule in rules],
    }
    return Plot(
        title,
        unit,
        spoken,
        {"data": [_trace(each, unit) for each in series], "layout": layout},
        size,
    )


def bars(title: str, unit: str, spoken: str, found: Sequence[Bar], *, size: str = "mid") -> Plot:
    """Return horizontal bars from zero, the first on top; names of 18 characters at most stand at their left."""
    upward = list(reversed(found))
    top = max((bar.value for bar in found), default=0.0) * 1.3 or 1.0
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "y": [bar.name for bar in upward],
            "x": [rounded(bar.value) for bar in upward],
            "text": [bar.words for bar in upward],
            "textposition": "outside",
            "cliponaxis": False,
            "textfont": {"color": "--ink", "size": 12},
            "marker": {"color": [f"--{bar.colour}" for bar in upward]},
            "width": 0.6,
            "hovertemplate": f"%{{y}}: %{{x}} {unit}<extra></extra>",
        }
    ]
    layout = {
        "hovermode": "closest",
        "margin": {"l": 122, "r": 12, "t": 2, "b": 8},
        "xaxis": {
            "range": [0, rounded(top)],
            "showticklabels": False,
            "showline": False,
            "ticks": "",
        },
        "yaxis": {"showline": False, "ticks": "", "showgrid": False, "ticklabelstandoff": 6},
    }
    return Plot(title, unit, spoken, {"data": data, "layout": layout}, size)


def _trace(series: Series, unit: str) -> dict[str, Any]:
    marks: dict[str, Any] = (
        {
            "mode": "markers",
            "marker": {"color": f"--{series.colour}", **_DOTS[series.colour == "c1"]},
        }
        if series.has_dots
        else {
            "mode": "lines",
            "line": {"color": f"--{series.colour}", "width": 2, "dash": DASHES[series.colour]},
        }
    )
    return {
        "type": "scatter",
        "x": [rounded(x) for x in series.x],
        "y": [rounded(y) for y in series.y],
        "hovertemplate": f"{series.name}: %{{y}} {unit}<extra></extra>",
        **marks,
    }


def _ends(series: Sequence[Series]) -> tuple[float, float]:
    places = [x for each in series for x in each.x] or [0.0, 1.0]
    low, high = min(places), max(places)
    return low, high if high > low else low + 1


def _decades(values: Sequence[float]) -> dict[str, Any]:
    positive = [value for value in values if value > 0] or [1.0]
    low = math.floor(math.log10(min(positive)))
    return log_axis(low, max(math.ceil(math.log10(max(positive)) + 0.05), low + 2))


def _ticks(low: float, high: float) -> dict[str, Any]:
    """Return at most seven ticks, at steps of 1, 2 or 5 times a power of ten, none in the room for labels."""
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * n for n in (1, 2, 5, 10) if power * n >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    ticks = [rounded(n * step) for n in range(first, math.floor(high / step + 1e-9) + 1)]
    return {"tickvals": ticks, "ticktext": [f"{tick:,g}".replace("-", "−") for tick in ticks]}


def _shifts(heights: Sequence[float]) -> list[int]:
    """Return by how many pixels each label moves up so that no two lie on each other."""
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    shifts = [0] * len(heights)
    for before, after in pairwise(order):
        if heights[after] - heights[before] < _APART:
            shifts[before] -= 8
            shifts[after] = shifts[before] + 16
    return shifts


def _label(name: str, colour: str, x: float, y: float, shift: int) -> dict[str, Any]:
    return {
        "x": rounded(x),
        "y": round(y, 4),
        "text": name,
        "showarrow": False,
        "xanchor": "left",
        "xshift": 5,
        "yshift": shift,
        "font": {"color": f"--{colour}", "size": 12},
    }


def _named(rule: Rule, place: Callable[[float], float]) -> dict[str, Any]:
    common = {"text": rule.name, "showarrow": False, "font": {"color": _ink(rule), "size": 12}}
    if rule.is_vertical:
        side = {"x": rounded(rule.at), "y": 1, "yref": "paper", "xanchor": "left", "yanchor": "top"}
        return {**side, **common, "xshift": 3}
    side = {"x": 1, "xref": "paper", "y": round(place(rule.at), 4), "xanchor": "right"}
    return {**side, **common, "yanchor": "bottom"}


def _ink(rule: Rule) -> str:
    return "--ink-3" if rule.colour == "edge" else f"--{rule.colour}"


def _shape(rule: Rule) -> dict[str, Any]:
    at = rounded(rule.at)
    along = (
        {"x0": at, "x1": at, "yref": "paper", "y0": 0, "y1": 1}
        if rule.is_vertical
        else {"xref": "paper", "x0": 0, "x1": 1, "y0": at, "y1": at}
    )
    dash = {"dash": "4px,3px"} if rule.colour == "bad" else {}
    return {"type": "line", **along, "line": {"color": f"--{rule.colour}", "width": 1.5, **dash}}

"""An attempt on one axis of incident time: what the alarm read, and a lane for each kind of thing that was done. Pure.

Drawn by the server as SVG, so that it stands without a script: x in per cent of the width, y in pixels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from labs.charts import axes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from labs.charts.axes import Points

    type _Place = Callable[[float], float]

PLOT_PX, ROW_PX, TOP_PX, AXIS_PX = 132, 24, 16, 22
BOX = 1000
"""The alarm's line lies in a box of this width that is stretched over the plot; its height is PLOT_PX."""
BEFORE_S, BEFORE_SHARE = 600, 0.3
"""Shown before the page: ten minutes, or room enough for the names of the lanes."""
LEAST_PER_CENT = 0.3
MOST_LEVELS = 4


@dataclass(frozen=True)
class Spot:
    """Something that was done, as a lane draws it: a bar as long as it cost, or a point."""

    row: str
    css: str
    at_s: int
    cost_s: int
    is_now: bool = False


@dataclass(frozen=True)
class Bar:
    x: str
    width: str
    """Empty for a point."""
    css: str
    is_now: bool


@dataclass(frozen=True)
class Row:
    name: str
    y: int
    """Its middle, in pixels from the top."""
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class Level:
    """A horizontal line of the plot with its number."""

    y: str
    text: str


@dataclass(frozen=True)
class Tick:
    x: str
    text: str


@dataclass(frozen=True)
class StoryStrip:
    lines: tuple[str, ...]
    """The alarm's line, an SVG ``points`` for each stretch without a gap."""
    levels: tuple[Level, ...]
    target: Level
    ticks: tuple[Tick, ...]
    rows: tuple[Row, ...]
    healthy: str
    """Width of what lies before the fault, in per cent."""
    page: str
    now: str
    height: int
    plot_px: int = PLOT_PX
    top_px: int = TOP_PX

    @property
    def rows_end(self) -> int:
        """Where the lanes end and the axis begins, in pixels."""
        return self.height - AXIS_PX


def story_strip(
    alarm: Points,
    spots: Iterable[Spot],
    rows: Sequence[str],
    *,
    to_s: int,
    now_s: int,
    healthy_to_s: int,
    target: float,
    log_scale: bool,
) -> StoryStrip:
    """Return an attempt from before the page until ``to_s``, with ``now_s`` marked. ``rows``: names of the lanes in order."""
    from_s = -max(BEFORE_S, math.ceil(BEFORE_SHARE * to_s))
    inside = [point for point in alarm if from_s <= float(point[0] or 0) <= to_s]

    def x(at_s: float) -> float:
        return 100 * (min(max(at_s, from_s), to_s) - from_s) / (to_s - from_s)

    axis = _Axis.over([value for _, value in axes.known(inside)], target, log_scale=log_scale)
    done = list(spots)
    ticks = axes.minutes(from_s, to_s)
    return StoryStrip(
        lines=tuple(_lines(inside, x, axis)),
        levels=tuple(Level(f"{axis.y(value):.1f}", f"{value:,.10g}") for value in axis.levels),
        target=Level(f"{axis.y(target):.1f}", f"{target:g}"),
        ticks=tuple(
            Tick(_per_cent(x(60 * minute)), text)
            for minute, text in zip(ticks["tickvals"], ticks["ticktext"], strict=True)
        ),
        rows=tuple(
            Row(
                name,
                TOP_PX + PLOT_PX + ROW_PX * place + ROW_PX // 2 + 4,
                tuple(_bar(each, x) for each in done if each.row == name),
            )
            for place, name in enumerate(rows)
        ),
        healthy=_per_cent(x(healthy_to_s)),
        page=_per_cent(x(0)),
        now=_per_cent(x(now_s)),
        height=TOP_PX + PLOT_PX + ROW_PX * len(rows) + 8 + AXIS_PX,
    )


@dataclass(frozen=True)
class _Axis:
    low: float
    high: float
    log_scale: bool
    levels: tuple[float, ...]

    @classmethod
    def over(cls, values: Sequence[float], target: float, *, log_scale: bool) -> _Axis:
        """Return the axis that holds every value and the target: whole decades, or from 0 to above the largest."""
        if log_scale and target > 0:
            low, high = axes.decades(values, target)
            return cls(low, high, True, tuple(10.0**power for power in range(low, high + 1)))
        top = 1.1 * max([*values, target, 1e-9])
        bottom = 1.1 * min([0.0, *values])
        step = 10 ** math.floor(math.log10(top))
        steps = (step / 4, step / 2, step, 2 * step, 4 * step)
        step = next(each for each in steps if top / each <= MOST_LEVELS)
        return cls(bottom, top, False, tuple(step * place for place in range(int(top / step) + 1)))

    def y(self, value: float) -> float:
        """Return where a value stands, in pixels from the top of the plot."""
        scaled = value
        if self.log_scale:
            scaled = math.log10(value) if value > 0 else self.low
        share = (min(max(scaled, self.low), self.high) - self.low) / (self.high - self.low)
        return PLOT_PX * (1 - share)


def _lines(points: Points, x: _Place, axis: _Axis) -> Iterable[str]:
    for is_known, stretch in groupby(points, key=lambda point: point[1] is not None):
        if is_known:
            yield " ".join(
                f"{BOX / 100 * x(float(at_s or 0)):.1f},{axis.y(float(value or 0)):.1f}"
                for at_s, value in stretch
            )


def _bar(spot: Spot, x: _Place) -> Bar:
    if not spot.cost_s:
        return Bar(_per_cent(x(spot.at_s)), "", spot.css, spot.is_now)
    left = x(spot.at_s - spot.cost_s)
    # A hairline of space on the right parts two actions of the same kind.
    width = max(x(spot.at_s) - left - 0.15, LEAST_PER_CENT)
    return Bar(_per_cent(left), _per_cent(width), spot.css, spot.is_now)


def _per_cent(share: float) -> str:
    return f"{share:.2f}%"

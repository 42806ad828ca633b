"""A sketch as the page draws it: places and values to per cent of a plane. Pure.

The plane is cut into as many columns as the axis has places, and a place is the middle of its column: fields and
sliders below and above stand in the same grid. Lines go into an SVG of 100 x 100 that is stretched over the plane.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lessons.cohort import BandAt
    from lessons.guesses import Axes

_ROWS = 4
"""Lines of the grid above the lowest one."""


@dataclass(frozen=True)
class Place:
    """One place of the axis, and what is typed there."""

    name: str
    """Of its field."""
    label: str
    typed: str
    is_wrong: bool = False


@dataclass(frozen=True)
class Plane:
    """Axes, ready to be drawn on."""

    axes: Axes
    y_labels: tuple[str, ...]
    """From the top down, as many as there are grid lines."""
    grid: tuple[str, ...]
    """Heights of the grid lines."""
    places: tuple[Place, ...]

    @property
    def line(self) -> str:
        """What is typed, as the points of a line; a place without a number is left out."""
        known = [
            (n, float(place.typed))
            for n, place in enumerate(self.places)
            if _is_number(place.typed)
        ]
        return " ".join(f"{column(n, self.axes)},{height(y, self.axes)}" for n, y in known)


def plane(axes: Axes, typed: Sequence[str] = (), wrong: Sequence[int] = ()) -> Plane:
    """Return the plane of a sketch; ``typed`` holds what stands in its fields, ``wrong`` the places refused."""
    shares = [row / _ROWS for row in range(_ROWS, -1, -1)]
    span = axes.most - axes.least
    return Plane(
        axes,
        tuple(f"{axes.least + share * span:,g}" for share in shares),
        tuple(f"{100 * (1 - share):g}%" for share in shares),
        tuple(
            Place(f"at-{n}", f"{x:g}", typed[n] if n < len(typed) else "", n in wrong)
            for n, x in enumerate(axes.xs)
        ),
    )


def _is_number(typed: str) -> bool:
    return typed.replace(".", "", 1).isdecimal()


def column(place: float, axes: Axes) -> str:
    """Return where a place stands, per cent from the left; places between two are allowed."""
    return f"{100 * (place + 0.5) / len(axes.xs):.6g}"


def height(value: float, axes: Axes) -> str:
    """Return where a value stands, per cent from the top; what leaves the scale stays at its edge."""
    share = (min(max(value, axes.least), axes.most) - axes.least) / (axes.most - axes.least)
    return f"{100 * (1 - share):.6g}"


@dataclass(frozen=True)
class Dot:
    """A point of a line, in per cent of the plane."""

    x: str
    y: str


@dataclass(frozen=True)
class Row:
    """The same numbers as a table: one place."""

    x: str
    said: str
    computed: str
    half: str
    """The middle half of all people; empty while they are too few."""


@dataclass(frozen=True)
class Drawn:
    """A sketch beside the computed curve."""

    plane: Plane
    yours: str
    """Points of a line."""
    dots: tuple[Dot, ...]
    computed: str
    band: str
    """Points of an area; empty while people are too few."""
    middle: str
    rows: tuple[Row, ...]
    spoken: str


def drawn(
    axes: Axes,
    said: Sequence[float],
    answer: Sequence[float],
    curve: Sequence[Sequence[float]],
    band: Sequence[BandAt] = (),
) -> Drawn:
    """Return both curves and, if there is one, the band of everybody's."""
    first, step = axes.xs[0], axes.xs[1] - axes.xs[0]

    def points(values: Sequence[tuple[float, float]]) -> str:
        return " ".join(f"{column(n, axes)},{height(y, axes)}" for n, y in values)

    fine = [((x - first) / step, y) for x, y in curve] or list(enumerate(answer))
    upper = [(n, at.high) for n, at in enumerate(band)]
    lower = [(n, at.low) for n, at in enumerate(band)]
    rows = [
        Row(
            f"{x:g}",
            f"{said[n]:,.3g}",
            f"{answer[n]:,.3g}",
            f"{band[n].low:,.3g} to {band[n].high:,.3g}" if band else "",
        )
        for n, x in enumerate(axes.xs)
    ]
    return Drawn(
        plane=plane(axes),
        yours=points(list(enumerate(said))),
        dots=tuple(Dot(f"{column(n, axes)}%", f"{height(y, axes)}%") for n, y in enumerate(said)),
        computed=points(fine),
        band=points(upper + lower[::-1]),
        middle=points([(n, at.middle) for n, at in enumerate(band)]),
        rows=tuple(rows),
        spoken=_spoken(axes, rows),
    )


def _spoken(axes: Axes, rows: Sequence[Row]) -> str:
    said = ", ".join(f"{row.said} at {row.x}" for row in rows)
    computed = ", ".join(f"{row.computed} at {row.x}" for row in rows)
    return (
        f"{axes.y_title} in {axes.unit} over {axes.x_title}. You drew {said}. Computed: {computed}."
    )


def as_typed(guess: Any) -> str:
    """Return a committed sketch in a line: its values, in order."""
    return ", ".join(f"{value:,.3g}" for value in guess)

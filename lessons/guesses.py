"""What a prediction may ask for, and how far a guess lies from what was computed. Pure.

A guess and its answer have the same shape: a number, the key of an option, all keys in an order, or one value at
each place of a sketch. Whether a guess came follows from the two alone, and for a sketch from its axes, which a
reveal keeps: what was revealed once reads the same when the question has moved on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, Self

from labs.charts.numbers import bound
from labs.marking.predictions import is_hit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

type Kind = Literal["number", "choice", "order", "sketch"]
type Guess = float | str | list[str] | list[float]
"""JSON, as a commit holds it; an answer is the same."""

WITHIN = 0.1
"""A sketch came if it is off by so much of its scale at most, on average over its places."""
_FACTOR = 2.0
_EXACT = 0.005
_TEN = 10


@dataclass(frozen=True)
class Axes:
    """What a sketch is drawn over: places on the x axis, a scale on the y axis."""

    x_title: str
    """With its unit, such as "minutes"."""
    xs: tuple[float, ...]
    """Equally far apart."""
    y_title: str
    unit: str
    least: float
    most: float
    step: float
    within: float = WITHIN

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Self:
        """Return the axes that a reveal kept as JSON."""
        return cls(**{**kept, "xs": tuple(kept["xs"])})


@dataclass(frozen=True)
class Distance:
    """How far a guess lies from the answer: "25 % too low", "2 of 6 pairs the wrong way round"."""

    value: str
    unit: str
    words: str = ""

    @property
    def line(self) -> str:
        return bound(", ".join(filter(None, (f"{self.value} {self.unit}".strip(), self.words))))


def came(guess: Guess, result: Mapping[str, Any]) -> bool:
    """Tell whether a guess came: a choice or an order as computed, a number within ×/÷ 1.25, a sketch within its band.

    ``result`` is a reveal as JSON. A guess of another shape than the answer did not come.
    """
    answer = result["answer"]
    if isinstance(guess, int | float) and isinstance(answer, int | float):
        return is_hit(guess, answer)
    if axes := result.get("axes"):
        error = sketch_error(guess, answer, Axes.of(axes))
        return error is not None and bool(error <= axes["within"] + 1e-12)
    return bool(guess == answer)


def sketch_error(guess: Any, answer: Any, axes: Axes) -> float | None:
    """Return the mean distance of two sketches over all places, as a share of the scale; None if they do not compare."""
    lists = isinstance(guess, list) and isinstance(answer, list)
    if not lists or not len(guess) == len(answer) == len(axes.xs):
        return None
    pairs = zip(guess, answer, strict=True)
    off = math.fsum(abs(said - computed) for said, computed in pairs)
    return off / len(guess) / (axes.most - axes.least)


def distance(guess: Guess, result: Mapping[str, Any]) -> Distance:
    """Return how far a guess lies from the answer, in words that suit its kind."""
    answer = result["answer"]
    if isinstance(guess, int | float) and isinstance(answer, int | float):
        return number_distance(guess, answer)
    if axes := result.get("axes"):
        error = sketch_error(guess, answer, Axes.of(axes))
        if error is None:
            return Distance("", "", "the question has changed")
        hit = bound(f"{axes['within'] * 100:.0f} % or less")
        side = f"a hit, being {hit}" if came(guess, result) else f"a hit is {hit}"
        return Distance(f"{error * 100:.0f}", "% of the scale", side)
    if isinstance(answer, list):
        return _order_distance(guess, answer)
    return Distance("", "", "what came" if guess == answer else "something else came")


def number_distance(said: float, computed: float) -> Distance:
    """Return the distance of two numbers: in per cent while close, as a factor beyond twice."""
    if said == computed or (computed and abs(said - computed) / abs(computed) < _EXACT):
        return Distance("0", "%", "exact, or nearly")
    side = "too low" if said < computed else "too high"
    if said > 0 and computed > 0:
        factor = max(said / computed, computed / said)
        if factor >= _FACTOR:
            return Distance(f"{factor:.2g}" if factor < _TEN else f"{factor:,.0f}", "times", side)
        return Distance(f"{abs(said - computed) / computed * 100:.0f}", "%", side)
    return Distance(f"{abs(said - computed):,.3g}", "", side)


def _order_distance(guess: Any, answer: Sequence[Any]) -> Distance:
    if not isinstance(guess, list) or sorted(guess) != sorted(answer):
        return Distance("", "", "the question has changed")
    pairs = list(combinations(answer, 2))
    wrong = sum(guess.index(first) > guess.index(second) for first, second in pairs)
    return Distance(f"{wrong}", f"of {len(pairs)} pairs the wrong way round")

"""What everybody who was asked the same has said, in numbers that a page can draw. Pure; never a name.

Guesses of one question and one code version go in, the reader's own among them. Below :data:`LEAST` people nothing
comes out: of four guesses one can tell whose is whose.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lessons.guesses import Axes, came
from lessons.simulations import percentile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lessons.guesses import Guess

LEAST = 5
MOST_BINS = 12
_DECADES = 100
_NICE = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True)
class Bin:
    """Guesses from ``low`` to ``high``; the last bin of a histogram holds its upper end."""

    low: float
    high: float
    count: int
    is_yours: bool
    is_answer: bool


@dataclass(frozen=True)
class Histogram:
    """Numbers, in bins of equal width; at 1, 2 and 5 of each decade if they span more than two, nothing below them."""

    bins: tuple[Bin, ...]
    is_log: bool


@dataclass(frozen=True)
class Bar:
    """How many chose one option."""

    key: str
    count: int
    share: float
    is_yours: bool
    is_answer: bool


@dataclass(frozen=True)
class PlaceShares:
    """Which places people gave to one item."""

    key: str
    shares: tuple[float, ...]
    """One a place, the first place first; they sum to 1."""
    yours: int
    """From 1; 0 if the reader's order does not hold it."""
    computed: int


@dataclass(frozen=True)
class BandAt:
    """The middle half of all sketches at one place of the axis."""

    x: float
    low: float
    middle: float
    high: float


@dataclass(frozen=True)
class Cohort:
    """The distribution of one question; one of the four parts is filled, by its kind."""

    count: int
    came: int
    """How many of them came."""
    histogram: Histogram | None = None
    bars: tuple[Bar, ...] = ()
    places: tuple[PlaceShares, ...] = ()
    band: tuple[BandAt, ...] = ()


def cohort_of(
    guesses: Sequence[Guess],
    own: Guess,
    result: Mapping[str, Any],
    options: Sequence[str] = (),
) -> Cohort | None:
    """Return the distribution of all guesses, ``own`` among them; None below LEAST people.

    ``result`` is the reveal as JSON, ``options`` the keys that a choice offers, in the order of the page. Guesses
    of another shape than the answer are left out and not counted.
    """
    answer = result["answer"]
    fitting = [guess for guess in guesses if _fits(guess, answer)]
    if len(fitting) < LEAST:
        return None
    count, hits = len(fitting), sum(came(guess, result) for guess in fitting)
    if axes := result.get("axes"):
        return Cohort(count, hits, band=_band(fitting, Axes.of(axes)))
    if isinstance(answer, list):
        return Cohort(count, hits, places=_places(fitting, own, answer))
    if isinstance(answer, str):
        return Cohort(count, hits, bars=_bars(fitting, own, answer, options))
    return Cohort(count, hits, histogram=_histogram(fitting, own, answer))


def _fits(guess: Any, answer: Any) -> bool:
    if isinstance(answer, list):
        if not isinstance(guess, list) or len(guess) != len(answer):
            return False
        return not isinstance(answer[0], str) or sorted(guess) == sorted(answer)
    return isinstance(guess, str) == isinstance(answer, str) and not isinstance(guess, list)


def _bars(
    guesses: Sequence[Any], own: Guess, answer: Guess, options: Sequence[str]
) -> tuple[Bar, ...]:
    keys = [*options, *sorted({guess for guess in guesses if guess not in options})]
    return tuple(
        Bar(key, guesses.count(key), guesses.count(key) / len(guesses), key == own, key == answer)
        for key in keys
    )


def _places(guesses: Sequence[Any], own: Any, answer: Sequence[Any]) -> tuple[PlaceShares, ...]:
    return tuple(
        PlaceShares(
            key,
            tuple(
                sum(guess[place] == key for guess in guesses) / len(guesses)
                for place in range(len(answer))
            ),
            own.index(key) + 1 if isinstance(own, list) and key in own else 0,
            computed,
        )
        for computed, key in enumerate(answer, 1)
    )


def _band(guesses: Sequence[Any], axes: Axes) -> tuple[BandAt, ...]:
    columns = zip(*guesses, strict=True)
    return tuple(
        BandAt(x, percentile(column, 0.25), percentile(column, 0.5), percentile(column, 0.75))
        for x, column in zip(axes.xs, columns, strict=True)
    )


# ----------------------------------------------------------------------------------------- histograms


def _histogram(guesses: Sequence[Any], own: Any, answer: float) -> Histogram:
    values = [float(guess) for guess in guesses]
    low, high = min(*values, answer), max(*values, answer)
    above = min((value for value in [*values, answer] if value > 0), default=0.0)
    is_log = low >= 0 and 0 < above * _DECADES < high
    edges = _ratios(above, high) if is_log else _steps(low, high)
    if is_log and low < above:
        edges = [0.0, *edges]

    def place(value: float) -> int:
        return min(bisect_right(edges, value) - 1, len(edges) - 2)

    counts = [0] * (len(edges) - 1)
    for value in values:
        counts[place(value)] += 1
    bins = tuple(
        Bin(edges[i], edges[i + 1], count, i == place(float(own)), i == place(answer))
        for i, count in enumerate(counts)
    )
    return Histogram(bins, is_log)


def _steps(low: float, high: float) -> list[float]:
    """Return edges at a round distance, so few that no more than MOST_BINS bins lie between them."""
    if high == low:
        high = low + (abs(low) or 1.0)
    rough = (high - low) / (MOST_BINS - 1)
    decade = 10 ** math.floor(math.log10(rough))
    step = next(nice * decade for nice in _NICE if nice * decade >= rough * (1 - 1e-9))
    first = math.floor(low / step + 1e-9)
    last = max(first + 1, math.ceil(high / step - 1e-9))
    return [_tidy(n * step) for n in range(first, last + 1)]


def _ratios(low: float, high: float) -> list[float]:
    """Return edges at 1, 2 and 5 of each decade; at whole decades only if that were too many."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    digits = (1, 2, 5) if (last - first) * 3 <= MOST_BINS else (1,)
    edges = [_tidy(digit * 10**n) for n in range(first, last) for digit in digits]
    edges.append(_tidy(10**last))
    begin = bisect_right(edges, low) - 1
    end = next(i for i, edge in enumerate(edges) if edge >= high)
    return edges[begin : max(end, begin + 1) + 1]


def _tidy(value: float) -> float:
    return float(f"{value:.12g}")

"""Scores of predictions and their calibration. Never marks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from labs.marking.constants import (
    CONFIDENCE_LEVELS,
    HIT_FACTOR,
    RANGE_PENALTY,
    STRIP_LEVEL_MINIMUM,
    STRIP_MINIMUM,
    WILSON_QUANTILE,
    WORD_Z,
)
from labs.marking.quantiles import normal_quantile

type Scale = Literal["ratio", "count", "share"]
"""How a guess is compared: as a ratio, as a ratio after adding 1, or as a difference."""


@dataclass(frozen=True, slots=True)
class Guessed:
    """A prediction that came with a confidence."""

    percent: int
    """Confidence: 50, 70 or 90."""
    hit: bool


@dataclass(frozen=True, slots=True)
class Level:
    """One confidence level of the calibration strip."""

    percent: int
    hits: int
    count: int
    interval: tuple[float, float] | None
    """Wilson 90 % interval of the share of hits; None below five predictions."""


@dataclass(frozen=True, slots=True)
class Strip:
    """The calibration strip, with a word only if there is reason for one."""

    levels: tuple[Level, ...]
    word: Literal["over-confident", "under-confident"] | None


def _compared(value: float, scale: Scale) -> float:
    return value + 1 if scale == "count" else value


def value_error(guess: float, truth: float, scale: Scale = "ratio") -> float:
    """Return log2(x / y): octaves; counts get 1 added to both, shares give x − y.

    Raises ValueError if a ratio is asked of a number that is not above 0.
    """
    if scale == "share":
        return guess - truth
    x, y = _compared(guess, scale), _compared(truth, scale)
    if not (x > 0 and y > 0):
        raise ValueError(f"a ratio needs numbers above 0: {guess=} {truth=}")
    return math.log2(x / y)


def is_hit(guess: float, truth: float, scale: Scale = "ratio") -> bool:
    """Whether the truth is within ×/÷ 1.25 of the guess; counts get 1 added to both."""
    x, y = _compared(guess, scale), _compared(truth, scale)
    if not (x > 0 and y > 0):
        return x == y
    return abs(math.log(x / y)) <= math.log(HIT_FACTOR) + 1e-12


def brier(percent: float, *, hit: bool) -> float:
    """Return (p − hit)²: 0 is best, 1 worst. For a choice, hit is whether it was right."""
    return (percent / 100 - (1.0 if hit else 0.0)) ** 2


def range_score(low: float, high: float, truth: float, scale: Scale = "ratio") -> float:
    """Return (u−l) + 10·(l−y)⁺ + 10·(y−u)⁺ in octaves, for an 80 % range; less is better.

    Shares are compared as they are. Raises ValueError for a range upside down, or a ratio of
    numbers that are not above 0.
    """
    if low > high:
        raise ValueError(f"the range ends before it starts: {low} to {high}")
    if scale == "share":
        bottom, top, y = low, high, truth
    else:
        ends = [_compared(each, scale) for each in (low, high, truth)]
        if min(ends) <= 0:
            raise ValueError(f"a ratio needs numbers above 0: {low=} {high=} {truth=}")
        bottom, top, y = (math.log2(each) for each in ends)
    return (top - bottom) + RANGE_PENALTY * (max(0.0, bottom - y) + max(0.0, y - top))


def wilson(hits: int, count: int) -> tuple[float, float]:
    """Return the Wilson 90 % interval of a share of hits.

    Raises ValueError unless 0 ≤ hits ≤ count and count is above 0.
    """
    if not 0 <= hits <= count or count < 1:
        raise ValueError(f"no such share: {hits} of {count}")
    z = normal_quantile(WILSON_QUANTILE)
    share, spread = hits / count, z * z / count
    middle = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / count + spread / (4 * count)) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


def calibration_word(
    guesses: Sequence[Guessed],
) -> Literal["over-confident", "under-confident"] | None:
    """Return a word if n ≥ 20 and |Σp − Σhit| > 1.96 · √Σp(1−p); else None."""
    if len(guesses) < STRIP_MINIMUM:
        return None
    chances = [each.percent / 100 for each in guesses]
    surplus = math.fsum(chances) - sum(1 for each in guesses if each.hit)
    bound = WORD_Z * math.sqrt(math.fsum(p * (1 - p) for p in chances))
    if abs(surplus) <= bound:
        return None
    return "over-confident" if surplus > 0 else "under-confident"


def calibration_strip(guesses: Sequence[Guessed]) -> Strip | None:
    """Return hits by confidence level; None below 20 predictions in all.

    Raises ValueError for a confidence that is not one of the levels.
    """
    if odd := sorted({each.percent for each in guesses} - set(CONFIDENCE_LEVELS)):
        raise ValueError(f"confidences are {CONFIDENCE_LEVELS} %, not {odd}")
    if len(guesses) < STRIP_MINIMUM:
        return None
    levels = []
    for percent in CONFIDENCE_LEVELS:
        at_level = [each for each in guesses if each.percent == percent]
        hits, count = sum(1 for each in at_level if each.hit), len(at_level)
        interval = wilson(hits, count) if count >= STRIP_LEVEL_MINIMUM else None
        levels.append(Level(percent, hits, count, interval))
    return Strip(tuple(levels), calibration_word(guesses))

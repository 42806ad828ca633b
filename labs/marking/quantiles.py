"""Quantiles of the normal and of Student's t, without a statistics package."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist


def normal_quantile(probability: float) -> float:
    """Return z with P(Z ≤ z) = probability. Raises ValueError outside (0, 1)."""
    if not 0 < probability < 1:
        raise ValueError(f"a probability lies between 0 and 1: {probability}")
    return NormalDist().inv_cdf(probability)


def _within(t: float, freedom: int) -> float:
    """Return P(|T| ≤ t) for whole degrees of freedom.

    Source: Abramowitz and Stegun 1964, 26.7.3 and 26.7.4: finite sums of powers of a cosine.
    """
    angle = math.atan(t / math.sqrt(freedom))
    cosine, sine = math.cos(angle), math.sin(angle)
    odd = freedom % 2
    term, total = (cosine if odd else 1.0), 0.0
    for exponent in range(odd, freedom - 1, 2):
        total += term
        term *= cosine * cosine * (exponent + 1) / (exponent + 2)
    return (angle + sine * total) * 2 / math.pi if odd else sine * total


@lru_cache(maxsize=512)
def t_quantile(probability: float, freedom: int) -> float:
    """Return t with P(T ≤ t) = probability, for Student's t with whole degrees of freedom.

    Raises ValueError if the probability is outside [0.5, 1) or ``freedom`` is below 1.
    """
    if not 1 / 2 <= probability < 1 or freedom < 1:
        raise ValueError(f"no such quantile: {probability=} {freedom=}")
    wanted = 2 * probability - 1
    low, high = 0.0, 1.0
    while _within(high, freedom) < wanted:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if _within(middle, freedom) < wanted:
            low = middle
        else:
            high = middle
    return (low + high) / 2

"""PromQL's functions on the samples of one series, and on the buckets of one histogram, by Prometheus' rules."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from labs.instruments.promql.series import Point


def extrapolated(
    points: Sequence[Point], from_s: float, to_s: float, *, is_counter: bool, is_rate: bool
) -> float | None:
    """Return ``increase``, ``rate`` or ``delta`` over a window as Prometheus does, or None of fewer than two samples.

    The growth between the first and the last sample, resets counted from 0, is stretched to the
    window's ends if they are nearer than 1.1 sample intervals, else by half an interval; never
    further back than where a counter would have been 0.
    """
    if len(points) < 2:  # noqa: PLR2004
        return None
    values = [value for _, value in points]
    growth = values[-1] - values[0]
    if is_counter:
        growth += sum(before for before, after in pairwise(values) if after < before)
    sampled_s = points[-1][0] - points[0][0]
    every_s = sampled_s / (len(points) - 1)
    before_s, after_s = points[0][0] - from_s, to_s - points[-1][0]
    if before_s >= 1.1 * every_s:
        before_s = every_s / 2
    if after_s >= 1.1 * every_s:
        after_s = every_s / 2
    if is_counter and growth > 0 and values[0] >= 0:
        before_s = min(before_s, sampled_s * values[0] / growth)
    stretched = growth * (sampled_s + before_s + after_s) / sampled_s
    return stretched / (to_s - from_s) if is_rate else stretched


def instant_rate(points: Sequence[Point]) -> float | None:
    """Return ``irate``: the growth between the last two samples, per second."""
    if len(points) < 2:  # noqa: PLR2004
        return None
    (before_s, before), (after_s, after) = points[-2:]
    return (after - before if after >= before else after) / (after_s - before_s)


OVER_TIME: dict[str, Callable[[Sequence[float]], float]] = {
    "avg_over_time": lambda values: math.fsum(values) / len(values),
    "max_over_time": max,
    "min_over_time": min,
    "sum_over_time": math.fsum,
    "count_over_time": lambda values: float(len(values)),
    "last_over_time": lambda values: values[-1],
    "changes": lambda values: float(sum(a != b for a, b in pairwise(values))),
    "resets": lambda values: float(sum(b < a for a, b in pairwise(values))),
}


def quantile(share: float, values: Sequence[float]) -> float:
    """Return PromQL's ``quantile``: linear between order statistics; NaN of nothing."""
    if not values or math.isnan(share):
        return math.nan
    if not 0 <= share <= 1:
        return math.inf if share > 1 else -math.inf
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def bucket_quantile(share: float, buckets: Sequence[tuple[float, float]]) -> float:
    """Return ``histogram_quantile`` of (upper bound, cumulative count) pairs, by bound, +Inf last.

    Linear within a bucket from its lower bound, which is 0 for the first; the last finite bound for what lies
    beyond it. NaN of no observation or without +Inf.
    """
    if len(buckets) < 2 or buckets[-1][0] != math.inf or math.isnan(share):  # noqa: PLR2004
        return math.nan
    if not 0 <= share <= 1:
        return math.inf if share > 1 else -math.inf
    # Rates of neighbouring buckets can cross by a rounding.
    counts: list[float] = []
    for _, count in buckets:
        counts.append(max(count, counts[-1]) if counts else count)
    if not counts[-1] > 0:
        return math.nan
    rank = share * counts[-1]
    place = next((i for i, count in enumerate(counts[:-1]) if count >= rank), len(counts) - 1)
    if place == len(counts) - 1:
        return buckets[-2][0]
    bound = buckets[place][0]
    if place == 0 and bound <= 0:
        return bound
    low, below = (buckets[place - 1][0], counts[place - 1]) if place else (0.0, 0.0)
    inside = counts[place] - below
    return low + (bound - low) * (rank - below) / inside if inside else low

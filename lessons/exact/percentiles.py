"""Percentiles: of values, of buckets, of all gaps or of each stream, and of a fleet with one slow replica."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from labs.instruments.promql.functions import bucket_quantile
from labs.simulator.metrics import percentile
from lessons.exact.draws import generator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    type Floats = NDArray[np.float64]

_NORMAL = NormalDist()


def quantile(values: Sequence[float], share: float) -> float:
    """Return numpy's default quantile: linear between order statistics, at place share x (n - 1) from 0.

    Raises ValueError for no values or a share outside 0 to 1.
    """
    return percentile(values, 100 * share)


def histogram_quantile(values: Sequence[float], bounds: Sequence[float], share: float) -> float:
    """Return what Prometheus makes of ``values`` that a histogram with these upper bounds has counted.

    Linear within the bucket that the quantile falls into, so it knows no more than the bounds: whatever
    lies beyond the last finite bound reads as that bound. NaN of no values.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    edges = [*sorted(bounds), math.inf]
    counts = np.searchsorted(ordered, edges, side="right")
    return bucket_quantile(share, [(edge, float(n)) for edge, n in zip(edges, counts, strict=True)])


# ------------------------------------------------------------------- over gaps, over streams


@dataclass(frozen=True)
class Freezes:
    """Streams of which some stop once, for a recompute and a wait before it. Scenario constants, all of them."""

    streams: int = 400
    tokens: int = 500
    """Gaps of each stream."""
    gap_ms: float = 25.0
    jitter_ms: float = 1.3
    """Standard deviation of a gap, normal."""
    frozen_share: float = 0.30
    recompute_ms: float = 142.0
    """2,000 tokens at 0.071 ms."""
    wait_ms: float = 1_500.0
    """Mean of the exponential wait of a victim for memory; it is the next to get some."""
    queue_ms: float = 0.0
    """What a victim waits more where it goes to the tail of the queue; vLLM puts it at the head."""


def stream_gaps_ms(freezes: Freezes, seed: int) -> Floats:
    """Return the gaps between tokens, milliseconds, of shape (streams, tokens); 400 x 500 take 0.02 s.

    Two policies with one seed have the same gaps but for ``queue_ms`` in each freeze.
    """
    rng = generator("stream gaps", seed)
    gaps_ms = np.maximum(
        0.1,
        freezes.gap_ms + freezes.jitter_ms * rng.standard_normal((freezes.streams, freezes.tokens)),
    )
    frozen = np.arange(round(freezes.frozen_share * freezes.streams))
    at = rng.integers(freezes.tokens, size=len(frozen))
    wait_ms = freezes.wait_ms * rng.standard_exponential(len(frozen))
    gaps_ms[frozen, at] = freezes.recompute_ms + freezes.queue_ms + wait_ms
    return gaps_ms


def over_gaps(gaps: Floats, share: float) -> float:
    """Return the quantile of all gaps together, whosever they are; ``gaps`` is (streams, tokens)."""
    return float(np.quantile(gaps, share))


def over_streams(gaps: Floats, share: float) -> float:
    """Return the quantile, over streams, of each stream's longest gap; ``gaps`` is (streams, tokens)."""
    return float(np.quantile(gaps.max(axis=1), share))


def share_that_meets(rate: float, gaps: int) -> float:
    """Return the share of streams of ``gaps`` gaps with at least one slow, if a share ``rate`` is, at random: 1 - (1 - q)^n.

    Raises ValueError for a rate outside [0, 1).
    """
    if not 0 <= rate < 1:
        raise ValueError(f"a share of slow gaps lies between 0 and 1: {rate}")
    return float(-np.expm1(gaps * np.log1p(-rate)))


def share_that_met_one(events: int, streams: int) -> float:
    """Return the share of streams that meet at least one of ``events`` that strike streams at random."""
    return float(-np.expm1(events * np.log1p(-1 / streams))) if streams > 1 else float(events > 0)


# ------------------------------------------------------------- a fleet with one slow replica


@dataclass(frozen=True)
class Fleet:
    """Replicas that share traffic evenly, one of them slower: lognormal latencies of median 1, in units of it."""

    replicas: int = 8
    sigma: float = 0.25
    """Of the logarithm of a latency. Scenario constant."""
    slow_factor: float = 1.3
    """Latency of the slow replica over that of the others. Scenario constant."""

    def __post_init__(self) -> None:
        """Refuse a fleet of nobody."""
        if self.replicas < 1 or self.sigma <= 0 or self.slow_factor <= 0:
            raise ValueError(f"not a fleet: {self}")

    def healthy_quantile(self, share: float) -> float:
        """Return the quantile of a healthy replica alone."""
        return math.exp(self.sigma * _NORMAL.inv_cdf(share))

    def slow_quantile(self, share: float) -> float:
        """Return the quantile of the slow replica alone."""
        return self.slow_factor * self.healthy_quantile(share)

    def beyond(self, latency: float) -> tuple[float, float]:
        """Return the shares of all traffic that exceed ``latency``: of healthy replicas, of the slow one."""
        slow = 1 / self.replicas
        return (
            (1 - slow) * (1 - _NORMAL.cdf(math.log(latency) / self.sigma)),
            slow * (1 - _NORMAL.cdf(math.log(latency / self.slow_factor) / self.sigma)),
        )

    def quantile(self, share: float) -> float:
        """Return the quantile of all traffic together, by bisection to the last digit."""
        low, high = sorted((self.healthy_quantile(share), self.slow_quantile(share)))
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if sum(self.beyond(middle)) > 1 - share else (low, middle)
        return (low + high) / 2

    def tail_from_slow(self, share: float) -> float:
        """Return how much of what lies beyond the fleet's quantile comes from the slow replica."""
        healthy, slow = self.beyond(self.quantile(share))
        return slow / (healthy + slow)

    def slow_place(self, share: float) -> float:
        """Return which quantile of the slow replica is the fleet's: as a share, like 0.95 for its p95."""
        _, slow = self.beyond(self.quantile(share))
        return 1 - slow * self.replicas

    def slow_place_bound(self, share: float) -> float:
        """Return the least that ``slow_place`` can be: 1 - (1 - share) x replicas, all of the tail being the slow one's.

        It is reached as ``slow_factor`` grows. 0 where one replica holds no more traffic than the tail.
        """
        return max(0.0, 1 - (1 - share) * self.replicas)

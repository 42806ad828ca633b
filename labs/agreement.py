"""How far two people agree on points: quadratically weighted kappa, with an interval by the jackknife. Pure.

The interval leaves out one attempt at a time, with all its items, since items of one attempt are not independent:
Fleiss and Davies, "Jackknifing functions of multinomial frequencies, with an application to a measure of
concordance", American Journal of Epidemiology 115 (1982), 841-845.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from labs.marking.agreement import weighted_kappa

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

LEAST_ATTEMPTS = 10
"""Below this many attempts nothing is shown: the interval would cover almost everything."""
SUBSTANTIAL = 0.6
"""From here on, readers' squared distance is at most 0.4 of what chance would give."""
HALVES = 2
"""Points come in halves; kappa counts whole steps, and does not change with the size of a step."""
LEFT = -0.5
"""The left end of the axis on which kappas are drawn."""
_NORMAL_95 = 1.96

type Pairs = Sequence[tuple[float, float]]
"""What one reader gave and what the other did, an item each."""


@dataclass(frozen=True)
class Agreement:
    """How far one reader's points agree with another's."""

    attempts: int
    pairs: int
    kappa: float | None
    """None below LEAST_ATTEMPTS."""
    low: float | None = None
    high: float | None = None
    milder: float = 0.0
    """Points that the first gives more than the second, per item, on average."""

    @property
    def x(self) -> str:
        return place(self.kappa)

    @property
    def x_low(self) -> str:
        return place(self.low)

    @property
    def x_high(self) -> str:
        return place(self.high)

    @property
    def is_low(self) -> bool:
        """Whether it lies below SUBSTANTIAL with its whole interval."""
        return self.high is not None and self.high < SUBSTANTIAL


def place(kappa: float | None) -> str:
    """Return where a kappa stands on an axis from LEFT to 1, in percent; what lies left of it stands at its end."""
    share = (max(kappa or 0.0, LEFT) - LEFT) / (1 - LEFT)
    return f"{100 * share:.2f}%"


def agreement(clusters: Sequence[Pairs]) -> Agreement:
    """Return how far pairs of points agree; ``clusters`` holds those of an attempt each."""
    clusters = [each for each in clusters if each]
    pairs = [pair for cluster in clusters for pair in cluster]
    attempts = len(clusters)
    milder = sum(one - other for one, other in pairs) / len(pairs) if pairs else 0.0
    if attempts < LEAST_ATTEMPTS:
        return Agreement(attempts, len(pairs), None, milder=milder)
    ones, others = (tuple(_steps(pair[side]) for pair in pairs) for side in (0, 1))
    kappa = weighted_kappa(ones, others)
    left_out = without_each(clusters)
    spread = float(np.sqrt((attempts - 1) / attempts * np.sum((left_out - left_out.mean()) ** 2)))
    reach = _NORMAL_95 * spread
    return Agreement(
        attempts, len(pairs), kappa, max(-1.0, kappa - reach), min(1.0, kappa + reach), milder
    )


def without_each(clusters: Sequence[Pairs]) -> NDArray[np.float64]:
    """Return the kappa of all pairs but those of one cluster, for each cluster in turn."""
    pairs = [pair for cluster in clusters for pair in cluster]
    lowest = min(_steps(each) for pair in pairs for each in pair)
    levels = max(_steps(each) for pair in pairs for each in pair) - lowest + 1
    observed = np.zeros(len(clusters))
    ours, theirs = np.zeros((len(clusters), levels)), np.zeros((len(clusters), levels))
    for place, cluster in enumerate(clusters):
        for one, other in cluster:
            i, j = _steps(one) - lowest, _steps(other) - lowest
            observed[place] += (i - j) ** 2
            ours[place, i] += 1
            theirs[place, j] += 1
    left = observed.sum() - observed
    ours, theirs = ours.sum(axis=0) - ours, theirs.sum(axis=0) - theirs
    apart = np.subtract.outer(np.arange(levels), np.arange(levels)) ** 2
    by_chance = np.einsum("ci,ij,cj->c", ours, apart, theirs) / ours.sum(axis=1)
    share = np.divide(left, by_chance, out=np.zeros_like(left), where=by_chance > 0)
    kappas: NDArray[np.float64] = 1.0 - share
    return kappas


def _steps(points: float) -> int:
    return round(points * HALVES)

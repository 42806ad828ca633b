"""Two versions compared: how far one is off from itself, how many runs a difference needs, and what is left of a gain."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from lessons.exact.draws import generator

if TYPE_CHECKING:
    from collections.abc import Sequence

_NORMAL = NormalDist()
_MOST_RUNS = 10_000


def amdahl(share: float, factor: float) -> float:
    """Return the speedup of a whole of which ``share`` runs ``factor`` times as fast: 1 / (1 - f + f / s).

    Raises ValueError for a share outside 0 to 1 or a factor that is not above 0. Source: Amdahl 1967.
    """
    if not 0 <= share <= 1 or factor <= 0:
        raise ValueError(f"no speedup of {factor} on {share} of a whole")
    return 1 / (1 - share + share / factor)


def waterfall(shares: Sequence[tuple[str, float, float]]) -> tuple[tuple[str, float], ...]:
    """Return (name, what is left of the time) after each of ``shares`` (name, share of the time, factor) is applied.

    Shares are of the time before any of it, and do not overlap. Raises ValueError if they add up to more than 1.
    """
    if sum(share for _, share, _ in shares) > 1 + 1e-9:
        raise ValueError("shares of one time add up to at most 1")
    left, found = 1.0, []
    for name, share, factor in shares:
        left -= share - share / factor
        found.append((name, left))
    return tuple(found)


# ---------------------------------------------------------------------------- Student's t


def student_cdf(t: float, degrees: float) -> float:
    """Return the distribution function of Student's t, by a continued fraction of the incomplete beta function.

    Raises ValueError for degrees of freedom that are not above 0. Source: Press et al., Numerical Recipes, 6.4.
    """
    if degrees <= 0:
        raise ValueError(f"no t has {degrees} degrees of freedom")
    whole = degrees + t * t
    tail = _beta(degrees / whole, t * t / whole, degrees / 2, 0.5) / 2
    return 1 - tail if t > 0 else tail


def student_quantile(share: float, degrees: float) -> float:
    """Return the quantile of Student's t by bisection, to 1e-10. Raises ValueError for a share outside (0, 1)."""
    if not 0 < share < 1:
        raise ValueError(f"a share lies between 0 and 1: {share}")
    low, high = -1.0, 1.0
    while student_cdf(low, degrees) > share:
        low *= 2
    while student_cdf(high, degrees) < share:
        high *= 2
    while high - low > 1e-10 * max(1.0, abs(low)):
        middle = (low + high) / 2
        low, high = (middle, high) if student_cdf(middle, degrees) < share else (low, middle)
    return (low + high) / 2


def _beta(x: float, rest: float, a: float, b: float) -> float:
    """Return the regularized incomplete beta function I_x(a, b); ``rest`` is 1 - x, to all its digits."""
    if 0.0 in {x, rest}:
        return x
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(rest, x, b, a)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(log_front + a * math.log(x) + b * math.log(rest)) / a
    # Lentz's method.
    c = 1.0
    d = 1 / (1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, 500):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / (1 + term * d)
            c = 1 + term / c
            fraction *= c * d
        if abs(c * d - 1) < 1e-15:  # noqa: PLR2004  (a double's precision)
            break
    return front * fraction


# ------------------------------------------------------------------------------- A/A, A/B


def false_alarms(difference: float, run_cv: float, runs: int = 1) -> float:
    """Return how often two equal versions differ by at least ``difference``, as shares of their mean.

    ``run_cv`` is the standard deviation of one run over the mean, normal and known; ``runs`` each.
    """
    return 2 * _NORMAL.cdf(-abs(difference) / (run_cv * math.sqrt(2 / runs)))


def runs_needed(
    difference: float, run_cv: float, *, power: float = 0.80, level: float = 0.05
) -> int:
    """Return the runs of each version at which a true ``difference`` shows with ``power``: the textbook formula.

    n = 2 (z(1 - level/2) + z(power))² (cv / difference)², rounded up. It takes the spread as known: with the
    spread estimated from the same few runs, ``runs_needed_by_t`` says how many it really takes.
    """
    z = _NORMAL.inv_cdf(1 - level / 2) + _NORMAL.inv_cdf(power)
    return math.ceil(2 * (z * run_cv / difference) ** 2)


def t_power(difference: float, run_cv: float, runs: int, *, level: float = 0.05) -> float:
    """Return how often a two-sided t-test of ``runs`` runs each sees a true ``difference``.

    The noncentral t integrated over the estimated spread (chi), on 2,001 points: exact to 1e-4.
    Raises ValueError for fewer than 2 runs.
    """
    if runs < 2:  # noqa: PLR2004  (one run has no spread)
        raise ValueError("a spread needs at least 2 runs")
    degrees = 2 * runs - 2
    critical = student_quantile(1 - level / 2, degrees)
    shift = abs(difference) / (run_cv * math.sqrt(2 / runs))
    # The estimated spread over the true one.
    spread = 1 / math.sqrt(2 * degrees)
    ratio = np.linspace(max(1e-9, 1 - 8 * spread), 1 + 8 * spread, 2_001)
    weight = np.exp((degrees - 1) * np.log(ratio) - degrees * (ratio**2 - 1) / 2)
    seen = [
        _NORMAL.cdf(shift - critical * r) + _NORMAL.cdf(-shift - critical * r)
        for r in ratio.tolist()
    ]
    return float(np.array(seen) @ weight / weight.sum())


def runs_needed_by_t(
    difference: float, run_cv: float, *, power: float = 0.80, level: float = 0.05
) -> int:
    """Return the least runs of each version at which the t-test has ``power``; see ``t_power``.

    Raises ValueError if it takes more than 10,000.
    """
    first = max(2, runs_needed(difference, run_cv, power=power, level=level) - 1)
    for runs in range(first, _MOST_RUNS + 1):
        if t_power(difference, run_cv, runs, level=level) >= power:
            return runs
    raise ValueError(f"{difference:g} does not show in {_MOST_RUNS} runs")


def run_results(
    mean: float, run_cv: float, runs: int, seed: int, *, version: str = "A"
) -> tuple[float, ...]:
    """Return what ``runs`` runs of a benchmark print: normal around ``mean``. Scenario: no drift, no warm-up."""
    drawn = generator(f"runs of {version}", seed).standard_normal(runs)
    return tuple((mean * (1 + run_cv * drawn)).tolist())


@dataclass(frozen=True)
class Difference:
    """The mean of ``b`` less that of ``a``, and how sure it is."""

    difference: float
    low: float
    high: float
    degrees: float
    """Of freedom; NaN where none are assumed."""
    p_value: float
    """How often two equal versions would differ as much; NaN where it is not computed."""

    @property
    def crosses_zero(self) -> bool:
        """True if the interval holds no difference at all."""
        return self.low <= 0 <= self.high


def welch(a: Sequence[float], b: Sequence[float], *, level: float = 0.05) -> Difference:
    """Return Welch's comparison, which lets the two spreads differ; ``low`` to ``high`` covers 1 - ``level``.

    Raises ValueError for fewer than 2 values on a side, or no spread at all. Source: Welch 1947.
    """
    if min(len(a), len(b)) < 2:  # noqa: PLR2004  (one value has no spread)
        raise ValueError("Welch's comparison needs two values on each side")
    one, other = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    parts = [float(side.var(ddof=1)) / len(side) for side in (one, other)]
    error = math.sqrt(sum(parts))
    if error == 0:
        raise ValueError("values without any spread cannot be compared")
    degrees = sum(parts) ** 2 / sum(
        part**2 / (len(side) - 1) for part, side in zip(parts, (one, other), strict=True)
    )
    difference = float(other.mean() - one.mean())
    margin = student_quantile(1 - level / 2, degrees) * error
    p_value = 2 * student_cdf(-abs(difference) / error, degrees)
    return Difference(difference, difference - margin, difference + margin, degrees, p_value)


def bootstrap(
    a: Sequence[float],
    b: Sequence[float],
    seed: int,
    *,
    resamples: int = 2_000,
    level: float = 0.05,
) -> Difference:
    """Return the percentile interval of the difference of means over ``resamples`` drawings with replacement.

    2,000 of 50 values take 0.01 s. Of fewer than about 10 values the interval is too narrow: use ``welch``.
    Raises ValueError for an empty side. Source: Efron 1979.
    """
    if not a or not b:
        raise ValueError("a bootstrap needs values on each side")
    rng = generator("bootstrap", seed)
    means = []
    for side in (a, b):
        values = np.asarray(side, dtype=np.float64)
        means.append(values[rng.integers(len(values), size=(resamples, len(values)))].mean(axis=1))
    low, high = np.quantile(means[1] - means[0], [level / 2, 1 - level / 2]).tolist()
    return Difference(float(np.mean(b) - np.mean(a)), float(low), float(high), math.nan, math.nan)

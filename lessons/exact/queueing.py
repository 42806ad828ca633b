"""A queue with one server: how long one waits, by formula, by recursion, and exactly at every percentile.

Requests come at random (Poisson) at ``rate_rps`` and are served one at a time, first come, first served, for times
of mean E[S] and squared coefficient of variation CV² = Var[S] / E[S]². The load is ρ = rate x E[S], below 1.
A prefill queue is close to it: the engine works on one prompt at a time, as long as prompts are not cut.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

import numpy as np

from lessons.exact.draws import generator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    type Floats = NDArray[np.float64]

type Family = Literal["deterministic", "exponential", "lognormal", "hyperexponential"]

_GRID = 1 << 16
"""Points of the time axis on which distributions are computed."""
_NORMAL = NormalDist()


@dataclass(frozen=True)
class Service:
    """A distribution of service times, given by its first two moments and its family."""

    mean_s: float
    cv2: float
    """Squared coefficient of variation: 0 deterministic, 1 exponential."""
    family: Family = "lognormal"

    def __post_init__(self) -> None:
        """Refuse moments that the family cannot have."""
        if not (self.mean_s > 0 and self.cv2 >= 0):
            raise ValueError(f"no service has {self.mean_s=} and {self.cv2=}")
        allowed = {
            "deterministic": self.cv2 == 0,
            "exponential": self.cv2 == 1,
            "hyperexponential": self.cv2 >= 1,
            "lognormal": self.cv2 > 0,
        }
        if not allowed[self.family]:
            raise ValueError(f"no {self.family} service has CV² {self.cv2}")

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """Return ``count`` service times, seconds, shape (count,)."""
        match self.family:
            case "deterministic":
                return np.full(count, self.mean_s)
            case "exponential":
                return self.mean_s * rng.standard_exponential(count)
            case "lognormal":
                sigma = math.sqrt(math.log1p(self.cv2))
                deviates = rng.standard_normal(count)
                return self.mean_s * np.exp(sigma * deviates - sigma * sigma / 2)
            case "hyperexponential":
                share, fast_s, slow_s = self._branches()
                means = np.where(rng.random(count) < share, fast_s, slow_s)
                return means * rng.standard_exponential(count)

    def cdf(self, times_s: Floats) -> Floats:
        """Return P(S <= t) for each of ``times_s``, seconds, not negative; same shape."""
        match self.family:
            case "deterministic":
                return np.where(times_s >= self.mean_s, 1.0, 0.0)
            case "exponential":
                return -np.expm1(-times_s / self.mean_s)
            case "lognormal":
                sigma = math.sqrt(math.log1p(self.cv2))
                safe = np.maximum(times_s, 1e-300)
                deviates = (np.log(safe / self.mean_s) + sigma * sigma / 2) / sigma
                return _normal_cdf(deviates)
            case "hyperexponential":
                share, fast_s, slow_s = self._branches()
                fast, slow = -np.expm1(-times_s / fast_s), -np.expm1(-times_s / slow_s)
                return share * fast + (1 - share) * slow

    def _branches(self) -> tuple[float, float, float]:
        """Return (share, mean, other mean) of two exponentials with balanced means: each gives half of E[S]."""
        share = (1 + math.sqrt((self.cv2 - 1) / (self.cv2 + 1))) / 2
        return share, self.mean_s / (2 * share), self.mean_s / (2 * (1 - share))


def service(mean_s: float, cv2: float) -> Service:
    """Return a service with these moments: deterministic for CV² 0, otherwise lognormal, as lengths of prompts are."""
    return Service(mean_s, cv2, "lognormal" if cv2 else "deterministic")


def _normal_cdf(deviates: Floats) -> Floats:
    """Return the standard normal distribution function, by interpolation in a table exact to 1e-9."""
    points, values = _normal_table()
    return np.interp(deviates, points, values)


@cache
def _normal_table() -> tuple[Floats, Floats]:
    points = np.linspace(-9.0, 9.0, 36_001)
    return points, np.array([_NORMAL.cdf(point) for point in points.tolist()])


def _load(rate_rps: float, mean_s: float) -> float:
    load = rate_rps * mean_s
    if not 0 <= load < 1:
        raise ValueError(f"a queue stays finite for loads of 0 to below 1, not {load:.3g}")
    return load


# ------------------------------------------------------------------------------------ means


def pollaczek_khinchine_s(rate_rps: float, served: Service) -> float:
    """Return the mean wait before service, seconds: W = ρ E[S] (1 + CV²) / (2 (1 - ρ)).

    Raises ValueError for a load of 1 or more. Source: Pollaczek 1930, Khinchine 1932.
    """
    load = _load(rate_rps, served.mean_s)
    return load * served.mean_s * (1 + served.cv2) / (2 * (1 - load))


def processor_sharing_s(rate_rps: float, mean_s: float, own_s: float) -> float:
    """Return the mean time in system, seconds, of work of ``own_s`` on a server that all share equally: own / (1 - ρ).

    The spread of the others' work does not matter. Chunked prefill lies between this and first come, first
    served: a short prompt gets through in the budget that a long one leaves. Source: Kleinrock 1967.
    """
    return own_s / (1 - _load(rate_rps, mean_s))


def in_queue(rate_rps: float, mean_time_s: float) -> float:
    """Return how many are in a system on average: L = λ W. Source: Little 1961."""
    return rate_rps * mean_time_s


def implied_rate_rps(in_system: float, mean_time_s: float) -> float:
    """Return the arrivals a second that a queue and its mean time imply: λ = L / W.

    For the age of the oldest in a first-come queue, see ``lessons.quantities.arrivals_per_s``.
    Raises ValueError for a time that is not above 0.
    """
    if mean_time_s <= 0:
        raise ValueError(f"nobody is in a system for {mean_time_s} s")
    return in_system / mean_time_s


# -------------------------------------------------------------------------------- recursion


@dataclass(frozen=True)
class Waits:
    """What each request of a simulated queue met, seconds; all of shape (requests,)."""

    wait_s: Floats
    service_s: Floats

    @property
    def sojourn_s(self) -> Floats:
        """Time from arrival to the end of service: of a prefill queue, the time to first token."""
        return self.wait_s + self.service_s


def lindley(rate_rps: float, served: Service, *, count: int, seed: int, discard: int = 0) -> Waits:
    """Simulate ``count`` requests by Lindley's recursion W' = max(0, W + S - A), after ``discard`` others.

    A page uses up to 400,000 requests (0.05 s). Neighbours' waits are correlated: at ρ = 0.9 even so many leave an
    error of a few percent in the mean. Raises ValueError for a load of 1 or more. Source: Lindley 1952.
    """
    _load(rate_rps, served.mean_s)
    total = count + discard
    gaps_s = generator("arrivals", seed).standard_exponential(total) / rate_rps
    service_s = served.draw(total, generator("services", seed))
    steps = np.concatenate([[0.0], service_s[:-1] - gaps_s[1:]])
    walk = np.cumsum(steps)
    # The recursion in closed form: the walk's height over the lowest point so far.
    wait_s = walk - np.minimum.accumulate(walk)
    return Waits(wait_s[discard:], service_s[discard:])


# ------------------------------------------------------------------- the whole distribution


def sojourn_quantile_s(rate_rps: float, served: Service, share: float) -> float:
    """Return the time from arrival to the end of service below which ``share`` of all requests stay, seconds.

    No simulation: the wait is a geometric sum of residual service times (the Pollaczek-Khinchine transform), computed
    on a grid of 65,536 points by Fourier transform, and service is added. The grid's step bounds the error,
    below 1 % of E[S] up to ρ = 0.9 and CV² = 4. Takes 0.02 s. Raises ValueError for a load of 1 or more, or a share
    outside (0, 1).
    """
    if not 0 < share < 1:
        raise ValueError(f"a share lies between 0 and 1: {share}")
    load = _load(rate_rps, served.mean_s)
    # Far enough for the tail to be nothing: fifty mean waits, and fifty services where nobody waits.
    span_s = 50 * (pollaczek_khinchine_s(rate_rps, served) + served.mean_s * (1 + served.cv2))
    step_s = span_s / _GRID
    edges_s = np.arange(_GRID + 1, dtype=np.float64) * step_s
    cdf = served.cdf(edges_s)
    # Mass of each cell stands at its middle; of the residual, whose density is (1 - F) / E[S], likewise.
    mass = np.diff(cdf)
    residual = (1 - (cdf[1:] + cdf[:-1]) / 2) * step_s / served.mean_s
    residual /= residual.sum()
    half = np.exp(-1j * np.pi * np.fft.rfftfreq(2 * _GRID))
    wait = (1 - load) / (1 - load * np.fft.rfft(residual, 2 * _GRID) * half)
    sojourn = np.fft.irfft(wait * np.fft.rfft(mass, 2 * _GRID) * half, 2 * _GRID)
    below = np.cumsum(sojourn)
    place = int(np.searchsorted(below, share * below[-1]))
    before = below[place - 1] if place else 0.0
    inside = below[place] - before
    return float((place - 0.5 + (share * below[-1] - before) / inside) * step_s)


def knee(
    served: Service, loads: Sequence[float], share: float = 0.99
) -> tuple[tuple[float, float], ...]:
    """Return (load, the ``share`` quantile of the sojourn in seconds) for each of ``loads``; 20 loads take 0.3 s."""
    return tuple((load, sojourn_quantile_s(load / served.mean_s, served, share)) for load in loads)

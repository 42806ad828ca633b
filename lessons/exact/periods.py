"""Gaps that come again: after so many steps or after so many seconds, and how two loads tell which.

Something that follows the engine's own work (a collector of garbage follows allocations, a rebalance counts steps)
comes after a constant number of steps; a timer (a scrape, a log line, a probe) after a constant time. At one load nobody
can tell them apart. At another load the steps take another time, and one of the two numbers stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from lessons.exact.draws import generator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labs.simulator.pauses import Pause

    type Floats = NDArray[np.float64]

SLOW_FACTOR = 2.0
"""A gap is slow from this many times the median on."""
TOLERANCE = 0.10
"""Two periods that differ by no more than this share are one."""


def token_times_s(
    pause: Pause, *, step_ms: float, steps: int, seed: int, jitter: float = 0.03
) -> Floats:
    """Return when each of ``steps`` steps of an engine ends, seconds, shape (steps,): busy from 0 on, without an idle moment.

    ``pause`` is the simulator's, and comes as it does there: by steps before every so-many-th step, by seconds at the end of
    the step under way. ``jitter`` is the standard deviation of a step over its mean. 20,000 steps take 0.01 s.
    """
    deviates = generator("steps", seed).standard_normal(steps)
    took_s = (step_ms / 1e3 * np.maximum(0.1, 1 + jitter * deviates)).tolist()
    left = steps if pause.times is None else pause.times
    due_s = pause.every_s or 0.0
    now_s, ends = 0.0, []
    for index in range(steps):
        if pause.every_steps is not None:
            if (index + 1) % pause.every_steps == 0 and left:
                now_s, left = now_s + pause.pause_s, left - 1
        elif pause.every_s is not None and due_s <= now_s and left:
            due_s = (now_s // pause.every_s + 1) * pause.every_s
            now_s, left = now_s + pause.pause_s, left - 1
        now_s += took_s[index]
        ends.append(now_s)
    return np.array(ends)


@dataclass(frozen=True)
class Spacing:
    """How far slow gaps are apart: medians, in steps and in seconds."""

    slow: int
    """How many there were."""
    steps: float
    seconds: float


def spacing(times_s: Floats, *, factor: float = SLOW_FACTOR) -> Spacing:
    """Return the spacing of the gaps of ``times_s`` (steps,) that are at least ``factor`` times the median gap.

    Raises ValueError if there are not three of them: fewer have no period.
    """
    gaps_s = np.diff(times_s)
    slow = np.flatnonzero(gaps_s >= factor * np.median(gaps_s))
    if len(slow) < 3:  # noqa: PLR2004  (two spacings)
        raise ValueError(f"{len(slow)} slow gaps have no period")
    return Spacing(
        slow=len(slow),
        steps=float(np.median(np.diff(slow))),
        seconds=float(np.median(np.diff(times_s[slow + 1]))),
    )


def constant_in(
    one: Spacing, other: Spacing, *, tolerance: float = TOLERANCE
) -> Literal["steps", "seconds", "both", "neither"]:
    """Return in which unit the period of two runs at different loads is the same; "both" if the loads are too alike."""
    steps = abs(one.steps / other.steps - 1) <= tolerance
    seconds = abs(one.seconds / other.seconds - 1) <= tolerance
    if steps and seconds:
        return "both"
    if steps or seconds:
        return "steps" if steps else "seconds"
    return "neither"


def autocorrelation(gaps: Floats, max_lag: int) -> Floats:
    """Return the correlation of ``gaps`` (n,) with themselves ``lag`` gaps later, for lags 0 to ``max_lag``.

    Shape (max_lag + 1,), 1 at lag 0. Raises ValueError for gaps without spread, or too few of them.
    """
    around = gaps - gaps.mean()
    power = float(around @ around)
    if power == 0 or len(gaps) <= max_lag:
        raise ValueError(f"{len(gaps)} gaps have no correlation at lag {max_lag}")
    size = 1 << (2 * len(gaps) - 1).bit_length()
    spectrum = np.fft.rfft(around, size)
    found = np.fft.irfft(spectrum * spectrum.conj(), size)[: max_lag + 1]
    return np.asarray(found / power, dtype=np.float64)


def by_seconds(times_s: Floats, *, bin_s: float) -> Floats:
    """Return the longest gap that ends in each bin of ``bin_s`` seconds, seconds; 0 where none ends."""
    place = (times_s[1:] / bin_s).astype(np.int64)
    found = np.zeros(int(place[-1]) + 1)
    np.maximum.at(found, place, np.diff(times_s))
    return found


def full_collection_allocations(thresholds: tuple[int, int, int] = (700, 10, 10)) -> int:
    """Return after how many net allocations of containers CPython's collector looks at its oldest generation.

    A count must exceed its threshold: the young generation after t0 + 1 allocations; the middle one at every (t1 + 2)th
    of those; the oldest one such turn after t2 + 1 of the middle: (t0 + 1) x ((t1 + 2)(t2 + 1) + 1) = 93,233, where the product
    of the thresholds suggests 70,000. Source: gc_collect_generations in CPython 3.12; measured there, 94,356 with one
    object in ten kept. What has survived since the last full collection must also exceed a quarter of all that is old, so it
    comes less often as more objects stay; 3.14 collects in another way.
    """
    young, middle, old = thresholds
    return (young + 1) * ((middle + 2) * (old + 1) + 1)

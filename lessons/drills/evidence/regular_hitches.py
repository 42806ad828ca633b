"""Drill 2.2: all streams hesitate together at a regular interval. Token times with a pause by steps or by seconds.

``lessons.exact.periods`` makes the times and finds the spacing, at a light hour and at a heavy one. What a collector
needs between two full collections follows from CPython's thresholds. Scenario constants: objects kept in a step, 550 ns for
each that is searched, pauses of the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from labs.simulator.pauses import Pause
from lessons.drills.evidence import Observed
from lessons.exact.draws import generator
from lessons.exact.periods import (
    SLOW_FACTOR,
    autocorrelation,
    full_collection_allocations,
    spacing,
    token_times_s,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labs.marking.table import Value

    type Floats = NDArray[np.float64]

OBJECT_NS = 550.0
"""Of a real engine's heap; source: sgl-project/sglang#28067, 41 s over 74.8 million objects."""
STEPS = 2_500
MAX_LAG = 200
_LOG_STEPS = (60, 80, 100)
_TIMER_S = (1.5, 2.0, 2.5)


@dataclass(frozen=True)
class Case:
    """One world: what a seed drew, and what holds the streams."""

    seed: int
    light_ms: float
    """A step in the light hour, and in the heavy one."""
    heavy_ms: float
    pause: Pause | None = None
    holds: str = "execute_model"
    """Where the engine's main thread stands in most samples of a pause."""
    in_kernels: bool = False
    """Whether the GPU works during the pause."""
    at_reader: bool = False
    """Whether the engine's own gaps are even."""
    collections: bool = False

    def times_s(self, step_ms: float, *, at_engine: bool = False) -> Floats:
        """Return when the tokens of a stream come at the reader, or leave the engine, seconds."""
        none = Pause(1e-3, every_steps=1, times=0)
        hidden = self.pause is None or (at_engine and self.at_reader)
        return token_times_s(
            none if hidden or self.pause is None else self.pause,
            step_ms=step_ms,
            steps=STEPS,
            seed=self.seed,
        )


def hitch_ms(times_s: Floats) -> float:
    """Return the median of the slow gaps, milliseconds; of all gaps, if none is slow."""
    gaps_s = np.diff(times_s)
    slow = gaps_s[gaps_s >= SLOW_FACTOR * np.median(gaps_s)]
    return 1e3 * float(np.median(slow if len(slow) else gaps_s))


def _case(world: str, seed: int) -> Case:
    rng = generator("drill-2.2", seed)
    light, heavy = float(rng.uniform(24, 27)), float(rng.uniform(37, 43))
    kept_a_step = float(rng.uniform(950, 1500))
    live = float(rng.uniform(190e3, 360e3))
    other_s = live * OBJECT_NS / 1e9 * float(rng.uniform(0.9, 1.1))
    log_steps = _LOG_STEPS[int(rng.integers(len(_LOG_STEPS)))]
    timer_s = _TIMER_S[int(rng.integers(len(_TIMER_S)))]
    calm = Case(seed, light, heavy)
    by_time = replace(calm, pause=Pause(other_s, every_s=timer_s))
    match world:
        case "collector":
            every = round(full_collection_allocations() / kept_a_step)
            found = Pause(live * OBJECT_NS / 1e9, every_steps=every)
            return replace(calm, pause=found, holds="gc_collect_main", collections=True)
        case "log":
            return replace(calm, pause=Pause(other_s, every_steps=log_steps), holds="write")
        case "scrape":
            return replace(by_time, holds="generate_latest")
        case "neighbour":
            return replace(by_time, holds="cudaEventSynchronize", in_kernels=True)
        case "reader":
            return replace(by_time, at_reader=True)
    raise KeyError(world)


_CURES = {
    "freeze": "collector",
    "disk": "log",
    "off_loop": "scrape",
    "move": "neighbour",
    "leave": "reader",
    "batch": None,
}


def observe(world: str, seed: int, fix: str | None = None) -> Observed:
    """Return what a world reads. A fix that is not the world's changes nothing. Takes 5 ms."""
    case = _case(world, seed)
    if fix is not None and _CURES[fix] == world:
        case = Case(seed, case.light_ms, case.heavy_ms)
    return _read(case)


@lru_cache(maxsize=64)
def _read(case: Case) -> Observed:
    light, heavy = case.times_s(case.light_ms), case.times_s(case.heavy_ms)
    engine_s = np.diff(case.times_s(case.light_ms, at_engine=True))
    values: dict[str, Value] = {
        "hitch_ms": hitch_ms(light),
        "steps_ratio": None,
        "period_s": None,
        "engine_p99_ms": 1e3 * float(np.quantile(engine_s, 0.995)),
        "holds": case.holds,
        "idle_share": None,
        "collected_share": None,
        "median_ms": 1e3 * float(np.median(np.diff(light))),
    }
    if case.pause is None:
        return Observed(values, _even(case, values))
    one, other = spacing(light), spacing(heavy)
    values["steps_ratio"] = one.steps / other.steps
    values["period_s"] = one.seconds
    idle = 0.0 if case.in_kernels or case.at_reader else 1.0
    values["idle_share"] = idle
    values["collected_share"] = float(case.collections)
    gaps_s = np.diff(light)
    again = autocorrelation(gaps_s, MAX_LAG)
    lag = int(again[20:].argmax()) + 20
    pause_ms = 1e3 * case.pause.pause_s
    busy_ms = 0.0 if case.at_reader else pause_ms
    whole = case.light_ms + busy_ms
    prints = {
        "loads": (
            f"light hour: {1e3 * np.median(gaps_s):5.1f} ms a step, {one.slow} hitches, {one.steps:.0f} steps or {one.seconds:.2f} s apart",
            f"heavy hour: {1e3 * np.median(np.diff(heavy)):5.1f} ms a step, {other.slow} hitches, {other.steps:.0f} steps or {other.seconds:.2f} s apart",
        ),
        "period": (
            f"autocorrelation of the gaps: highest at lag {lag}, {again[lag]:.2f}",
            f"hitches come every {one.seconds:.2f} s",
        ),
        "engine": (f"histogram of the engine's own gaps, p99.5: {values['engine_p99_ms']:.0f} ms",),
        "stacks": (f"main thread, samples during a hitch of the reader: {case.holds} in 19 of 20",),
        "timeline": (
            f"longest of 5 s, from step to step: {whole:.0f} ms",
            f"without a kernel: {busy_ms * idle:.0f} ms; in kernels: {whole - busy_ms * idle:.0f} ms",
        ),
        "collections": (
            f"hitches with a full collection in them: {one.slow if case.collections else 0} of {one.slow}",
        ),
        "median": (f"median gap: {values['median_ms']:.1f} ms",),
        "errors": ("errors and warnings, last hour: 0",),
    }
    return Observed(values, prints)


def _even(case: Case, read: dict[str, Value]) -> dict[str, tuple[str, ...]]:
    """Return what measurements print where no gap is twice the median: nothing has a period."""
    none = "no gap of twice the median"
    return {
        "loads": (f"light hour: {none}", f"heavy hour: {none}"),
        "period": (none,),
        "engine": (f"histogram of the engine's own gaps, p99.5: {read['engine_p99_ms']:.0f} ms",),
        "stacks": (f"main thread: {case.holds} in 19 of 20",),
        "timeline": (f"longest of 5 s, from step to step: {case.light_ms:.0f} ms",),
        "collections": ("full collections in a minute: 0",),
        "median": (f"median gap: {read['median_ms']:.1f} ms",),
        "errors": ("errors and warnings, last hour: 0",),
    }

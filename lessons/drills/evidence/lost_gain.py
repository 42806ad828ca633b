"""Drill 6.1: a kernel that nearly doubles the benchmark, and gives production a tenth. Amdahl's law and two kinds of load.

Every world has the same two numbers: what the benchmark gained and what production did. Which input of Amdahl's law
differs, or what limits production instead, is solved for from them (``lessons.exact.comparisons``, ``lessons.exact.loops``).
Scenario constants: the ranges of both gains, shares of prefill without and with cached prompts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from lessons.drills.evidence import Observed
from lessons.exact.comparisons import amdahl
from lessons.exact.draws import generator
from lessons.exact.loops import closed_loop_rps

if TYPE_CHECKING:
    from labs.marking.table import Value

SERVICE_S = 0.1
"""Of the engine for a request in a closed loop, before the change."""
BUSY_BEFORE = 0.93
"""How much of the time the engine worked before the change, in an open loop."""


@dataclass(frozen=True)
class Case:
    """One world: both numbers, and what lies between them."""

    bench_share: float
    """Of the benchmark's step that the change touches, f."""
    bench_factor: float
    """How much faster that part is at the benchmark's sizes, s."""
    share: float
    """The same two under production's traffic."""
    factor: float
    bench_hits: float
    hits: float
    """Prompt tokens found in the cache, of those asked for."""
    clients: int = 0
    """Callers who wait for their answers; 0: requests come when they come."""
    think_s: float = 0.0
    grown: float = 0.0
    """Requests a second in an open loop, over those before the change; 0: as many as can be served."""

    @property
    def bench_gain(self) -> float:
        """Throughput of the benchmark, new over old."""
        return amdahl(self.bench_share, self.bench_factor)

    @property
    def capacity_gain(self) -> float:
        """What production's engine can do, new over old."""
        return amdahl(self.share, self.factor)

    @property
    def gain(self) -> float:
        """Throughput of production, new over old."""
        if self.clients:
            return _closed_gain(self.clients, self.think_s, self.capacity_gain)
        return min(self.grown, self.capacity_gain) if self.grown else self.capacity_gain

    @property
    def idle_share(self) -> float:
        """How much of the time production's engine has nothing to do, after the change."""
        if self.clients:
            service_s = SERVICE_S / self.capacity_gain
            rate_rps = closed_loop_rps(
                clients=self.clients, think_s=self.think_s, service_s=service_s
            )
            return 1 - rate_rps * service_s
        return 1 - BUSY_BEFORE * self.gain / self.capacity_gain


def _closed_gain(clients: int, think_s: float, capacity_gain: float) -> float:
    before, after = (
        closed_loop_rps(clients=clients, think_s=think_s, service_s=each)
        for each in (SERVICE_S, SERVICE_S / capacity_gain)
    )
    return after / before


def _think_s(clients: int, capacity_gain: float, gain: float) -> float:
    """Return the thinking time at which so many callers gain ``gain``, by bisection: the longer, the less."""
    low, high = 0.0, 100.0 * SERVICE_S
    for _ in range(50):
        middle = (low + high) / 2
        more = _closed_gain(clients, middle, capacity_gain) > gain
        low, high = (middle, high) if more else (low, middle)
    return high


@lru_cache(maxsize=64)
def _case(world: str, seed: int) -> Case:
    rng = generator("drill-6.1", seed)
    bench_share, factor = float(rng.uniform(0.87, 0.93)), float(rng.uniform(1.9, 2.1))
    gain = float(rng.uniform(1.08, 1.13))
    hits, other_hits = (float(each) for each in rng.uniform(0.28, 0.38, 2))
    cached = float(rng.uniform(0.94, 0.98))
    clients = int(rng.integers(3, 6))
    same = Case(bench_share, factor, bench_share, factor, other_hits, hits)
    small = (1 - 1 / gain) / (1 - 1 / factor)
    match world:
        case "mix":
            return replace(same, share=small)
        case "cached":
            return replace(same, share=small, bench_hits=cached)
        case "sizes":
            return replace(same, factor=bench_share / (1 / gain - 1 + bench_share))
        case "callers":
            think_s = _think_s(clients, same.capacity_gain, gain)
            return replace(same, clients=clients, think_s=think_s)
        case "demand":
            return replace(same, grown=gain)
    raise KeyError(world)


_CURES = {
    "replay": "mix",
    "unique": "cached",
    "tune": "sizes",
    "more_callers": "callers",
    "leave": "demand",
    "longer": None,
}


def _mended(world: str, case: Case) -> Case:
    """Return the case after its fix: the benchmark asks what production asks, or production can use what it has."""
    match world:
        case "mix":
            return replace(case, bench_share=case.share)
        case "cached":
            return replace(case, bench_share=case.share, bench_hits=case.hits)
        case "sizes":
            return replace(case, factor=case.bench_factor)
        case "callers":
            return replace(case, clients=0)
        case _:
            # Compared by its time for a token, not by what happens to be asked of it.
            return replace(case, grown=0.0)


def observe(world: str, seed: int, fix: str | None = None) -> Observed:
    """Return what a world reads. A fix that is not the world's changes nothing. Takes 1 ms."""
    case = _case(world, seed)
    if fix is not None and _CURES[fix] == world:
        case = _mended(world, case)
    return _read(case, seed)


def _read(case: Case, seed: int) -> Observed:
    rng = generator("drill-6.1 noise", seed)
    off = (1 + 0.02 * rng.standard_normal(4)).tolist()
    share, factor = min(0.99, case.share * off[0]), case.factor * off[1]
    tuned = case.bench_factor * off[2]
    in_flight = case.clients or int(rng.integers(24, 60))
    util = float(rng.uniform(94, 99))
    values: dict[str, Value] = {
        "gap_ratio": case.bench_gain / case.gain,
        "share": share,
        "factor": factor,
        "hits_between": case.bench_hits - case.hits,
        "idle_share": case.idle_share,
        "in_flight": float(in_flight),
        "tuned_factor": tuned,
        "gpu_util": util,
    }
    prints = {
        "trace": (
            f"production's step, kernels that the change touches: {100 * share:.0f} % before it",
            f"their time before over after, at production's sizes: {factor:.2f}",
            f"1 / (1 - f + f / s) = {amdahl(share, factor):.2f}",
        ),
        "hits": (
            f"hits / queries in the benchmark   {case.bench_hits:.2f}",
            f"hits / queries in production      {case.hits:.2f}",
        ),
        "idle": (
            f"time without a request in the engine, last hour: {100 * case.idle_share:.0f} %",
        ),
        "in-flight": (f"most requests in the engine at once, last hour: {in_flight}",),
        "kernel": (f"the kernel alone, at the batch of the benchmark: {tuned:.2f} times as fast",),
        "rerun": (f"benchmark, again: new over old {case.bench_gain * off[3]:.2f}",),
        "utilisation": (f"GPU utilisation while requests run: {util:.0f} %",),
    }
    return Observed(values, prints)

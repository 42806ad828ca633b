"""Drill 4.10: the fleet's p99 a tenth up, eight replicas. Steps of each, regressed; the fleet's percentile in closed form.

A step takes a constant, a time for each sequence, each thousand tokens of context and each prompt token. Every replica
is given an eighth of the requests and has as many sequences as their time makes (Little). Worlds are drawn to one size: what ails a replica is as
large as makes its answers as much slower as the seed says. Scenario constants: the four coefficients (70B at TP4,
rounded), sigma 0.25, answers of 200 tokens after prompts of 2,000, half of them cached.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from lessons.drills.evidence import Observed
from lessons.exact.draws import generator
from lessons.exact.percentiles import Fleet

if TYPE_CHECKING:
    from labs.marking.table import Value

REPLICAS = 8
SIGMA = 0.25
CONSTANT_MS, SEQUENCE_MS, CONTEXT_MS, PREFILL_MS = 14.0, 0.06, 0.03, 0.071
"""Of a step; for a sequence, for 1,000 tokens of context, for a prompt token."""
SEQUENCES, CONTEXT_TOKENS, CHUNK_TOKENS = 32.0, 2100.0, 200.0
"""In a mean step of a healthy replica: sequences, context of each, prompt tokens."""
PROMPT_TOKENS, ANSWER_TOKENS = 2000.0, 200.0
HIT_SHARE = 0.5
CLOCK_MHZ = 1980.0
STEPS = 400

_EACH_MS = SEQUENCE_MS + CONTEXT_MS * CONTEXT_TOKENS / 1e3

type Floats = np.typing.NDArray[np.float64]


@dataclass(frozen=True)
class Replica:
    """What one replica's steps cost, and what it is given."""

    constant_ms: float = CONSTANT_MS
    prefill_ms: float = PREFILL_MS
    length: float = 1.0
    """Of its prompts, over those of the others."""
    hit_share: float = HIT_SHARE

    @property
    def new_tokens(self) -> float:
        """Prompt tokens that a request brings and the cache does not hold."""
        return PROMPT_TOKENS * self.length * (1 - self.hit_share)

    @property
    def chunk_tokens(self) -> float:
        """Prompt tokens in a mean step, at the healthy pace of steps."""
        return CHUNK_TOKENS * self.length * (1 - self.hit_share) / (1 - HIT_SHARE)

    @property
    def answer_ms(self) -> float:
        """Return the time of a median answer: its prompt's own prefill, and a step for each token.

        Steps hold as many sequences as come in that time, so that it stands on both sides; solved for it.
        """
        alone_ms = self.constant_ms + self.prefill_ms * self.chunk_tokens
        own_ms = self.prefill_ms * self.new_tokens + ANSWER_TOKENS * alone_ms
        return own_ms / (1 - ANSWER_TOKENS * _EACH_MS * SEQUENCES / HEALTHY_MS)

    @property
    def sequences(self) -> float:
        """Sequences in a mean step: at equal rates, as many more as answers take longer."""
        return SEQUENCES * self.answer_ms / HEALTHY_MS


HEALTHY_MS = PREFILL_MS * PROMPT_TOKENS * (1 - HIT_SHARE) + ANSWER_TOKENS * (
    CONSTANT_MS + PREFILL_MS * CHUNK_TOKENS + _EACH_MS * SEQUENCES
)
"""A median answer of a healthy replica."""


@dataclass(frozen=True)
class Case:
    """One world: what a seed drew, and what ails it."""

    seed: int
    odd: Replica = Replica()
    """One of eight; the others are healthy."""
    spread_factor: float = 1.0
    """How much longer an eighth of all requests take, whichever replica they meet."""
    graphs: str = "FULL_AND_PIECEWISE"
    started_h: float = 200.0
    """Hours since the odd replica's start."""
    name: int = 1
    """Which it is."""

    @property
    def fleet(self) -> Fleet:
        """Latencies of all requests: an eighth of them slower, on one replica or on all."""
        return Fleet(REPLICAS, SIGMA, self.spread_factor * self.odd.answer_ms / HEALTHY_MS)

    @property
    def p99_rise(self) -> float:
        """The fleet's p99 over that of a healthy one, less 1."""
        return self.fleet.quantile(0.99) / self.fleet.healthy_quantile(0.99) - 1

    @property
    def clock_mhz(self) -> float:
        """Prefill is bound by arithmetic, which follows the clock; decode by memory, which does not."""
        return CLOCK_MHZ * PREFILL_MS / self.odd.prefill_ms


def steps(replica: Replica, seed: int, name: int) -> tuple[Floats, Floats]:
    """Return what ``STEPS`` steps held, shape (steps, 4), and their times in milliseconds.

    Columns: 1, sequences, thousands of context tokens, prompt tokens.
    """
    rng = generator(f"drill-4.10 replica {name}", seed)
    sequences = replica.sequences * rng.uniform(0.6, 1.4, STEPS)
    context = sequences * CONTEXT_TOKENS / 1e3 * rng.uniform(0.6, 1.4, STEPS)
    prompt = replica.chunk_tokens * rng.uniform(0.0, 2.0, STEPS)
    held = np.column_stack([np.ones(STEPS), sequences, context, prompt])
    costs = np.array([replica.constant_ms, SEQUENCE_MS, CONTEXT_MS, replica.prefill_ms])
    return held, held @ costs * (1 + 0.02 * rng.standard_normal(STEPS))


def regressed(held: Floats, took_ms: Floats) -> Floats:
    """Return the four coefficients that fit the steps best, least squares."""
    found: Floats = np.linalg.lstsq(held, took_ms, rcond=None)[0]
    return found


def _until(field: str, low: float, high: float, factor: float) -> Replica:
    """Return the replica whose ``field`` makes its answers ``factor`` times as long: by bisection, slower with ``high``."""
    calm = Replica()
    for _ in range(40):
        middle = (low + high) / 2
        slower = replace(calm, **{field: middle}).answer_ms > factor * HEALTHY_MS
        low, high = (low, middle) if slower else (middle, high)
    return replace(calm, **{field: high})


@lru_cache(maxsize=64)
def _case(world: str, seed: int) -> Case:
    rng = generator("drill-4.10", seed)
    factor = float(rng.uniform(1.27, 1.42))
    hours = float(rng.uniform(0.1, 0.4))
    calm = Case(seed, name=int(rng.integers(REPLICAS)))
    match world:
        case "clocks":
            return replace(calm, odd=_until("prefill_ms", PREFILL_MS, 4 * PREFILL_MS, factor))
        case "eager":
            odd = _until("constant_ms", CONSTANT_MS, 4 * CONSTANT_MS, factor)
            return replace(calm, odd=odd, graphs="NONE")
        case "router":
            return replace(calm, odd=_until("length", 1.0, 4.0, factor))
        case "cold":
            odd = _until("hit_share", HIT_SHARE, -0.5, factor)
            return replace(calm, odd=odd, started_h=hours)
        case "mix":
            return replace(calm, spread_factor=factor)
    raise KeyError(world)


_CURES = {
    "drain": "clocks",
    "image": "eager",
    "weights": "router",
    "probe": "cold",
    "leave": "mix",
    "ninth": None,
}


def observe(world: str, seed: int, fix: str | None = None) -> Observed:
    """Return what a world reads. A fix that is not the world's changes nothing. Takes 2 ms."""
    case = _case(world, seed)
    if fix is not None and _CURES[fix] == world:
        case = Case(seed, name=case.name)
    return _read(case)


@lru_cache(maxsize=64)
def _read(case: Case) -> Observed:
    rng = generator("drill-4.10 noise", case.seed)
    odd, calm = case.odd, Replica()
    # A percentile of some thousand answers is off by a few per cent, and a mean length by two.
    noise = 1 + 0.025 * rng.standard_normal(REPLICAS)
    alone = Fleet(1, SIGMA, odd.answer_ms / HEALTHY_MS)
    on_each = case.fleet if case.spread_factor > 1 else Fleet(REPLICAS, SIGMA, 1.0)
    p99_s = HEALTHY_MS / 1e3 * on_each.quantile(0.99) * noise
    if case.spread_factor == 1:
        p99_s[case.name] *= alone.slow_factor
    worst = int(p99_s.argmax())
    fits = [
        regressed(*steps(odd if name == case.name else calm, case.seed, name))
        for name in range(REPLICAS)
    ]
    others = np.median([fit for name, fit in enumerate(fits) if name != worst], axis=0)
    mine = fits[worst]
    lengths = PROMPT_TOKENS * (1 + 0.015 * rng.standard_normal(REPLICAS))
    lengths[case.name] *= odd.length
    running = SEQUENCES * noise[::-1]
    running[case.name] *= odd.sequences / SEQUENCES
    hits = HIT_SHARE + 0.02 * rng.standard_normal(REPLICAS)
    hits[case.name] += odd.hit_share - HIT_SHARE
    clocks = np.full(REPLICAS, CLOCK_MHZ) - rng.integers(0, 4, REPLICAS) * 15
    clocks[case.name] = min(clocks[case.name], 15 * round(case.clock_mhz / 15))
    values: dict[str, Value] = {
        "p99_rise": case.p99_rise,
        "p50_rise": case.fleet.quantile(0.5) - 1,
        "p99_ratio": float(p99_s.max() / np.median(p99_s)),
        "constant_ratio": float(mine[0] / others[0]),
        "prefill_ratio": float(mine[3] / others[3]),
        "length_ratio": float(lengths.max() / np.median(lengths)),
        "running_ratio": float(running.max() / np.median(running)),
        "clock_mhz": float(clocks.min()),
        "hit_share": float(hits.min()),
        "graphs": case.graphs,
    }
    lowest = int(clocks.argmin())
    capped = case.clock_mhz < CLOCK_MHZ
    prints = {
        "replicas": (
            "p99 by replica, seconds: " + "  ".join(f"{each:.1f}" for each in p99_s.tolist()),
            f"replica {worst} over the median of all: {values['p99_ratio']:.2f}",
        ),
        "steps": (
            f"ms per step        constant  per prompt token   (replica {worst}, {STEPS} steps)",
            f"this one          {mine[0]:9.1f} {mine[3]:17.3f}",
            f"median of others  {others[0]:9.1f} {others[3]:17.3f}",
        ),
        "lengths": (
            "prompt tokens per request: " + "  ".join(f"{each:,.0f}" for each in lengths.tolist()),
            "requests a second: the same on all, within 2 %",
        ),
        "running": (
            "vllm:num_requests_running: " + "  ".join(f"{each:.0f}" for each in running.tolist()),
        ),
        "clocks": (
            f"replica {lowest}: clocks.sm {clocks.min():.0f} MHz, clocks_event_reasons.active "
            + ("0x0000000000000004" if capped else "0x0000000000000000"),
            f"median of all GPUs: {np.median(clocks):.0f} MHz",
        ),
        "hits": (
            "hits over queries: " + "  ".join(f"{each:.2f}" for each in hits.tolist()),
            f"replica {worst} is up for {case.started_h:.1f} h",
        ),
        "records": (
            f"cudagraph_mode of replica {worst}: {case.graphs}",
            "cudagraph_mode of the seven others: FULL_AND_PIECEWISE",
        ),
        "median": (f"median of all answers: {100 * (case.fleet.quantile(0.5) - 1):+.1f} %",),
        "events": ("Xid events, last 24 h: 0; failing health checks: 0",),
    }
    return Observed(values, prints)

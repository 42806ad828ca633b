"""Drill 2.1: answers in jerks while the mean gap stays. Step by step, what an engine of 32 streams does in five minutes.

A step takes 25 ms and 0.071 ms for each prompt token in it; prompts share a budget in order of arrival; a stream gets
a token a step. Pauses of the host come between steps. Scenario constants: both times (70B at TP4, half of the BF16 peak),
0.5 documents a second of 6,000 tokens, two chats of 200, 550 ns for an object that the collector visits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from lessons.drills.evidence import Observed
from lessons.exact.draws import generator
from lessons.exact.percentiles import histogram_quantile
from lessons.exact.periods import full_collection_allocations

DECODE_MS, PREFILL_MS = 25.0, 0.071
STREAMS = 32
DOCUMENT_TOKENS, DOCUMENTS_RPS = 6000, 0.5
CHAT_TOKENS, CHATS_RPS = 200, 2.0
OBJECT_NS = 550.0
"""Of a real engine's heap; source: sgl-project/sglang#28067, 41 s over 74.8 million objects."""
SMALL_BUDGET = 512
WINDOW_S, LAST_S = 300.0, 60.0
SLOW = 4.0
"""A gap is long from this many times the median on: above a step with a chunk of 512."""
ITL_BOUNDS_S = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0)
"""The first buckets of vllm:inter_token_latency_seconds."""
_BUDGETS = (1536, 2048, 2560)

type Floats = np.typing.NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """One world: what a seed drew, and what ails it."""

    seed: int
    budget: int = SMALL_BUDGET
    """Tokens of a step."""
    ended_s: float = 0.0
    """Until when the budget was ``trial_budget``, seconds of the window."""
    trial_budget: int = SMALL_BUDGET
    collect_ms: float = 0.0
    collect_steps: int = 0
    """A collection comes every so many steps; 0: none that is felt."""
    throttle_rps: float = 0.0
    """Bursts of work a second that spend the container's share of the CPUs."""
    throttle_ms: float = 0.0
    """Mean time until the share is renewed often enough, uniform by a quarter more or less."""
    flush_ms: float = 0.0
    """On the way to the reader tokens are passed on at multiples of this time; 0: at once."""


@dataclass(frozen=True)
class Steps:
    """A window of steps, all arrays of shape (steps,), milliseconds and tokens."""

    took_ms: Floats
    between_ms: Floats
    """Before the step, while no step runs."""
    context: Floats
    ends_s: Floats


@dataclass(frozen=True)
class Gaps:
    """What the reader of a stream sees: gaps, when they end, and whether prompt tokens were in their steps."""

    ms: Floats
    ends_s: Floats
    marked: np.typing.NDArray[np.bool_]

    def since(self, from_s: float) -> Gaps:
        """Return the gaps that end after ``from_s``."""
        kept = self.ends_s > from_s
        return Gaps(self.ms[kept], self.ends_s[kept], self.marked[kept])


def run(case: Case, *, window_s: float = WINDOW_S, chats_rps: float = CHATS_RPS) -> Steps:
    """Return the steps of a window; five minutes of 32 streams are about 9,500 and take 10 ms."""
    prompts = _prompts(case.seed, window_s, chats_rps)
    rng = generator("drill-2.1 steps", case.seed)
    decode_ms = (DECODE_MS * (1 + 0.02 * rng.standard_normal(20_000))).tolist()
    bursts = _bursts(case, window_s)
    now_ms, end_ms, waiting, place, step = 0.0, 1e3 * window_s, 0, 0, 0
    ended_ms, rows = 1e3 * case.ended_s, []
    while now_ms < end_ms:
        while prompts[place][0] <= now_ms:
            waiting += prompts[place][1]
            place += 1
        between_ms = 0.3
        if case.collect_steps and (step + 1) % case.collect_steps == 0:
            between_ms += case.collect_ms
        while bursts[-1][0] <= now_ms:
            between_ms += bursts.pop()[1]
        budget = case.trial_budget if now_ms < ended_ms else case.budget
        context = min(waiting, budget - STREAMS)
        waiting -= context
        took_ms = decode_ms[step] + PREFILL_MS * context
        now_ms += between_ms + took_ms
        rows.append((took_ms, between_ms, context, now_ms / 1e3))
        step += 1
    table = np.array(rows, dtype=np.float64)
    return Steps(table[:, 0], table[:, 1], table[:, 2], table[:, 3])


def _prompts(seed: int, window_s: float, chats_rps: float) -> list[tuple[float, int]]:
    """Return (arrival in milliseconds, tokens) in order, and one that never comes."""
    found = [(float("inf"), 0)]
    for name, rate_rps, tokens in (
        ("documents", DOCUMENTS_RPS, DOCUMENT_TOKENS),
        ("chats", chats_rps, CHAT_TOKENS),
    ):
        count = int(3 * rate_rps * window_s) + 10 if rate_rps else 0
        gaps = generator(f"drill-2.1 {name}", seed).standard_exponential(count)
        times = np.cumsum(gaps) / rate_rps if rate_rps else gaps
        found += [(1e3 * at_s, tokens) for at_s in times.tolist() if at_s < window_s]
    return sorted(found)


def _bursts(case: Case, window_s: float) -> list[tuple[float, float]]:
    """Return (time, length) in milliseconds, the first one last, behind one that never comes."""
    if not case.throttle_rps:
        return [(float("inf"), 0.0)]
    rng = generator("drill-2.1 bursts", case.seed)
    count = int(2 * case.throttle_rps * window_s) + 10
    times = 1e3 * np.cumsum(rng.standard_exponential(count)) / case.throttle_rps
    lengths = case.throttle_ms * rng.uniform(0.75, 1.25, count)
    found = [*zip(times.tolist(), lengths.tolist(), strict=True), (float("inf"), 0.0)]
    return sorted(found, reverse=True)


def reader(found: Steps, flush_ms: float = 0.0) -> Gaps:
    """Return the gaps of a stream as its reader sees them; tokens that are passed on together have none between them."""
    had_context = found.context > 0
    if not flush_ms:
        return Gaps(found.took_ms + found.between_ms, found.ends_s, had_context)
    flushes = np.ceil(1e3 * found.ends_s / flush_ms)
    ms = flush_ms * np.diff(flushes, prepend=flushes[0])
    # A gap is marked if any token that it brings was made beside context tokens.
    first = np.flatnonzero(ms > 0)
    marked = np.zeros(len(ms), dtype=bool)
    if len(first):
        marked[first] = np.add.reduceat(had_context, first) > 0
    return Gaps(ms, flushes * flush_ms / 1e3, marked)


def _case(world: str, seed: int) -> Case:
    rng = generator("drill-2.1", seed)
    budget = _BUDGETS[int(rng.integers(len(_BUDGETS)))]
    kept_a_step = float(rng.uniform(1150, 1600))
    live = float(rng.uniform(190e3, 360e3))
    rate, length = float(rng.uniform(0.42, 0.55)), float(rng.uniform(105, 165))
    flush_ms = float(rng.uniform(120, 205))
    ended_s = WINDOW_S - float(rng.uniform(75, 130))
    calm = Case(seed)
    match world:
        case "chunks":
            return replace(calm, budget=budget)
        case "collector":
            return replace(
                calm,
                collect_ms=live * OBJECT_NS / 1e6,
                collect_steps=round(full_collection_allocations() / kept_a_step),
            )
        case "throttled":
            return replace(calm, throttle_rps=rate, throttle_ms=length)
        case "flushed":
            return replace(calm, flush_ms=flush_ms)
        case "over":
            return replace(calm, trial_budget=budget, ended_s=ended_s)
    raise KeyError(world)


_CURES = {
    "budget": "chunks",
    "freeze": "collector",
    "limit": "throttled",
    "at_once": "flushed",
    "leave": "over",
    "replica": None,
}


def observe(world: str, seed: int, fix: str | None = None) -> Observed:
    """Return what a world reads. A fix that is not the world's changes nothing. Takes 0.015 s."""
    case = _case(world, seed)
    if fix is not None and _CURES[fix] == world:
        case = Case(seed)
    return _read(case)


@lru_cache(maxsize=64)
def _read(case: Case) -> Observed:
    steps = run(case)
    seen = reader(steps, case.flush_ms)
    last = seen.since(WINDOW_S - LAST_S)
    late = steps.ends_s > WINDOW_S - LAST_S
    took, between, context = steps.took_ms[late], steps.between_ms[late], steps.context[late]
    long = last.ms >= SLOW * np.median(took + between)
    marked = float(last.marked[long].mean()) if long.any() else None
    server_ms = 1e3 * histogram_quantile(((took + between) / 1e3).tolist(), ITL_BOUNDS_S, 0.99)
    throttled_ms = float(between[between > 1].sum()) if case.throttle_rps else 0.0
    values = {
        "gap_p99_ms": float(np.quantile(seen.ms, 0.99)),
        "gap_p99_1m_ms": float(np.quantile(last.ms, 0.99)),
        "zero_share": float((last.ms == 0).mean()),
        "marked_share": marked,
        "step_max_ms": float(took.max()),
        "between_max_ms": float(between.max()),
        "server_p99_ms": server_ms,
        "tpot_ms": float(seen.ms.mean()),
        "collect_max_ms": max(case.collect_ms, 1.0),
        "throttled_ms": throttled_ms,
    }
    return Observed(values, _prints(case, values, last, (took, between, context)))


def _prints(
    case: Case,
    read: dict[str, float | None],
    last: Gaps,
    late: tuple[Floats, Floats, Floats],
) -> dict[str, tuple[str, ...]]:
    took, between, context = late
    edges = (0, 10, 40, 80, 120, 180, 260, 10_000)
    counts, _ = np.histogram(last.ms, edges)
    with_context, _ = np.histogram(last.ms[last.marked], edges)
    bars = tuple(
        f"{low:>4} to {high if high < edges[-1] else '…':>3} ms  {count:>5} gaps, {there:>4} with context tokens"
        for low, high, count, there in zip(edges, edges[1:], counts, with_context, strict=False)
        if count
    )
    worst = int((took + between).argmax())
    elapsed = "iteration elapsed time"
    lines = tuple(
        f"Iteration({4000 + place}): {int(context[place] > 0)} context requests, {context[place]:.0f} context tokens, "
        f"{STREAMS} generation requests, {elapsed}: {took[place]:.1f} ms"
        for place in sorted({max(0, worst - 1), worst})
    )
    collections = len(took) // case.collect_steps if case.collect_steps else 0
    return {
        "marked": bars,
        "steps": (
            *lines,
            f"between them {between[worst]:.1f} ms without a step",
            f"longest of the last minute: {read['step_max_ms']:.0f} ms a step, {read['between_max_ms']:.1f} ms between two",
        ),
        "server": (
            f"histogram_quantile(0.99, inter_token_latency_seconds_bucket[1m])  {(read['server_p99_ms'] or 0) / 1e3:.3f}",
        ),
        "last-minute": (f"p99 of the gaps, last minute: {read['gap_p99_1m_ms']:.0f} ms",),
        "tpot": (
            f"vllm:request_time_per_output_token_seconds, mean  {(read['tpot_ms'] or 0) / 1e3:.4f}",
        ),
        "cpu": (f"throttled_usec  +{1e3 * (read['throttled_ms'] or 0):,.0f} in the last minute",),
        "collections": (
            f"full collections in a minute: {collections}, the longest pause of any kind {read['collect_max_ms']:.0f} ms",
        ),
        "preemptions": ("vllm:num_preemptions_total  +0 in the last hour",),
    }

"""Drill 1.2: p99 of the first token almost three times what it was, a quarter more traffic. One hour of a queue, request by request.

Prefill is one server in order of arrival (Lindley's recursion); the pool of blocks is so many places in front of it; the
work in front of the engine is a server of its own. The formula of Pollaczek and Khinchine gives the same means. Scenario
constants: 0.071 ms of prefill a token (70B at TP4, half of the BF16 peak), mean prompt 2,000 tokens, CV² 0.3.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from lessons.drills.evidence import Observed
from lessons.exact.draws import generator
from lessons.exact.queueing import Service

PREFILL_MS = 0.071
PROMPT_TOKENS, LENGTH_CV2 = 2000.0, 0.3
HOUR_S = 3600.0
COUNTS_S = 10
RESIDENCE_S, LONG_RESIDENCE_S, RESIDENCE_CV2 = 27.0, 40.0, 0.5
"""How long a request keeps its blocks, mean: a month ago, and where answers grew; and its spread."""
PICTURE_S, PICTURE_CV2 = 0.115, 0.5
"""Decoding and scaling on one CPU, in front of the engine."""

type Floats = np.typing.NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """One world: what a seed drew, and what ails it."""

    seed: int
    rate_rps: float
    cv2: float = LENGTH_CV2
    """Squared coefficient of variation of the prompt tokens that have to be computed."""
    together: float = 1.0
    """Mean number of requests that are sent at once, geometric."""
    places: int = 180
    """Requests whose blocks fit into the pool: 458,752 tokens at about 2,500 each."""
    residence_s: float = RESIDENCE_S
    front_s: float = 0.002
    """Mean work in front of the engine; one process does it."""
    documents_share: float = 0.0
    """Of the requests: long documents with replicas of their own, which the panel counts too."""
    document_tokens: float = 0.0


@dataclass(frozen=True)
class Hour:
    """All requests of an hour in order of arrival, seconds; arrays of shape (requests,)."""

    arrival_s: Floats
    front_s: Floats
    """Wait and work in front of the engine."""
    queue_s: Floats
    """In the engine, until the prefill begins."""
    prefill_s: Floats
    own_lane: np.typing.NDArray[np.bool_]
    """Whether it is a document with a replica of its own."""
    full_share: float
    """Share of the requests that found the pool full."""

    @property
    def ttft_s(self) -> Floats:
        """Time to first token."""
        return self.front_s + self.queue_s + self.prefill_s


def waits(arrival_s: Floats, service_s: Floats) -> Floats:
    """Return how long each waits for one server, in order of arrival: Lindley's recursion in closed form."""
    steps = np.concatenate([[0.0], service_s[:-1] - np.diff(arrival_s)])
    walk = np.cumsum(steps)
    found: Floats = walk - np.minimum.accumulate(walk)
    return found


def admitted_s(arrival_s: Floats, kept_s: Floats, places: int) -> Floats:
    """Return when each gets one of ``places``, in order of arrival, if it keeps it for ``kept_s``."""
    free = [0.0] * places
    found = []
    for came_s, keeps_s in zip(arrival_s.tolist(), kept_s.tolist(), strict=True):
        at_s = max(came_s, free[0])
        heapq.heapreplace(free, at_s + keeps_s)
        found.append(at_s)
    return np.array(found)


def arrivals_s(case: Case) -> Floats:
    """Return when requests come, for an hour: groups at random, a group at once."""
    rng = generator("drill-1.2 arrivals", case.seed)
    groups_rps = case.rate_rps / case.together
    count = int(1.2 * groups_rps * HOUR_S) + 100
    times = np.cumsum(rng.standard_exponential(count)) / groups_rps
    times = times[times < HOUR_S]
    sizes = generator("drill-1.2 groups", case.seed).geometric(1 / case.together, len(times))
    return np.repeat(times, sizes)


def run(case: Case) -> Hour:
    """Return an hour of ``case``: about 15,000 requests in 5 ms, 15 with a pool that fills."""
    came = arrivals_s(case)
    count = len(came)
    rng = generator("drill-1.2 lanes", case.seed)
    own_lane = rng.random(count) < case.documents_share
    mean_s = PROMPT_TOKENS * PREFILL_MS / 1e3
    prefill = Service(mean_s, case.cv2).draw(count, generator("drill-1.2 lengths", case.seed))
    prefill[own_lane] *= case.document_tokens / PROMPT_TOKENS
    work = Service(case.front_s, PICTURE_CV2).draw(count, generator("drill-1.2 front", case.seed))
    front = waits(came, work) + work
    reached, full_share, held = came + front, 0.0, np.zeros(count)
    # With a third of the places free on average, not one request in millions finds all taken.
    if case.rate_rps * case.residence_s > 0.7 * case.places:
        keeps = Service(case.residence_s, RESIDENCE_CV2)
        kept = keeps.draw(count, generator("drill-1.2 kept", case.seed))
        admitted = admitted_s(reached, kept, case.places)
        held = admitted - reached
        full_share = float((held > 0).mean())
        reached = admitted
    queue = np.zeros(count)
    queue[~own_lane] = waits(reached[~own_lane], prefill[~own_lane])
    return Hour(came, front, held + queue, prefill, own_lane, full_share)


@lru_cache(maxsize=64)
def _fitting(seed: int, rate_rps: float, share: float) -> int:
    """Return the places that would be enough for ``share`` of the requests, if each kept one for the longer time.

    The nuisance drawn is the share: with a number of places the same hour is idle for one seed and hopeless for the next.
    """
    came = arrivals_s(Case(seed, rate_rps))
    keeps = Service(LONG_RESIDENCE_S, RESIDENCE_CV2)
    gone = np.sort(came + keeps.draw(len(came), generator("drill-1.2 kept", seed)))
    inside = np.arange(len(came)) - np.searchsorted(gone, came)
    return int(np.quantile(inside, share))


def _case(world: str, seed: int) -> Case:
    rng = generator("drill-1.2", seed)
    rate = float(rng.uniform(3.9, 4.3))
    spread = float(rng.uniform(2.2, 3.2))
    together = float(rng.uniform(2.3, 3.1))
    enough = float(rng.uniform(0.88, 0.92))
    front = PICTURE_S * 4.1 / rate * float(rng.uniform(1.6, 1.75))
    documents, tokens = float(rng.uniform(0.02, 0.03)), float(rng.uniform(38e3, 60e3))
    calm = Case(seed, rate, places=_fitting(seed, rate, enough))
    match world:
        case "spread":
            return replace(calm, cv2=spread)
        case "bursts":
            return replace(calm, together=together)
        case "pool":
            return replace(calm, residence_s=LONG_RESIDENCE_S)
        case "pictures":
            return replace(calm, front_s=front)
        case "documents":
            return replace(calm, documents_share=documents, document_tokens=tokens)
    raise KeyError(world)


_CURES = {
    "lanes": "spread",
    "smooth": "bursts",
    "fp8": "pool",
    "processes": "pictures",
    "leave": "documents",
    "graphs": None,
}


def observe(world: str, seed: int, fix: str | None = None) -> Observed:
    """Return what a world reads. A fix that is not the world's changes nothing. Takes 0.01 s."""
    case = _case(world, seed)
    if fix is not None and _CURES[fix] == world:
        case = replace(_case("spread", seed), cv2=LENGTH_CV2)
    return _read(case)


@lru_cache(maxsize=64)
def _read(case: Case) -> Observed:
    hour = run(case)
    computed = hour.prefill_s / (PREFILL_MS / 1e3)
    counts = np.bincount((hour.arrival_s / COUNTS_S).astype(int))
    util = 100 * min(1.0, float(hour.prefill_s[~hour.own_lane].sum()) / HOUR_S)
    values = {
        "ttft_p99_s": float(np.quantile(hour.ttft_s, 0.99)),
        "queue_p99_s": float(np.quantile(hour.queue_s, 0.99)),
        "cv2": float(computed.var() / computed.mean() ** 2),
        "dispersion": float(counts.var() / counts.mean()),
        "full_share": hour.full_share,
        "front_p99_s": float(np.quantile(hour.front_s, 0.99)),
        "chats_p99_s": float(np.quantile(hour.ttft_s[~hour.own_lane], 0.99)),
        "load_percent": util,
    }
    in_pool = case.rate_rps * case.residence_s / case.places
    waiting = case.rate_rps * float(hour.queue_s.mean())
    prints = {
        "queue": (
            f"histogram_quantile(0.99, request_queue_time_seconds_bucket[1h])  {values['queue_p99_s']:.2f}",
            f"prompt tokens computed: mean {computed.mean():,.0f}, p50 {np.quantile(computed, 0.5):,.0f}",
            f"p99 {np.quantile(computed, 0.99):,.0f}, variance over squared mean {values['cv2']:.2f}",
        ),
        "reasons": (
            f"vllm:kv_cache_usage_perc, mean of the hour  {in_pool:.2f}; full for {100 * hour.full_share:.0f} % of it",
            f'vllm:num_requests_waiting_by_reason{{reason="capacity"}}, mean  {waiting:.1f}',
        ),
        "arrivals": (
            f"requests per {COUNTS_S} s: mean {counts.mean():.1f}, variance {counts.var():.0f}",
            f"most {counts.max()}, variance over mean {values['dispersion']:.2f}",
        ),
        "front": (f"from the socket to the engine, p99: {1e3 * values['front_p99_s']:,.0f} ms",),
        "routes": (
            f"p99 of TTFT by route, chat: {values['chats_p99_s']:.2f} s",
            f"documents: {_documents(hour)}",
        ),
        "load": (f"prefill fills {util:.0f} % of the time; GPU utilisation 99 %",),
        "preemptions": ("vllm:num_preemptions_total  +0 in the last hour",),
    }
    return Observed(values, prints)


def _documents(hour: Hour) -> str:
    if not hour.own_lane.any():
        return "none in the last hour"
    p99_s = float(np.quantile(hour.ttft_s[hour.own_lane], 0.99))
    return f"{p99_s:.2f} s, {int(hour.own_lane.sum())} requests"

"""The same requests on the simulator and on a real engine, measured alike and laid side by side."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from labs.instruments.signals import quantile
from labs.simulator.cost_model import CostModel
from labs.simulator.engine import Engine
from labs.simulator.request import PS_PER_S, Request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labs.live.driving import Drive
    from labs.live.iterations import Iteration
    from labs.simulator.config import EngineConfig
    from labs.simulator.telemetry import StepRecord

CLOSE_TIMES = 0.15
"""How far times may lie apart: TTFT and gaps, as a share of the real engine's."""
CLOSE_RATE = 0.10
"""How far throughput may."""
LONGEST_S = 3600.0


@dataclass(frozen=True)
class Run:
    """One configuration of a comparison."""

    name: str
    title: str
    config: EngineConfig


@dataclass(frozen=True)
class Scenario:
    """What is compared: the same requests under one or more configurations."""

    name: str
    title: str
    requests: tuple[Request, ...]
    runs: tuple[Run, ...]
    is_exact: bool = True
    """Whether steps and preemptions must be equal: where requests come one by one, each comes within a step of either."""

    def fresh(self) -> list[Request]:
        """Return requests that nobody has served yet."""
        return [sent_at(each, each.arrival_s) for each in self.requests]


def sent_at(request: Request, arrival_s: float) -> Request:
    """Return the same request as sent at a time, served by nobody yet."""
    return Request(
        request.request_id,
        arrival_s,
        request.prompt_tokens,
        request.max_tokens,
        priority=request.priority,
        prefix=request.prefix,
    )


@dataclass(frozen=True)
class Measured:
    """What one backend did with a run's requests. Times are seconds as clients see them."""

    steps: int
    preemptions: int
    peak_waiting: int
    peak_kv_usage: float
    ttft_p50_s: float | None
    ttft_p95_s: float | None
    tokens_per_s: float
    gap_p50_s: float | None
    """Of each stream's longest gap."""
    gap_p95_s: float | None
    answered: int


@dataclass(frozen=True)
class Row:
    """One quantity of a run on both backends."""

    name: str
    simulated: float | None
    live: float | None
    allowed: float
    """How far they may lie apart, as a share of the live one; 0: equal."""

    @property
    def apart(self) -> float | None:
        """Return (simulated - live) / live; None where one of them is nothing, or live is 0 and the other is not."""
        if self.simulated is None or self.live is None:
            return None
        if self.simulated == self.live:
            return 0.0
        return (self.simulated - self.live) / self.live if self.live else None

    @property
    def holds(self) -> bool:
        apart = self.apart
        return apart is not None and abs(apart) <= self.allowed


ALLOWED: dict[str, float] = {
    "steps": 0.0,
    "preemptions": 0.0,
    "peak_waiting": 0.0,
    "peak_kv_usage": 0.0,
    "ttft_p50_s": CLOSE_TIMES,
    "ttft_p95_s": CLOSE_TIMES,
    "tokens_per_s": CLOSE_RATE,
    "gap_p50_s": CLOSE_TIMES,
    "gap_p95_s": CLOSE_TIMES,
}


COUNTED_APART = 0.1
"""How far counts may lie apart where they need not be equal."""


def rows(scenario: Scenario, simulated: Measured, live: Measured) -> list[Row]:
    """Return the two measurements side by side."""
    mine, other = asdict(simulated), asdict(live)
    return [
        Row(name, mine[name], other[name], allowed or (0.0 if scenario.is_exact else COUNTED_APART))
        for name, allowed in ALLOWED.items()
    ]


def met_by(steps: Sequence[Iteration], run: Run, requests: int) -> list[int]:
    """Return how many requests of a burst each of an engine's first steps met, as its log tells, until its slots are full.

    A server takes a millisecond or two to take in each. Who was still on the way when a step began is chance, and part of what
    an engine is given, not of what it does.
    """
    room = min(requests, run.config.max_num_seqs)
    found: list[int] = []
    for each in steps:
        if sum(found) >= room:
            break
        found.append(each.prefilling)
    return found


def as_met(scenario: Scenario, met: Sequence[int], cost: CostModel) -> list[Request]:
    """Return a burst as it reached an engine: each group but the first in the middle of the step before its own."""
    found: list[Request] = []
    waiting = scenario.fresh()
    arrive_ps = begins_ps = kv_tokens = running = 0
    for number, count in enumerate(met, start=1):
        group = waiting[:count] if number < len(met) else waiting
        waiting = waiting[len(group) :]
        found += [sent_at(each, arrive_ps / PS_PER_S) for each in group]
        prompts = sum(each.prompt_tokens for each in group[:count])
        kv_tokens += prompts + running
        tokens, running = prompts + running, running + count
        took_ps = CostModel.step_ps(
            cost, kv_tokens=kv_tokens, prefill_tokens=prompts, sequences=running, tokens=tokens
        )
        arrive_ps, begins_ps = begins_ps + took_ps // 2, begins_ps + took_ps
    return found


def simulate(scenario: Scenario, run: Run, cost: CostModel, met: Sequence[int] = ()) -> Measured:
    """Serve a run's requests on the simulator, step by step; ``met`` says how they came, if they came in a burst.

    Raises ValueError if they do not end within an hour of its time.
    """
    engine = Engine(run.config, cost, sample_every_s=0.25, closed_form=False)
    steps: list[StepRecord] = []
    engine.on_step = steps.append
    requests = as_met(scenario, met, cost) if met else scenario.fresh()
    for request in requests:
        engine.submit(request)
    engine.advance(LONGEST_S)
    if engine.num_unfinished:
        raise ValueError(f"{scenario.name} {run.name}: {engine.num_unfinished} requests never end")
    usable = run.config.usable_blocks
    sent_s = {each.request_id: each.arrival_s for each in scenario.requests}
    return Measured(
        steps=len(steps),
        preemptions=sum(len(step.preempted) for step in steps),
        peak_waiting=max(step.waiting for step in steps),
        peak_kv_usage=round(max(1 - step.free_blocks / usable for step in steps), 3),
        **_felt(requests, max(step.end_s for step in steps), sent_s),
    )


def measured(drive: Drive, steps: Sequence[Iteration]) -> Measured:
    """Return what a drive of a real engine shows: its counters and gauges, and what its clients saw.

    ``steps`` are the engine's own lines of the same time: they tell the peak of the pool, which a scrape may miss.
    """
    first, last = drive.samples[0], drive.samples[-1]
    scraped = max(sample.kv_cache_usage_perc for sample in drive.samples)
    logged = max((each.kv_usage for each in steps), default=0.0)
    return Measured(
        steps=last.steps - first.steps,
        preemptions=last.preemptions_reported - first.preemptions_reported,
        peak_waiting=max(sample.waiting for sample in drive.samples),
        peak_kv_usage=round(max(scraped, logged), 3),
        **_felt(drive.requests, drive.wall_s, {}),
    )


def _felt(
    requests: Sequence[Request], wall_s: float, sent_s: Mapping[str, float]
) -> dict[str, Any]:
    """Return what clients felt; ``sent_s`` says when those were sent that came to the engine later."""
    ttft = [
        each.first_token_s - sent_s.get(each.request_id, each.arrival_s)
        for each in requests
        if each.first_token_s
    ]
    gaps = [each.longest_gap_s for each in requests if each.num_output_tokens > 1]
    tokens = sum(each.num_output_tokens for each in requests)
    return {
        "ttft_p50_s": quantile(ttft, 0.50),
        "ttft_p95_s": quantile(ttft, 0.95),
        "tokens_per_s": tokens / wall_s,
        "gap_p50_s": quantile(gaps, 0.50),
        "gap_p95_s": quantile(gaps, 0.95),
        "answered": sum(each.finish_reason == "length" for each in requests),
    }

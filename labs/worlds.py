"""A lab's world: (spec, hypothesis, seed) gives a cluster, and the parameters that the seed drew for it.

Worlds of one seed share every draw and every random stream, whatever the hypothesis: only what the hypothesis
changes differs between them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from labs.simulator.cluster import Cluster
from labs.simulator.cost_model import ModelProfile, profile
from labs.simulator.faults import Leak, MixChange, RouterDelayChange
from labs.simulator.router import RouterDelay
from labs.simulator.scheduler import EngineConfig
from labs.simulator.workload import (
    Burst,
    LengthDistribution,
    RequestClass,
    Workload,
    WorkloadSpec,
)

if TYPE_CHECKING:
    from labs.simulator.faults import Fault
    from labs.specs import LabSpec, Range
    from labs.specs import World as FaultyWorld

HEALTHY = "healthy"
"""The world in which nothing is wrong; it need not be among a lab's hypotheses."""
BLOCK_SIZE = 16
MAX_PROMPT_TOKENS = 8_000
MAX_OUTPUT_TOKENS = 6_000


@dataclass(frozen=True)
class Fleet:
    """What the seed drew, and what the cluster runs with. A change replaces it by another."""

    profile_name: str
    pool_blocks: int
    """Usable KV blocks at the model's own KV type, per rank."""
    config: EngineConfig
    fp8_kv: bool = False

    @property
    def pool_tokens(self) -> int:
        """KV tokens that requests can hold now."""
        return self.config.usable_blocks * BLOCK_SIZE

    @property
    def profile(self) -> ModelProfile:
        return profile(self.profile_name)


@dataclass(frozen=True)
class World:
    """One world, its cluster not yet advanced."""

    hypothesis: str
    seed: int
    fleet: Fleet
    cluster: Cluster
    step_s: float
    """A step with a full pool, prefill of the traffic included: what Little's law is computed with, seconds."""
    burst_factor: float
    burst_s: float


def hypothesis_of(spec: LabSpec, seed: int) -> str:
    """Return which of the served hypotheses a pool seed means."""
    return random.Random(f"hypothesis:{spec.slug}:{seed}").choice(spec.served)


def build(spec: LabSpec, hypothesis: str, seed: int) -> World:
    """Return the world of a hypothesis and a seed, standing at ``timeline.starts_at_s``.

    Raises KeyError for a hypothesis that the lab does not have (``healthy`` always exists).
    """
    draws = _Draws(spec.slug, seed)
    fault = spec.hypotheses[hypothesis].world if hypothesis != HEALTHY else None
    fleet = _fleet(spec, draws, long_prompts=fault is not None and fault.long_prompts is not None)
    chat = RequestClass(
        name="chat",
        share=1.0,
        prompt=LengthDistribution(
            draws.uniform("prompt", spec.traffic.prompt_mean_tokens),
            spec.traffic.length_cv,
            maximum=MAX_PROMPT_TOKENS,
        ),
        output=LengthDistribution(
            draws.uniform("output", spec.traffic.output_mean_tokens),
            spec.traffic.length_cv,
            maximum=MAX_OUTPUT_TOKENS,
        ),
    )
    step_s = full_pool_step_s(fleet)
    pool_tokens = fleet.pool_tokens * spec.fleet.replicas
    base_rate = _base_rate(spec, fault, draws, chat, pool_tokens=pool_tokens, step_s=step_s)
    at_s = spec.timeline.fault_at_s
    rates: tuple[tuple[float, float], ...] = ((spec.timeline.starts_at_s, base_rate),)
    faults: list[tuple[float, Fault]] = []
    factor, lasts_s = 1.0, 0.0
    if fault is not None:
        if fault.offered_load is not None:
            wanted = draws.uniform("faulty_load", fault.offered_load)
            rates = (
                *rates,
                (at_s, arrival_rate(wanted, chat, pool_tokens=pool_tokens, step_s=step_s)),
            )
        if fault.rate_factor is not None:
            rates = (*rates, (at_s, base_rate * draws.uniform("rate_factor", fault.rate_factor)))
        if fault.burst is not None:
            factor = draws.uniform("burst_factor", fault.burst.factor)
            lasts_s = draws.uniform("burst_lasts", fault.burst.lasts_s)
        if fault.router_median_s is not None:
            median_s = draws.uniform("router", fault.router_median_s)
            faults.append((at_s, RouterDelayChange(RouterDelay(median_s, 2.5 * median_s))))
        if fault.leaked_share is not None:
            faults.append((at_s, _leak(spec, draws, fleet, hypothesis)))
        if fault.long_prompts is not None:
            share = draws.uniform("long_share", fault.long_prompts.share)
            length = draws.uniform("long_prompt", fault.long_prompts.prompt_tokens)
            documents = RequestClass(
                name="documents",
                share=share,
                prompt=LengthDistribution(
                    length, 0.1, maximum=spec.fleet.max_model_len - MAX_OUTPUT_TOKENS
                ),
                output=LengthDistribution(400.0, spec.traffic.length_cv, maximum=MAX_OUTPUT_TOKENS),
            )
            faults.append((at_s, MixChange((replace(chat, share=1.0 - share), documents))))
    workload = Workload(
        spec=WorkloadSpec(rates=rates, classes=(chat,)),
        seed=f"{spec.slug}:{seed}",
        start_s=spec.timeline.starts_at_s,
        bursts=(Burst(factor, at_s, at_s + lasts_s),) if lasts_s else (),
    )
    cluster = Cluster(
        fleet.config,
        fleet.profile.cost_model(fp8_kv=fleet.fp8_kv),
        workload,
        seed=f"{spec.slug}:{seed}",
        router_delay=RouterDelay(spec.fleet.router_median_s, spec.fleet.router_p95_s),
        replicas=spec.fleet.replicas,
        start_s=spec.timeline.starts_at_s,
        faults=tuple(faults),
    )
    return World(hypothesis, seed, fleet, cluster, step_s, factor, lasts_s)


def _base_rate(
    spec: LabSpec,
    fault: FaultyWorld | None,
    draws: _Draws,
    kind: RequestClass,
    *,
    pool_tokens: int,
    step_s: float,
) -> float:
    """Return the healthy arrival rate of the whole fleet, requests per second."""
    if spec.traffic.rate is not None:
        return draws.uniform("rate", spec.traffic.rate)
    load = spec.traffic.offered_load
    if fault is not None and fault.base_offered_load is not None:
        load = fault.base_offered_load
    if load is None:
        raise ValueError(f"{spec.slug}: traffic has neither rate nor offered_load")
    return arrival_rate(
        draws.uniform("offered_load", load), kind, pool_tokens=pool_tokens, step_s=step_s
    )


def arrival_rate(
    offered_load: float, kind: RequestClass, *, pool_tokens: int, step_s: float
) -> float:
    """Return the requests per second whose tokens wanted are ``offered_load`` of the pool (Little's law).

    An undelayed request lives ``out`` steps and holds its prompt plus half its outputs on average: with
    independent lengths, E[out (prompt + out/2)] = E[out] E[prompt] + E[out²]/2.
    """
    output = kind.output.mean
    token_steps = output * kind.prompt.mean + output**2 * (1 + kind.output.cv**2) / 2
    return offered_load * pool_tokens / (step_s * token_steps)


def full_pool_step_s(fleet: Fleet) -> float:
    """Return the seconds of one decode step while every block of the pool is in use."""
    cost = fleet.profile.cost_model(fp8_kv=fleet.fp8_kv)
    picoseconds = cost.step_ps(kv_tokens=fleet.pool_tokens, prefill_tokens=0, sequences=0, tokens=0)
    return picoseconds / 1e12


def _fleet(spec: LabSpec, draws: _Draws, *, long_prompts: bool) -> Fleet:
    blocks = round(draws.uniform("pool", spec.fleet.pool_blocks))
    budget = spec.fleet.max_num_batched_tokens
    for hypothesis in spec.hypotheses.values():
        if long_prompts and hypothesis.world.long_prompts is not None:
            budget = hypothesis.world.long_prompts.max_num_batched_tokens
    config = EngineConfig(
        num_gpu_blocks=blocks + 1,
        max_num_seqs=draws.choice("max_num_seqs", spec.fleet.max_num_seqs),
        max_num_batched_tokens=budget,
        block_size=BLOCK_SIZE,
        max_model_len=spec.fleet.max_model_len,
        enable_chunked_prefill=not long_prompts,
        scheduler_reserve_full_isl=spec.fleet.scheduler_reserve_full_isl,
    )
    return Fleet(spec.fleet.profile, blocks, config)


def _leak(spec: LabSpec, draws: _Draws, fleet: Fleet, hypothesis: str) -> Leak:
    fault = spec.hypotheses[hypothesis].world
    if fault.leaked_share is None:
        raise ValueError(f"{hypothesis} leaks nothing")
    total = draws.uniform("leak", fault.leaked_share) * fleet.pool_blocks
    every_s = 10.0
    times = max(1, round(fault.leak_over_s / every_s))
    until_s = spec.timeline.fault_at_s + fault.leak_over_s
    return Leak(replica=0, n_blocks=max(1, round(total / times)), every_s=every_s, until_s=until_s)


class _Draws:
    """The nuisances of one seed: each name has a stream of its own, so that adding one changes no other."""

    def __init__(self, slug: str, seed: int) -> None:
        self._key = f"{slug}:{seed}"

    def _stream(self, name: str) -> random.Random:
        return random.Random(f"draw:{name}:{self._key}")

    def uniform(self, name: str, span: Range) -> float:
        return self._stream(name).uniform(*span)

    def choice(self, name: str, values: tuple[int, ...]) -> int:
        return self._stream(name).choice(values)

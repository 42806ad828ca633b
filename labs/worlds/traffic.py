"""The traffic of a lab's world: how many come, how long their prompts and answers are, and what a world changes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labs.simulator.faults import MixChange
from labs.simulator.workload import (
    Burst,
    LengthDistribution,
    RequestClass,
    Workload,
    WorkloadSpec,
)

if TYPE_CHECKING:
    from labs.simulator.faults import Fault
    from labs.specs import LabSpec
    from labs.specs import World as FaultyWorld
    from labs.specs.world import LongPrompts
    from labs.worlds.draws import Draws
    from labs.worlds.fleet import Fleet

MAX_PROMPT_TOKENS = 8_000
MAX_OUTPUT_TOKENS = 6_000


def chat(spec: LabSpec, draws: Draws) -> RequestClass:
    """Return the requests of ordinary users."""
    return RequestClass(
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


def workload(
    spec: LabSpec,
    fault: FaultyWorld | None,
    draws: Draws,
    fleet: Fleet,
    *,
    classes: tuple[RequestClass, ...],
    burst: tuple[float, float],
) -> Workload:
    """Return the stream of requests. ``burst`` is its (factor, seconds); 0 seconds for none."""
    at_s, (factor, lasts_s) = spec.timeline.fault_at_s, burst
    return Workload(
        spec=WorkloadSpec(rates=_rates(spec, fault, draws, fleet, classes[0]), classes=classes),
        seed=f"{spec.slug}:{draws.seed}",
        start_s=spec.timeline.starts_at_s,
        bursts=(Burst(factor, at_s, at_s + lasts_s),) if lasts_s else (),
    )


def _rates(
    spec: LabSpec, fault: FaultyWorld | None, draws: Draws, fleet: Fleet, kind: RequestClass
) -> tuple[tuple[float, float], ...]:
    """Return (from_s, requests per second over the whole fleet), in order of time."""
    at_s = float(spec.timeline.fault_at_s)
    load = spec.traffic.offered_load
    if fault is not None and fault.base_offered_load is not None:
        load = fault.base_offered_load
    if spec.traffic.rate is not None:
        rate = draws.uniform("rate", spec.traffic.rate)
    elif load is not None:
        rate = _rate_for(spec, draws.uniform("offered_load", load), kind, fleet)
    else:
        raise ValueError(f"{spec.slug}: traffic has neither rate nor offered_load")
    rates: tuple[tuple[float, float], ...] = ((float(spec.timeline.starts_at_s), rate),)
    if fault is not None and fault.offered_load is not None:
        wanted = draws.uniform("faulty_load", fault.offered_load)
        rates = (*rates, (at_s, _rate_for(spec, wanted, kind, fleet)))
    if fault is not None and fault.rate_factor is not None:
        rates = (*rates, (at_s, rate * draws.uniform("rate_factor", fault.rate_factor)))
    return rates


def _rate_for(spec: LabSpec, load: float, kind: RequestClass, fleet: Fleet) -> float:
    pool_tokens = fleet.pool_tokens * spec.fleet.replicas
    return arrival_rate(load, kind, pool_tokens=pool_tokens, step_s=fleet.full_pool_step_s)


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


def longest_prompt(spec: LabSpec) -> int:
    """Return the longest prompt of an unusual request: it leaves room in the context for its answer, tokens."""
    context = spec.fleet.max_model_len
    return context - min(MAX_OUTPUT_TOKENS, context // 4)


def long_prompts(spec: LabSpec, said: LongPrompts, draws: Draws) -> Fault:
    """Return the change of the mix in which a share of requests brings long prompts."""
    share = draws.uniform("long_share", said.share)
    length = draws.uniform("long_prompt", said.prompt_tokens)
    documents = RequestClass(
        name="documents",
        share=share,
        prompt=LengthDistribution(
            length,
            0.1,
            maximum=longest_prompt(spec),
        ),
        output=LengthDistribution(
            said.output_mean_tokens, spec.traffic.length_cv, maximum=MAX_OUTPUT_TOKENS
        ),
    )
    return MixChange((replace(chat(spec, draws), share=1.0 - share), documents))

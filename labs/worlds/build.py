"""Puts a world together.

Worlds of one seed share every draw and every random stream, whatever the hypothesis: only what the hypothesis
changes differs between them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labs.simulator.cluster import Cluster
from labs.simulator.cost_model import profile
from labs.simulator.faults import Leak, RouterDelayChange
from labs.simulator.router import RouterDelay
from labs.simulator.scheduler import EngineConfig
from labs.worlds import front, hardware, inside, memory, traffic
from labs.worlds.draws import Draws
from labs.worlds.fleet import Fleet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from labs.simulator.faults import Fault
    from labs.specs import LabSpec
    from labs.specs import World as FaultyWorld

type Real = Callable[[float, int, Any], Any]
"""(incident second, replica, a ``Command`` of the console) -> a real engine's own answer; None for what the record tells.

The answer is a text, or an instrument's ``Shown``: a text whose signals were read from it and from nothing else.
"""

HEALTHY = "healthy"
"""The world in which nothing is wrong; it need not be among a lab's hypotheses."""


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
    real: Real | None = None
    """What a real engine answers, where there is one."""


def hypothesis_of(spec: LabSpec, seed: int) -> str:
    """Return which of the served hypotheses a pool seed means."""
    return random.Random(f"hypothesis:{spec.slug}:{seed}").choice(spec.served)


def build(
    spec: LabSpec, hypothesis: str, seed: int, *, kind: Callable[..., Cluster] = Cluster
) -> World:
    """Return the world of a hypothesis and a seed, standing at ``timeline.starts_at_s``.

    ``kind`` makes its cluster, from what ``Cluster`` takes.

    Raises KeyError for a hypothesis that the lab does not have (``healthy`` always exists).
    """
    draws = Draws(spec.slug, seed)
    fault = spec.hypotheses[hypothesis].world if hypothesis != HEALTHY else None
    fleet = _fleet(spec, fault, draws)
    burst = _burst(fault, draws)
    start_s = spec.timeline.starts_at_s
    cluster = kind(
        fleet.config,
        fleet.cost,
        traffic.workload(
            spec, fault, draws, fleet, classes=front.classes(spec, draws), burst=burst
        ),
        seed=f"{spec.slug}:{seed}",
        router_delay=RouterDelay(spec.fleet.router_median_s, spec.fleet.router_p95_s),
        replicas=spec.fleet.replicas,
        start_s=start_s,
        faults=tuple(_faults(spec, fault, draws, fleet)),
        hardware=hardware.hardware_of(spec, fleet),
        closed_loop=front.closed_loop(spec, draws),
    )
    for room in (memory, front, inside):
        room.prepare(spec, cluster, fleet, draws)
    return World(
        hypothesis, seed, inside.deployed(fault, fleet), cluster, fleet.full_pool_step_s, *burst
    )


def full_pool_step_s(fleet: Fleet) -> float:
    """Return the seconds of one decode step while every block of the pool is in use."""
    return fleet.full_pool_step_s


def _burst(fault: FaultyWorld | None, draws: Draws) -> tuple[float, float]:
    """Return the (factor, seconds) of a world's burst: 1 and 0 if it has none."""
    if fault is None or fault.burst is None:
        return 1.0, 0.0
    return (
        draws.uniform("burst_factor", fault.burst.factor),
        draws.uniform("burst_lasts", fault.burst.lasts_s),
    )


def _fleet(spec: LabSpec, fault: FaultyWorld | None, draws: Draws) -> Fleet:
    whole = None if fault is None else fault.long_prompts
    blocks = round(draws.uniform("pool", spec.fleet.pool_blocks))
    config = EngineConfig(
        num_gpu_blocks=blocks + 1,
        max_num_seqs=draws.choice("max_num_seqs", spec.fleet.max_num_seqs),
        max_num_batched_tokens=(
            spec.fleet.max_num_batched_tokens if whole is None else whole.max_num_batched_tokens
        ),
        block_size=profile(spec.fleet.profile).block_size,
        max_model_len=spec.fleet.max_model_len,
        enable_chunked_prefill=whole is None,
        scheduler_reserve_full_isl=spec.fleet.scheduler_reserve_full_isl,
    )
    fleet = Fleet(
        spec.fleet.profile,
        blocks,
        config,
        tensor_parallel_size=spec.fleet.tensor_parallel_size,
        engine=spec.fleet.engine,
        full_pool_seqs=spec.fleet.full_pool_seqs,
    )
    return inside.fleet(spec, memory.fleet(spec, fleet, draws), draws)


def _faults(
    spec: LabSpec, fault: FaultyWorld | None, draws: Draws, fleet: Fleet
) -> Iterator[tuple[float, Fault]]:
    """Return (at_s, fault) for all that a world does to its cluster, in the order in which it strikes."""
    if fault is None:
        return
    at_s = float(spec.timeline.fault_at_s)
    if fault.router_median_s is not None:
        median_s = draws.uniform("router", fault.router_median_s)
        yield at_s, RouterDelayChange(RouterDelay(median_s, 2.5 * median_s))
    if fault.leaked_share is not None:
        yield at_s, _leak(spec, draws.uniform("leak", fault.leaked_share), fault, fleet)
    if fault.long_prompts is not None:
        yield at_s, traffic.long_prompts(spec, fault.long_prompts, draws)
    if fault.hardware is not None:
        yield from ((at_s, each) for each in hardware.faults(spec, fault.hardware, draws))
    if fault.memory is not None:
        yield from ((at_s, each) for each in memory.faults(spec, fault.memory, draws, fleet))
    if fault.front is not None:
        yield from ((at_s, each) for each in front.faults(spec, fault.front, draws))
    if fault.inside is not None:
        yield from ((at_s, each) for each in inside.faults(spec, fault.inside, draws, fleet))


def _leak(spec: LabSpec, share: float, fault: FaultyWorld, fleet: Fleet) -> Leak:
    total = share * fleet.pool_blocks
    every_s = 10.0
    times = max(1, round(fault.leak_over_s / every_s))
    until_s = spec.timeline.fault_at_s + fault.leak_over_s
    return Leak(replica=0, n_blocks=max(1, round(total / times)), every_s=every_s, until_s=until_s)

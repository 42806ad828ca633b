"""The memory of a lab's ranks, and what goes wrong with it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labs.simulator.faults import MixChange
from labs.simulator.memory.faults import (
    Fragmentation,
    LivenessKills,
    MemoryGrowth,
    OtherProcess,
    Redeploy,
    WorkspaceSpikes,
)
from labs.simulator.memory.growth import ALL, LazyCapture, PerRequest, Spike, unseen_shapes
from labs.simulator.memory.ledger import (
    DEVICES,
    H100_SXM,
    MIB,
    SHAPES,
    Device,
    MemoryFlags,
    ledger,
)
from labs.simulator.memory.prehistory import follow, live_through
from labs.simulator.memory.workspaces import MixedSizes
from labs.simulator.workload import LengthDistribution, RequestClass
from labs.worlds.traffic import MAX_OUTPUT_TOKENS, MAX_PROMPT_TOKENS, arrival_rate, chat

if TYPE_CHECKING:
    from labs.simulator.cluster import Cluster
    from labs.simulator.faults import Fault
    from labs.specs import LabSpec
    from labs.specs.memory import Client, MemoryFleet, MemoryWorld, UnseenShapes
    from labs.worlds.draws import Draws
    from labs.worlds.fleet import Fleet

HOUR_S = 3600.0
GIANTS_CV = 0.05
"""Of a client's longest requests: they are alike. Scenario constant."""


def fleet(spec: LabSpec, common: Fleet, draws: Draws) -> Fleet:
    """Return the fleet with the pool that its ledger leaves, where the lab asks for that."""
    said = spec.fleet.memory
    if said is None or not said.sizes_pool:
        return common
    blocks = ledger(SHAPES[common.profile_name], flags(said, common, draws)).num_gpu_blocks
    config = replace(common.config, num_gpu_blocks=blocks)
    return replace(common, pool_blocks=config.usable_blocks, config=config)


def flags(said: MemoryFleet, fleet: Fleet, draws: Draws) -> MemoryFlags:
    """Return the flags with which the followed replicas were started, before anything went wrong."""
    config = fleet.config
    return MemoryFlags(
        tensor_parallel_size=fleet.tensor_parallel_size,
        gpu_memory_utilization=round(draws.uniform("utilisation", said.gpu_memory_utilization), 2),
        max_num_batched_tokens=config.max_num_batched_tokens,
        max_num_seqs=config.max_num_seqs,
        max_model_len=config.max_model_len,
        kv_cache_dtype="fp8" if fleet.fp8_kv else "auto",
        block_size=config.block_size,
        max_cudagraph_capture_size=said.max_cudagraph_capture_size,
        enforce_eager=not device_of(fleet).captures,
        lazy_capture=said.lazy_capture,
        num_gpu_blocks_override=None if said.sizes_pool else config.num_gpu_blocks,
    )


def device_of(fleet: Fleet) -> Device:
    """Return what each rank of a fleet runs on."""
    return DEVICES.get(fleet.profile_name, H100_SXM)


def sick_replica(spec: LabSpec) -> int:
    """Return the replica that ails in the worlds of a lab. Raises ValueError if the lab follows none."""
    if spec.fleet.memory is None:
        raise ValueError(f"{spec.slug}: world.memory needs fleet.memory")
    return spec.fleet.memory.follows[-1]


def prepare(spec: LabSpec, cluster: Cluster, fleet: Fleet, draws: Draws) -> None:
    """Set up what the lab has of it, before the world begins; in every world of a seed the same."""
    said = spec.fleet.memory
    if said is None:
        return
    start_s = float(spec.timeline.starts_at_s)
    lived_s = HOUR_S * draws.uniform("lived", said.lived_h)
    rate = cluster.workload.spec.rates[0][1] / spec.fleet.replicas
    for replica in said.follows:
        memory = cluster.memory_kind(
            SHAPES[fleet.profile_name],
            flags(said, fleet, draws),
            device_of(fleet),
            start_s=start_s - lived_s,
            sizes_pool=said.sizes_pool,
            supervised=said.supervised,
        )
        live_through(memory, [(memory.start_s, rate)], start_s)
        follow(cluster, replica, memory, every_s=said.look_every_s)


def faults(spec: LabSpec, ails: MemoryWorld, draws: Draws, fleet: Fleet) -> list[Fault]:
    """Return what happens when the fault begins, in this order."""
    replica = sick_replica(spec)
    found: list[Fault] = []
    if ails.other_process is not None:
        guest = ails.other_process
        found.append(
            OtherProcess(
                replica,
                rank=draws.choice("sick_rank", range(fleet.tensor_parallel_size)),
                pid=draws.stream("other_pid").randrange(400_000, 900_000),
                name=guest.name,
                n_bytes=round(draws.uniform("other_mib", guest.memory_mib)) * MIB,
            )
        )
    if ails.deploy is not None:
        said = spec.fleet.memory
        assert said is not None  # noqa: S101  (sick_replica has looked)
        values = ails.deploy.model_dump(exclude_none=True)
        found.append(Redeploy(replica, replace(flags(said, fleet, draws), **values)))
    if ails.client is not None:
        found += _client(spec, replica, ails.client, draws)
    if ails.leak is not None:
        each = draws.uniform("leak_mib", ails.leak.mib_per_request)
        kind = ails.client.name if ails.client and ails.leak.client_only else ALL
        leak = PerRequest(ails.leak.owner, round(each * MIB), kind, where=ails.leak.where)
        found.append(MemoryGrowth(replica, leak, from_then=ails.leak.from_then))
    if ails.unseen_shapes is not None:
        found.append(MemoryGrowth(replica, _lazy(spec, ails.unseen_shapes, draws, fleet)))
    if ails.liveness_kills_every_s is not None:
        every_s = draws.uniform("liveness", ails.liveness_kills_every_s)
        found.append(LivenessKills(replica, every_s))
    return found


def _lazy(spec: LabSpec, said: UnseenShapes, draws: Draws, fleet: Fleet) -> LazyCapture:
    kind = chat(spec, draws)
    running = mean_running(spec, kind, draws, fleet)
    shapes = unseen_shapes(
        SHAPES[fleet.profile_name],
        mean_running=running,
        prompt=kind.prompt,
        max_num_batched_tokens=fleet.config.max_num_batched_tokens,
        warmed_decode_tokens=round(running * draws.uniform("warmed", said.warmed_share)),
        at_least_one_in=100_000.0,
    )
    return LazyCapture(f"{spec.slug}:{draws.seed}", shapes)


def mean_running(spec: LabSpec, kind: RequestClass, draws: Draws, fleet: Fleet) -> float:
    """Return how many requests decode at once on a replica, on average: Little's law with the step that they make."""
    if spec.traffic.rate is not None:
        rate = draws.uniform("rate", spec.traffic.rate) / spec.fleet.replicas
    else:
        load = draws.uniform("offered_load", spec.traffic.offered_load or (0.0, 0.0))
        rate = arrival_rate(
            load, kind, pool_tokens=fleet.pool_tokens, step_s=fleet.full_pool_step_s
        )
    held = kind.prompt.mean + kind.output.mean / 2
    running = 1.0
    for _ in range(30):
        step_ps = fleet.cost.step_ps(
            kv_tokens=round(running * held), prefill_tokens=0, sequences=round(running), tokens=0
        )
        # Prefill takes its share of the time beside.
        busy = rate * kind.prompt.mean * fleet.cost.per_prefill_token_ps / 1e12
        running = rate * kind.output.mean * step_ps / 1e12 / max(0.1, 1.0 - busy)
    return running


def _client(spec: LabSpec, replica: int, said: Client, draws: Draws) -> list[Fault]:
    share = draws.uniform("client_share", said.share)
    longest = max(MAX_PROMPT_TOKENS, spec.fleet.max_model_len - MAX_OUTPUT_TOKENS)
    kind = RequestClass(
        name=said.name,
        share=share,
        prompt=LengthDistribution(
            draws.uniform("client_prompt", said.prompt_tokens),
            said.prompt_cv,
            maximum=said.prompt_max_tokens or longest,
        ),
        output=LengthDistribution(
            draws.uniform("client_output", said.output_tokens), 0.3, maximum=MAX_OUTPUT_TOKENS
        ),
    )
    kinds = [kind]
    if said.giants is not None:
        among = draws.uniform("giants_share", said.giants.share)
        length = draws.uniform("giants_prompt", said.giants.prompt_tokens)
        prompt = LengthDistribution(length, GIANTS_CV, maximum=longest)
        kinds = [
            replace(kind, share=share * (1.0 - among)),
            replace(kind, share=share * among, prompt=prompt),
        ]
    found: list[Fault] = [MixChange((replace(chat(spec, draws), share=1.0 - share), *kinds))]
    if said.spike is not None:
        found.append(WorkspaceSpikes(replica, Spike(said.spike, said.name)))
    if said.mixed_sizes is not None:
        mixed = MixedSizes(said.name, **said.mixed_sizes.model_dump())
        found.append(Fragmentation(replica, mixed))
    return found

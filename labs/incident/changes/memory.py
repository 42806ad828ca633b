"""Changes of the memory of the ranks: other values for a start, other tenants, what the gateway lets through."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labs.incident.changes.kinds import Kind
from labs.simulator.hardware import repairs
from labs.simulator.memory import faults, supervise

if TYPE_CHECKING:
    from labs.incident.state import Incident, Operation
    from labs.simulator.cost_model import CostModel
    from labs.simulator.memory.ledger import MemoryFlags

_FIELDS: dict[str, tuple[str, Any]] = {
    "--tensor-parallel-size": ("tensor_parallel_size", int),
    "--max-model-len": ("max_model_len", int),
    "--max-num-seqs": ("max_num_seqs", int),
    "--max-num-batched-tokens": ("max_num_batched_tokens", int),
    "--num-gpu-blocks-override": ("num_gpu_blocks_override", int),
    "--max-cudagraph-capture-size": ("max_cudagraph_capture_size", int),
    "--gpu-memory-utilization": ("gpu_memory_utilization", float),
    "--kv-cache-dtype": ("kv_cache_dtype", str),
    "--enforce-eager": ("enforce_eager", lambda value: True),
    "--no-enforce-eager": ("enforce_eager", lambda value: False),
    "--expandable-segments": ("expandable_segments", lambda value: True),
    "--no-lazy-capture": ("lazy_capture", lambda value: False),
}
BOUNDED = "embedding_cache"
"""What ``--bounded-cache`` keeps from growing."""


def with_values(flags: MemoryFlags, operation: Operation) -> MemoryFlags:
    """Return an engine's memory flags after a start with other values; those that are not given stay."""
    changed = {
        _FIELDS[key][0]: _FIELDS[key][1](value)
        for key, value in operation.items()
        if key in _FIELDS
    }
    made = replace(flags, **changed)
    blocks = made.num_gpu_blocks_override
    if blocks is not None and made.kv_cache_dtype != flags.kv_cache_dtype:
        # The same bytes hold twice the tokens; one block is the null block.
        usable = (blocks - 1) * 2 if made.kv_cache_dtype == "fp8" else (blocks - 1) // 2
        made = replace(made, num_gpu_blocks_override=usable + 1)
    return made


def start_replica(incident: Incident, replica: int, operation: Operation) -> None:
    """Stop one followed replica and start it with other values, now; how that goes is its memory's to say."""
    cluster = incident.world.cluster
    flags = with_values(cluster.memory[replica].flags, operation)
    config = incident.fleet.config
    if flags.num_gpu_blocks_override is not None:
        config = replace(config, num_gpu_blocks=flags.num_gpu_blocks_override)
    if operation.get("--attention-backend", "TORCH_SDPA") != "TORCH_SDPA":
        # A fused kernel never writes the scores.
        memory = cluster.memory[replica]
        memory.spikes = tuple(each for each in memory.spikes if each.kind != "attention_scores")
    if "--bounded-cache" in operation:
        memory = cluster.memory[replica]
        memory.growths = tuple(each for each in memory.growths if each.owner != BOUNDED)
    cost = _cost(incident, flags, captures=cluster.memory[replica].device.captures)
    engine = cluster.engines[replica]
    if cluster.hardware is not None:
        cost = cluster.hardware.restarted(replica, cost, engine.cost, cluster.now_s)
    supervise.restart(cluster, replica, flags, config=config, cost=cost)
    if replica == 0:
        incident.fleet = replace(
            incident.fleet,
            config=engine.config,
            fp8_kv=flags.kv_cache_dtype == "fp8",
            tensor_parallel_size=flags.tensor_parallel_size,
        )


def _cost(incident: Incident, flags: MemoryFlags, *, captures: bool) -> CostModel:
    """Return what a step costs with these flags on healthy hardware: half the GPUs take twice as long.

    Where nothing is captured anyway, an eager engine is no slower.
    """
    profile = incident.fleet.profile
    cost = profile.cost_model(fp8_kv=flags.kv_cache_dtype == "fp8")
    cost = cost.scaled(profile.tensor_parallel_size / flags.tensor_parallel_size)
    return cost.plus(base_ms=supervise.EAGER_MS) if flags.enforce_eager and captures else cost


def _meant(incident: Incident, operation: Operation) -> list[int]:
    followed = sorted(incident.world.cluster.memory)
    return [int(operation["replica"])] if "replica" in operation else followed


def _redeploy(incident: Incident, operation: Operation) -> None:
    for replica in _meant(incident, operation):
        start_replica(incident, replica, operation)


def _refused(incident: Incident, operation: Operation) -> str:
    cluster = incident.world.cluster
    for replica in _meant(incident, operation):
        memory = cluster.memory.get(replica)
        if memory is None:
            return f"redeploy: replica {replica} is not part of this rollout."
        flags = with_values(memory.flags, operation)
        asked = int(operation.get("--num-gpu-blocks-override", 0))
        most = 1 + (incident.spec.fleet.most_pool_blocks or incident.world.fleet.pool_blocks)
        if asked > most:
            return f"redeploy: a pool of {asked:,} blocks does not fit the memory, which has room for {most:,}; nothing was stopped."
        if flags.tensor_parallel_size > len(memory.gpus):
            return f"redeploy: the node has {len(memory.gpus)} GPUs, not {flags.tensor_parallel_size}; nothing was stopped."
        if memory.shape.kv_heads % flags.tensor_parallel_size:
            return f"redeploy: {memory.shape.heads} attention heads cannot be parted by {flags.tensor_parallel_size}; nothing was stopped."
    return ""


def _evict(incident: Incident, operation: Operation) -> None:
    """End every process on the cluster's GPUs that is not an engine's; a replica that they kept from starting starts."""
    del operation
    cluster = incident.world.cluster
    for replica, memory in sorted(cluster.memory.items()):
        tenants = memory.tenants_at(cluster.now_s)
        for tenant in tenants:
            faults.evict(cluster, replica, tenant.pid)
        if tenants and memory.ledger_at(cluster.now_s) is None:
            supervise.restart(cluster, replica)
    if cluster.hardware is not None:
        for guest in tuple(cluster.hardware.tenants):
            repairs.evict(cluster, guest.pid)


def _refuse_prompt_logprobs(incident: Incident, operation: Operation) -> None:
    del operation
    for replica in incident.world.cluster.memory:
        faults.refuse_prompt_logprobs(incident.world.cluster, replica)


def _said(operation: Operation) -> str:
    where = f"Replica {operation['replica']}" if "replica" in operation else "All replicas"
    values = " ".join(
        f"{key} {value}".strip() for key, value in operation.items() if key.startswith("--")
    )
    return f"{where} started again with {values or 'the same values'}"


KINDS: dict[str, Kind] = {
    "redeploy": Kind(
        key="redeploy",
        target="values",
        apply=_redeploy,
        why_not=_refused,
        describe=_said,
        lasts="redeploy again with the values that you want.",
    ),
    "evict": Kind(
        key="evict",
        target="tenants",
        apply=_evict,
        lasts="what was ended does not come back by itself.",
        describe=lambda operation: "Other tenants' processes on these GPUs were ended",
    ),
    "refuse-prompt-logprobs": Kind(
        key="logprobs",
        target="gateway",
        apply=_refuse_prompt_logprobs,
        lasts="the gateway keeps its rule.",
        describe=lambda operation: "The gateway strips prompt_logprobs from requests",
    ),
}

"""Restarts, with other flags or the same."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labs.incident.changes import memory
from labs.incident.changes.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labs.incident.state import Incident, Operation
    from labs.worlds import Fleet


def with_flags(fleet: Fleet, operation: Operation) -> Fleet:
    """Return the fleet after a restart with flags; flags that are not given stay."""
    config, fp8_kv, pool_blocks = fleet.config, fleet.fp8_kv, fleet.pool_blocks
    for flag, value in operation.items():
        match flag:
            case "--max-num-seqs":
                config = replace(config, max_num_seqs=int(value))
            case "--max-num-batched-tokens":
                config = replace(config, max_num_batched_tokens=int(value))
            case "--num-gpu-blocks-override":
                pool_blocks = int(value) - 1
            case "--watermark":
                config = replace(config, watermark=float(value))
            case "--scheduler-reserve-full-isl" | "--no-scheduler-reserve-full-isl":
                config = replace(config, scheduler_reserve_full_isl=not flag.startswith("--no-"))
            case "--enable-chunked-prefill" | "--no-enable-chunked-prefill":
                config = replace(config, enable_chunked_prefill=not flag.startswith("--no-"))
            case "--allow-whole-prefill" | "--no-allow-whole-prefill":
                config = replace(config, allow_whole_prefill=not flag.startswith("--no-"))
            case "--kv-cache-dtype":
                fp8_kv = value == "fp8"
            case _:
                continue
    blocks = pool_blocks * (2 if fp8_kv else 1)
    config = replace(config, num_gpu_blocks=blocks + 1)
    return replace(fleet, config=config, fp8_kv=fp8_kv, pool_blocks=pool_blocks)


def _folded(incident: Incident, operations: Sequence[Operation]) -> Fleet:
    """Return what the fleet runs with after these restarts and no other."""
    fleet = incident.world.fleet
    for operation in operations:
        fleet = with_flags(fleet, operation)
    return fleet


def _refused(incident: Incident, fleet: Fleet) -> str:
    config, most = fleet.config, incident.spec.fleet.most_pool_blocks
    if fleet.pool_blocks > (most or incident.world.fleet.pool_blocks):
        room = f"{most + 1} blocks" if most else "no more than it has"
        return (
            f"vllm: a pool of {fleet.pool_blocks + 1} blocks does not fit the memory, which has room for {room}. "
            "The engine was not stopped."
        )
    longest_blocks = -(-config.max_model_len // config.block_size)
    if config.usable_blocks < longest_blocks:
        return (
            f"vllm: one request of max_model_len ({config.max_model_len}) needs {longest_blocks} blocks and the pool "
            f"would have {config.usable_blocks}; raise the one or lower the other. The engine was not stopped."
        )
    budget, longest = config.max_num_batched_tokens, config.max_model_len
    if config.enable_chunked_prefill or budget >= longest:
        return ""
    return (
        f"vllm: max_num_batched_tokens ({budget}) is smaller than max_model_len ({longest}). "
        "Without chunked prefill the engine would refuse longer prompts; raise the one or enable the other. The engine was not stopped."
    )


def _restart(incident: Incident, operation: Operation) -> None:
    cluster, fleet = incident.world.cluster, incident.fleet
    cost = fleet.profile.cost_model(fp8_kv=fleet.fp8_kv)
    down_s = float(incident.spec.fleet.restart_s)
    for replica in range(incident.spec.fleet.replicas):
        if replica in cluster.memory:
            memory.start_replica(incident, replica, operation)
        else:
            cluster.restart_engine(replica, fleet.config, cost, down_s)


def _apply(incident: Incident, operation: Operation) -> None:
    incident.fleet = with_flags(incident.fleet, operation)
    _restart(incident, operation)


def _undo(incident: Incident, operation: Operation, left: Sequence[Operation]) -> None:
    del operation
    fleet = incident.fleet = _folded(incident, left)
    _restart(
        incident,
        {
            "--max-num-seqs": str(fleet.config.max_num_seqs),
            "--max-num-batched-tokens": str(fleet.config.max_num_batched_tokens),
            "--kv-cache-dtype": "fp8" if fleet.fp8_kv else "auto",
        },
    )


def _why_not_undone(incident: Incident, operation: Operation, left: Sequence[Operation]) -> str:
    if not any(key.startswith("--") for key in operation):
        return "a restart with the same settings leaves nothing to take back."
    return _refused(incident, _folded(incident, left))


def _describe(operation: Operation) -> str:
    flags = " ".join(
        f"{key} {value}".strip() for key, value in operation.items() if key.startswith("--")
    )
    return f"Restarted with {flags}" if flags else "Restarted, same flags"


KINDS = {
    "restart": Kind(
        key="restart",
        target="engine",
        apply=_apply,
        describe=_describe,
        undo=_undo,
        why_not=lambda incident, operation: _refused(
            incident, with_flags(incident.fleet, operation)
        ),
        why_not_undone=_why_not_undone,
    )
}

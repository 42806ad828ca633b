"""What happens to an engine when memory runs out: its process dies, its requests fail, and it is started again.

vLLM catches no out-of-memory error of a step: the worker's exception ends the engine core, every request of the
engine fails with a 500, and whoever supervises the process (a Deployment, systemd) starts it anew. A start
that fails is tried again after a back-off that doubles, as the kubelet does (10 s to 5 min).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from labs.simulator.memory.allocator import OutOfMemoryError
from labs.simulator.memory.growth import ALL, LazyCapture
from labs.simulator.memory.ledger import MIB
from labs.simulator.memory.lives import Transient
from labs.simulator.memory.messages import cuda_out_of_memory
from labs.simulator.memory.tensors import pages

if TYPE_CHECKING:
    from labs.simulator.cluster import Cluster
    from labs.simulator.config import EngineConfig
    from labs.simulator.cost_model import CostModel
    from labs.simulator.memory.ledger import MemoryFlags
    from labs.simulator.memory.phases import Other, StartUp
    from labs.simulator.memory.state import Memory
    from labs.simulator.request import Request

BACK_OFF_S, LONGEST_BACK_OFF_S = 10.0, 300.0
"""Kubernetes: CrashLoopBackOff starts at 10 s, doubles, and ends at 5 minutes."""
EAGER_MS = 3.8
"""What a step costs more without graphs: 160 all-reduces of 24 us launched by the host (70B, TP4)."""
NEVER_S = 1e6
"""An engine that nobody starts again is down for so long: longer than any incident."""
MOMENT_S = 1.0
"""A failed engine stays down this much past the next attempt, which then says for how long."""


@dataclass(slots=True, frozen=True)
class StartAgain:
    """The supervisor's next attempt to start a replica's engine."""

    replica: int
    life: int
    """The process that failed; an attempt is void if somebody has started another one since."""

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Start it, unless somebody did."""
        if cluster.memory[self.replica].life.index == self.life:
            start(cluster, self.replica, at_s)


def start(
    cluster: Cluster,
    replica: int,
    at_s: float,
    *,
    config: EngineConfig | None = None,
    cost: CostModel | None = None,
) -> StartUp:
    """Start a replica's engine at ``at_s`` with its memory's flags; it serves when the start is through.

    ``config`` and ``cost`` are the engine's from then on (None: as they are). If the start fails the engine stays
    down, and the next attempt is scheduled, if the replica is supervised. Requests that the engine holds wait for it.
    """
    memory, engine = cluster.memory[replica], cluster.engines[replica]
    eager_before = memory.life.flags.enforce_eager
    if memory.life.ended_s is None:
        memory.end(at_s)
    startup = memory.begin(at_s)
    config = config or engine.config
    if cost is None:
        change_ms = EAGER_MS * (memory.flags.enforce_eager - eager_before)
        cost = engine.cost.plus(base_ms=change_ms) if change_ms else engine.cost
    if startup.ready_after_s is not None:
        memory.failed_starts = 0
        if memory.sizes_pool:
            config = configured(memory, config)
        engine.restart(config, cost, down_s=startup.ready_after_s)
        return startup
    memory.failed_starts += 1
    if not memory.supervised:
        engine.restart(config, cost, down_s=NEVER_S)
        return startup
    again_s = startup.took_s + min(
        LONGEST_BACK_OFF_S, BACK_OFF_S * 2.0 ** (memory.failed_starts - 1)
    )
    engine.restart(config, cost, down_s=again_s + MOMENT_S)
    cluster.schedule(at_s + again_s, StartAgain(replica, memory.life.index))
    return startup


def configured(memory: Memory, config: EngineConfig) -> EngineConfig:
    """Return an engine's config with the pool of its memory's latest start and the limits of its flags."""
    flags = memory.life.flags
    return replace(
        config,
        num_gpu_blocks=memory.life.startup.ledger.num_gpu_blocks,
        max_num_seqs=flags.max_num_seqs,
        max_num_batched_tokens=flags.max_num_batched_tokens,
        max_model_len=flags.max_model_len,
    )


def restart(
    cluster: Cluster,
    replica: int,
    flags: MemoryFlags | None = None,
    *,
    config: EngineConfig | None = None,
    cost: CostModel | None = None,
) -> StartUp:
    """Stop a replica's engine and start it with other ``flags`` (None: the same), now; return how that goes.

    The limits that both have (sequences, token budget, context) are the flags' in the engine's config too.
    """
    memory = cluster.memory[replica]
    if flags is not None:
        memory.flags = flags
        config = replace(
            config or cluster.engines[replica].config,
            max_num_seqs=flags.max_num_seqs,
            max_num_batched_tokens=flags.max_num_batched_tokens,
            max_model_len=flags.max_model_len,
        )
        if flags.num_gpu_blocks_override is not None:
            config = replace(config, num_gpu_blocks=flags.num_gpu_blocks_override)
    memory.failed_starts = 0
    return start(cluster, replica, cluster.now_s, config=config, cost=cost)


def restart_as(cluster: Cluster, replica: int, config: EngineConfig, cost: CostModel) -> StartUp:
    """Restart a replica's engine with another config and cost, whose limits its memory's flags follow."""
    memory = cluster.memory[replica]
    memory.flags = replace(
        memory.flags,
        max_num_seqs=config.max_num_seqs,
        max_num_batched_tokens=config.max_num_batched_tokens,
        max_model_len=config.max_model_len,
    )
    memory.failed_starts = 0
    return start(cluster, replica, cluster.now_s, config=config, cost=cost)


def out_of_memory(
    cluster: Cluster, replica: int, at_s: float, *, tried: int, released: int = 0
) -> str:
    """Let the engine die of an allocation of ``tried`` bytes at ``at_s``; return torch's message.

    ``released`` is what torch had cached and gave back to the driver before it failed, bytes.
    All that ran or waited in the engine fails (ABORTED, ``finish_reason`` error); what has not reached it waits for the
    next process, which the supervisor starts at once.
    """
    message = oom_message(cluster.memory[replica], at_s, tried=tried, released=released)
    die(cluster, replica, at_s, message)
    return message


def die(cluster: Cluster, replica: int, at_s: float, message: str) -> None:
    """Let the process of a replica end at ``at_s`` with an error, and the supervisor start the next; see ``out_of_memory``."""
    memory, engine = cluster.memory[replica], cluster.engines[replica]
    memory.end(at_s, message)
    memory.pending.clear()
    for request in (*engine.running, *engine.waiting):
        engine.abort(request)
        if (
            request.finish_ps is not None
        ):  # An engine that keeps the cancelled has it sent again instead.
            request.finish_reason = "error"
    start(cluster, replica, at_s)


def oom_message(memory: Memory, at_s: float, *, tried: int, released: int = 0) -> str:
    """Return what torch writes when ``tried`` bytes do not fit at ``at_s`` on the fullest rank; see ``out_of_memory``."""
    rank = memory.worst_rank(at_s)
    others: tuple[Other, ...] = memory.others_at(at_s)[rank]
    # Where more is booked than there is, the last allocation is the one that failed.
    free = memory.free_bytes(rank, at_s) + released
    over = max(0, -free)
    reserved = memory.reserved_bytes(at_s) - over - released
    return cuda_out_of_memory(
        tried=tried,
        gpu=memory.gpus[rank] if rank < len(memory.gpus) else rank,
        capacity=memory.device.usable_bytes,
        free=free + over,
        in_use=memory.process_bytes(at_s) - over - released,
        allocated=min(memory.allocated_bytes(at_s), reserved),
        reserved=reserved,
        others=others,
    )


def look(cluster: Cluster, replica: int, at_s: float) -> None:
    """Bring a replica's memory up to ``at_s``: count its new requests, make their workspaces, see whether all fits."""
    memory, engine = cluster.memory[replica], cluster.engines[replica]
    if engine.is_dead and memory.life.ended_s is None:
        memory.end(at_s)
    if engine.is_down or memory.ledger_at(at_s) is None:
        return
    _count(memory, engine.requests, at_s)
    if not _served(cluster, replica, at_s):
        return
    # Where nothing grows, what fitted at the start fits.
    can_grow = memory.life.growths or memory.tenants or memory.mixed_sizes
    if can_grow and least_free(memory, at_s) < 0:
        out_of_memory(cluster, replica, at_s, tried=last_growth_bytes(memory, at_s))


def least_free(memory: Memory, at_s: float) -> int:
    """Return what is free on the fullest GPU of a replica, bytes."""
    return memory.free_bytes(memory.worst_rank(at_s), at_s)


def _count(memory: Memory, requests: list[Request], at_s: float) -> None:
    kinds = {spike.request_class for spike in memory.spikes}
    if memory.mixed_sizes is not None:
        kinds.add(memory.mixed_sizes.request_class)
    added: dict[str, float] = {ALL: 0.0}
    for index in range(memory.seen, len(requests)):
        name = requests[index].request_class
        added[ALL] += 1.0
        if name:
            added[name] = added.get(name, 0.0) + 1.0
        if name in kinds:
            memory.pending.append(index)
    memory.seen = len(requests)
    memory.count(at_s, added)


def _served(cluster: Cluster, replica: int, at_s: float) -> bool:
    """Make the workspaces that are due; return False if one killed the engine."""
    memory, engine = cluster.memory[replica], cluster.engines[replica]
    due = [i for i in memory.pending if engine.requests[i].first_scheduled_ps is not None]
    if not due:
        return True
    memory.pending = [i for i in memory.pending if i not in due]
    for index in due:
        request = engine.requests[index]
        failed = _does_not_fit(memory, request, at_s)
        if failed is not None:
            tried, released = failed
            out_of_memory(cluster, replica, at_s, tried=tried, released=released)
            return False
    return True


def _does_not_fit(memory: Memory, request: Request, at_s: float) -> tuple[int, int] | None:
    """Make the workspaces of one request; return None, or the bytes that failed and those given back before."""
    rank = memory.worst_rank(at_s)
    peak = memory.life.startup.ledger.activation_peak
    needed, kind = workspace_of(memory, request)
    if needed:
        failed = needed > room_for_workspace(memory, rank, at_s)
        memory.transients.append(Transient(at_s, needed, request.request_id, failed, kind))
        if failed:
            return pages(needed), peak
    workspaces = memory.workspaces_of(memory.life)
    if workspaces is None or workspaces.kind.request_class != request.request_class:
        return None
    try:
        workspaces.serve(
            at_s,
            request.prompt_tokens,
            capacity=workspaces.at(at_s).reserved + memory.free_bytes(rank, at_s),
            peak=peak,
        )
    except OutOfMemoryError as error:
        return error.tried, peak
    return None


def workspace_of(memory: Memory, request: Request) -> tuple[int, str]:
    """Return the temporary bytes that a request takes on each rank beside its ordinary activations, and the kind of it."""
    flags, prompt = memory.life.flags, request.prompt_tokens
    return max(
        (
            (
                spike.bytes_for(
                    memory.shape,
                    prompt,
                    max_num_batched_tokens=flags.max_num_batched_tokens,
                    tensor_parallel_size=flags.tensor_parallel_size,
                ),
                spike.kind,
            )
            for spike in memory.spikes
            if spike.request_class == request.request_class
            and (spike.kind != "prompt_logprobs" or flags.prompt_logprobs)
        ),
        default=(0, ""),
    )


def room_for_workspace(memory: Memory, rank: int, at_s: float) -> int:
    """Return the most that one step can take on a rank: what is free, and the cached peak that torch would give back."""
    return memory.free_bytes(rank, at_s) + memory.life.startup.ledger.activation_peak


def last_growth_bytes(memory: Memory, at_s: float) -> int:
    """Return the size of the allocation that did not fit: a part of the latest graph pool, else a segment of 20 MiB."""
    life = memory.life
    counts = life.counts_at(at_s)
    latest = 0
    for growth in memory.growths_of(life):
        if isinstance(growth, LazyCapture):
            for due, shape in growth.captures(life.index):
                if due <= counts.get(ALL, 0.0):
                    latest = shape.pool_bytes
    return pages(latest // 4) if latest else 20 * MIB

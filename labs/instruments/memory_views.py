"""Memory as people look at it: a ledger by owner, torch's summary and snapshot, processes, and how it went over time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from labs.instruments.logs.entries import stamp
from labs.simulator.memory.growth import LazyCapture
from labs.simulator.memory.ledger import MIB, mib

if TYPE_CHECKING:
    from labs.instruments.signals import View
    from labs.simulator.memory.state import Memory

NOT_FOLLOWED = "memory: this world does not follow the memory of that replica"
NO_PROCESS = "memory: no process of the engine is up; its start-up log says why"
FRAMES = {
    "weights": ("vllm/model_executor/layers/linear.py", "create_weights"),
    "kv_cache": ("vllm/v1/worker/gpu_model_runner.py", "_allocate_kv_cache_tensors"),
    "workspace": ("torch/cuda/__init__.py", "cublas_workspace"),
    "activations": ("vllm/v1/worker/gpu_model_runner.py", "_dummy_run"),
    "cuda_graphs": ("vllm/compilation/cuda_graph.py", "__call__"),
    "cuda_graph_pools": ("engine/lazy_graphs.py", "capture_unseen"),
    "embedding_cache": ("vllm/multimodal/encoder_cache.py", "store"),
}
"""Where an owner's memory was allocated: a snapshot's frames, cut down to one. Files are named as vLLM names such things."""
START_ADDRESS = 0x7F_0000_0000_00


class App(NamedTuple):
    """One row of nvidia-smi's compute apps."""

    gpu: int
    pid: int
    name: str
    used_mib: int


def memory_ledger(view: View, replica: int = 0) -> str:
    """Return one rank's memory by owner, MiB, each with what shows it; then what the totals leave out."""
    memory = view.cluster.memory.get(replica)
    if memory is None:
        return NOT_FOLLOWED
    rank = memory.worst_rank(view.now_s)
    rows = _rows(memory, rank, view.now_s)
    if not rows:
        return NO_PROCESS
    free = memory.free_bytes(rank, view.now_s)
    reserved, allocated = memory.reserved_bytes(view.now_s), memory.allocated_bytes(view.now_s)
    head = f"replica {replica}, rank {rank} (GPU {_gpu(memory, rank)}): the one with the least free"
    totals = [
        ("torch allocated", allocated, "torch.cuda.memory_allocated"),
        ("torch reserved", reserved, "torch.cuda.memory_reserved"),
        ("process", memory.process_bytes(view.now_s), "nvidia-smi, this process"),
        ("free", free, "nvidia-smi: total less used and the driver's own"),
    ]
    lines = [head, f"{'owner':28}{'MiB':>9}  shown by"]
    lines += [f"{name:28}{mib(size):>9,}  {shown}" for name, size, shown in rows]
    lines.append("-" * 60)
    lines += [f"{name:28}{mib(size):>9,}  {shown}" for name, size, shown in totals]
    return "\n".join(lines)


def _gpu(memory: Memory, rank: int) -> int:
    return memory.gpus[rank] if rank < len(memory.gpus) else rank


def _rows(memory: Memory, rank: int, at_s: float) -> list[tuple[str, int, str]]:
    sums = memory.ledger_at(at_s)
    if sums is None:
        return []
    moment = memory.moment_at(at_s)
    rows = [
        ("weights", sums.weights, "torch allocated"),
        ("KV cache", sums.kv_cache, "torch allocated; kv_cache_usage_perc says how much is in use"),
        ("workspace", sums.workspace, "torch allocated"),
        ("CUDA graphs, at start", sums.cuda_graphs, "torch reserved, private pool"),
        (
            "activation peak, cached",
            sums.activation_peak,
            "torch reserved, allocated within a step only",
        ),
    ]
    rows += [
        (owner, held, "torch reserved, private pools" if owner == "cuda_graph_pools" else "torch allocated")
        for owner, held in sorted(memory.growth_at(at_s).items())
    ]  # fmt: skip
    if moment.reserved:
        rows += [
            ("caches of requests", moment.allocated, "torch allocated"),
            ("split, free", moment.inactive_split, "torch reserved, inactive"),
            (
                "cached, whole segments",
                moment.reserved - moment.allocated - moment.inactive_split,
                "torch reserved, inactive",
            ),
        ]
    rows += [
        ("CUDA context, modules", sums.cuda_context + sums.late, "nvidia-smi only"),
        ("NCCL", sums.nccl, "nvidia-smi only"),
    ]
    rows += [
        (f"pid {tenant.pid} ({tenant.name})", tenant.n_bytes, "nvidia-smi, another process")
        for tenant in memory.tenants_at(at_s)
        if tenant.rank == rank
    ]
    return rows


def memory_summary(view: View, replica: int = 0) -> str:
    """Return what ``torch.cuda.memory_summary`` prints of a rank: present and peak, in MiB."""
    memory = view.cluster.memory.get(replica)
    if memory is None:
        return NOT_FOLLOWED
    at_s = view.now_s
    life, sums = memory.life_at(at_s), memory.ledger_at(at_s)
    if life is None or sums is None:
        return NO_PROCESS
    moment = memory.moment_at(at_s)
    allocated, reserved = memory.allocated_bytes(at_s), memory.reserved_bytes(at_s)
    spike = max(
        (t.n_bytes for t in memory.transients if life.start_s <= t.at_s <= at_s and not t.failed),
        default=0,
    )
    history = [] if life.workspaces is None else life.workspaces.history
    peak_moment = max((m.reserved for m in history if m.at_s <= at_s), default=0)
    rows = [
        ("Allocated memory", allocated, allocated + sums.activation_peak + spike),
        ("Active memory", allocated, allocated + sums.activation_peak + spike),
        ("GPU reserved memory", reserved, max(reserved - moment.reserved + peak_moment, allocated + sums.activation_peak + spike)),
        ("Non-releasable memory", moment.inactive_split, max((m.inactive_split for m in history if m.at_s <= at_s), default=0)),
    ]  # fmt: skip
    bar, thin = "|" + "=" * 59 + "|", "|" + "-" * 59 + "|"
    lines = [
        bar,
        f"|{f'PyTorch CUDA memory summary, device ID {_gpu(memory, 0)}':^59}|",
        thin,
        f"|{'CUDA OOMs: 0':^29}|{f'cudaMalloc retries: {int(spike > memory.free_bytes(0, at_s))}':^29}|",
        bar,
        f"|{'Metric':^25}|{'Cur Usage':^16}|{'Peak Usage':^16}|",
        thin,
    ]
    lines += [f"| {name:24}|{mib(now):>11} MiB |{mib(peak):>11} MiB |" for name, now, peak in rows]
    return "\n".join([*lines, bar])


def memory_snapshot(view: View, replica: int = 0) -> str:
    """Return a rank's segments in the shape of torch's ``_snapshot``: JSON, one frame a block, empty list if no process.

    Segments of the same owner that are alike (the weights' tensors, the pool's layers) are drawn together as one.
    """
    memory = view.cluster.memory.get(replica)
    segments = [] if memory is None else snapshot_segments(memory, view.now_s)
    expandable = bool(memory and memory.life.flags.expandable_segments)
    data = {
        "segments": segments,
        "device_traces": [[]],
        "allocator_settings": {"expandable_segments": expandable, "max_split_size": -1},
    }
    return json.dumps(data, indent=1)


def snapshot_segments(memory: Memory, at_s: float) -> list[dict[str, Any]]:
    """Return the segments of a rank at ``at_s`` as plain values; empty without a process that is ready."""
    life, sums = memory.life_at(at_s), memory.ledger_at(at_s)
    if life is None or sums is None:
        return []
    parts: list[tuple[str, tuple[int, int], list[tuple[str, int, bool]]]] = [
        ("weights", (0, 0), [("weights", sums.weights, True)]),
        ("kv_cache", (0, 0), [("kv_cache", sums.kv_cache, True)]),
        ("workspace", (0, 0), [("workspace", sums.workspace, True)]),
        ("activations", (0, 0), [("activations", sums.activation_peak, False)]),
    ]
    if sums.cuda_graphs:
        parts.append(("cuda_graphs", (0, 1), [("cuda_graphs", sums.cuda_graphs, False)]))
    counts = life.counts_at(at_s)
    for growth in memory.growths_of(life):
        if isinstance(growth, LazyCapture):
            pools = [
                shape.pool_bytes
                for due, shape in growth.captures(life.index)
                if due <= counts.get("", 0.0)
            ]
            parts += [
                (growth.owner, (0, 2 + number), [(growth.owner, size, False)])
                for number, size in enumerate(pools)
            ]
        elif growth.where == "gpu" and growth.held(counts, life.index):
            held = growth.held(counts, life.index)
            parts.append((growth.owner, (0, 0), [(growth.owner, held, True)]))
    if life.workspaces is not None:
        parts += [
            (
                "requests",
                (0, 0),
                [(block.owner, block.size, block.handle > 0) for block in segment.blocks if block.handle >= 0],
            )
            for segment in life.workspaces.allocator.segments
        ]  # fmt: skip
    address, segments = START_ADDRESS, []
    for _, pool, blocks in parts:
        segments.append(_segment(_gpu(memory, 0), address, pool, blocks))
        address += -(-sum(size for _, size, _ in blocks) // (2 * MIB)) * 2 * MIB
    return segments


def _segment(
    gpu: int, address: int, pool: tuple[int, int], blocks: list[tuple[str, int, bool]]
) -> dict[str, Any]:
    described = []
    at = address
    for owner, size, held in blocks:
        file, name = FRAMES.get(owner, (f"engine/{owner}.py", "store"))
        frames = [{"filename": file, "line": 1, "name": name}] if owner else []
        described.append(
            {
                "address": at,
                "size": size,
                "requested_size": size,
                "state": "active_allocated" if held else "inactive",
                "frames": frames,
            }
        )
        at += size
    held_bytes = sum(size for _, size, held in blocks if held)
    return {
        "device": gpu,
        "address": address,
        "total_size": sum(size for _, size, _ in blocks),
        "allocated_size": held_bytes,
        "active_size": held_bytes,
        "stream": 0,
        "segment_type": "large",
        "segment_pool_id": list(pool),
        "blocks": described,
    }


def snapshot_table(view: View, replica: int = 0) -> str:
    """Return a snapshot summed by where it was allocated: bytes held, bytes inactive, segments, the largest gap."""
    memory = view.cluster.memory.get(replica)
    if memory is None:
        return NOT_FOLLOWED
    segments = snapshot_segments(memory, view.now_s)
    if not segments:
        return NO_PROCESS
    sums: dict[str, list[int]] = {}
    for segment in segments:
        for block in segment["blocks"]:
            frame = block["frames"][0] if block["frames"] else None
            where = "(free)" if frame is None else f"{frame['filename']}:{frame['name']}"
            entry = sums.setdefault(where, [0, 0, 0, 0])
            held = block["state"] == "active_allocated"
            entry[0 if held else 1] += block["size"]
            entry[2] += 1
            if not held:
                entry[3] = max(entry[3], block["size"])
    lines = [
        f"{'allocated at':66}{'held MiB':>10}{'inactive MiB':>14}{'blocks':>8}{'largest gap':>13}"
    ]
    for where, (held, inactive, blocks, gap) in sorted(
        sums.items(), key=lambda item: -item[1][0] - item[1][1]
    ):
        lines.append(f"{where:66}{mib(held):>10,}{mib(inactive):>14,}{blocks:>8}{mib(gap):>13,}")
    return "\n".join(lines)


def compute_apps(view: View) -> tuple[App, ...]:
    """Return the processes on the GPUs of all replicas that are followed, in order of GPU and pid."""
    apps = []
    for _, memory in sorted(view.cluster.memory.items()):
        used = memory.process_bytes(view.now_s)
        for rank in memory.ranks:
            pid = memory.pid_of(rank, view.now_s)
            if pid is not None and used:
                apps.append(App(_gpu(memory, rank), pid, f"VLLM::Worker_TP{rank}", mib(used)))
        apps += [
            App(_gpu(memory, tenant.rank), tenant.pid, tenant.name, mib(tenant.n_bytes))
            for tenant in memory.tenants_at(view.now_s)
        ]
    return tuple(sorted(apps))


def compute_apps_csv(view: View) -> str:
    """Return the lines of ``nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv``, the GPU first."""
    rows = [f"{app.gpu}, {app.pid}, {app.name}, {app.used_mib} MiB" for app in compute_apps(view)]
    return "\n".join(["gpu, pid, process_name, used_gpu_memory [MiB]", *rows])


def host_memory(view: View, replica: int = 0) -> str:
    """Return the resident memory of a replica's host processes, as ``ps`` would list it."""
    memory = view.cluster.memory.get(replica)
    if memory is None:
        return NOT_FOLLOWED
    rss = memory.host_rss_mib(view.now_s)
    if not rss:
        return NO_PROCESS
    return "\n".join(
        ["   RSS MiB  COMMAND", *(f"{size:>10,}  VLLM::{name}" for name, size in rss.items())]
    )


def memory_history(
    view: View, replica: int = 0, *, hours: float = 48.0, every_s: float = 7200.0
) -> str:
    """Return used, reserved and allocated of a replica's fullest rank over time, and each end of a process between."""
    memory = view.cluster.memory.get(replica)
    if memory is None:
        return NOT_FOLLOWED
    first_s = memory.lives[0].start_s
    count = int(min(hours * 3600.0, view.now_s - first_s) // every_s)
    times = [view.now_s - every_s * step for step in range(count, -1, -1)]
    lines = [f"{'time':16}{'used MiB':>10}{'reserved':>10}{'allocated':>11}"]
    for place, at_s in enumerate(times):
        before_s = times[place - 1] if place else at_s
        lines += [
            f"{stamp(life.ended_s or at_s):16}  process ended: {life.ended_by[:44]}..."
            for life in memory.crashes_between(before_s, at_s)
        ]
        used = memory.used_mib(memory.worst_rank(at_s), at_s)
        lines.append(
            f"{stamp(at_s):16}{used:>10,}{mib(memory.reserved_bytes(at_s)):>10,}{mib(memory.allocated_bytes(at_s)):>11,}"
        )
    return "\n".join(lines)

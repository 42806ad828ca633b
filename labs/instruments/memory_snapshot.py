"""A memory snapshot in torch's shape, and summed by where its memory was allocated."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from labs.instruments.memory_views import NO_PROCESS, NOT_FOLLOWED, gpu_of
from labs.simulator.memory.growth import LazyCapture
from labs.simulator.memory.ledger import MIB, mib

if TYPE_CHECKING:
    from labs.instruments.signals import View
    from labs.simulator.memory.state import Memory

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
        segments.append(_segment(gpu_of(memory, 0), address, pool, blocks))
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

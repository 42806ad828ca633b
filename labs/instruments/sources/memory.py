"""What a console can read of the memory of the ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.instruments import memory_views, startup_log
from labs.instruments.memory_snapshot import snapshot_table
from labs.instruments.sources.source import Source, always

if TYPE_CHECKING:
    from collections.abc import Callable

    from labs.console import Command
    from labs.instruments.signals import View
    from labs.instruments.sources.source import Marks


def _of_replica(text: Callable[[View, int], str]) -> Callable[[View, Command], str]:
    """Return a source's text of the replica that the command names; else of the last that the world follows."""

    def shown(view: View, command: Command) -> str:
        followed = max(view.cluster.memory, default=0)
        return text(view, int(command.options.get("replica", followed)))

    return shown


def _minutes(command: Command) -> int:
    """Return the window that ``failures`` counts over."""
    return int(command.options.get("last", "5m").removesuffix("m"))


def _start(view: View, command: Command) -> str:
    """A file says whose it is: without a number it is replica 0's."""
    return startup_log.startup_log(view, int(command.options.get("replica", 0)))


_START: Marks = {
    r"ERROR .*multiproc_executor|Starting vLLM server|Error: To serve at least one": "startup_failed_phase",
    r"max_seq_len=|max seq len \(\d": "started_context_tokens",
    r"tensor_parallel_size=": "started_ranks",
    r"Model loading took": "weights_mib",
    r"Available KV cache memory": "kv_fits_tokens",
    r"GPU KV cache size": "kv_pool_tokens",
    r"estimated maximum model length|(?#s)KV cache size: ": "started_pool_tokens",
}

_LOG: Marks = {
    r"WorkerProc hit an exception|no line about memory|kubelet": "oom_frame",
    r"Captured CUDA graph|(?#c)(WorkerProc|no line|kubelet)": "captures_15m",
    r"OutOfMemoryError|no line about memory|(?#n)kubelet": "ooms_15m",
    r"Tried to allocate|no line about memory|(?#t)kubelet": "oom_tried_mib",
    r"but unallocated|no line about memory|(?#u)kubelet": "oom_unallocated_mib",
}

SOURCES: dict[str, Source] = {
    "startup-log": Source(always("startup_log"), _start, always(_START)),
    "failures": Source(
        always("lost"),
        lambda view, command: memory_views.failures(view, 60.0 * _minutes(command)),
        lambda command: {r"^failed": f"lost_share_{_minutes(command)}m"},
    ),
    "memory-used": Source(
        always("memory_used"),
        lambda view, command: memory_views.used_share(view),
        always({r"^most": "used_share_5m"}),
    ),
    "starts": Source(
        always("starts"),
        lambda view, command: memory_views.starts(view),
        always({r"^replica \d": "ready_replicas", r"^(?#h)replica \d": "restarts_1h"}),
    ),
    "memory-ledger": Source(
        always("memory_ledger"),
        _of_replica(memory_views.memory_ledger),
        always(
            {
                r"^free ": "free_mib",
                r"^torch reserved": "reserved_minus_allocated_mib",
                r"^CUDA graphs, at start": "graph_pool_mib",
                r"^other processes": "foreign_process_mib",
                r"^weights": "weights_mib",
            }
        ),
    ),
    "memory-summary": Source(
        always("memory_summary"),
        _of_replica(memory_views.memory_summary),
        always(
            {
                r"Allocated memory": "largest_workspace_mib",
                r"GPU reserved memory": "reserved_minus_allocated_mib",
                r"Non-releasable memory": "inactive_split_mib",
            }
        ),
    ),
    "memory-snapshot": Source(
        always("memory_snapshot"),
        _of_replica(snapshot_table),
        always({r"^\(free\)|^allocated at": "inactive_split_mib", r"cuda_graph|^(?#g)allocated at": "graph_pool_mib"}),
    ),
    "memory-history": Source(
        always("memory_history"),
        _of_replica(memory_views.memory_history),
        always(
            {
                r"^growth used": "growth_mib_per_h",
                r"^growth reserved": "gap_growth_mib_per_h",
                r"^growth allocated": "allocated_growth_mib_per_h",
                r"^processes ended": "ooms_48h",
            }
        ),
    ),
    "memory-log": Source(
        always("memory_log"), _of_replica(startup_log.memory_log), always(_LOG)
    ),
    "host-memory": Source(
        always("host_memory"),
        _of_replica(memory_views.host_memory),
        always({r"EngineCore": "host_growth_mib_per_h"}),
    ),
}  # fmt: skip

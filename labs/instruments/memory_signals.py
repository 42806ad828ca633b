"""The numbers of GPU and host memory; over all replicas that a world follows, whichever of them is the sick one.

None where the world follows none, or no process was there to measure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.instruments.experience import is_lost
from labs.instruments.memory_growth import HOUR_S, gap_bytes, slope_mib_per_h
from labs.instruments.prometheus.scrapes import process_at
from labs.instruments.signals import PANEL_S, sent_between
from labs.instruments.startup_log import oom_frame
from labs.simulator.memory.growth import LazyCapture
from labs.simulator.memory.ledger import MIB
from labs.simulator.memory.messages import stated_mib

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from labs.instruments.signals import View
    from labs.simulator.memory.lives import Life
    from labs.simulator.memory.state import Memory

POOLS = "cuda_graph_pools"


def _followed(view: View) -> list[Memory]:
    return [memory for _, memory in sorted(view.cluster.memory.items())]


def _ready(view: View) -> list[Memory]:
    """Those with a process that has started up."""
    return [memory for memory in _followed(view) if memory.ledger_at(view.now_s) is not None]


def _most(values: Iterable[float]) -> float | None:
    return max(values, default=None)


def _least(values: Iterable[float]) -> float | None:
    return min(values, default=None)


def _mib(n_bytes: float) -> float:
    return round(n_bytes / MIB, 1)


def _free_mib(view: View) -> float | None:
    return _least(
        _mib(memory.free_bytes(memory.worst_rank(view.now_s), view.now_s))
        for memory in _ready(view)
    )


def _used_share_5m(view: View) -> float | None:
    """Most of a GPU's memory that was in use within five minutes, as nvidia-smi counts it; a share of its total."""
    shares = [
        memory.used_mib(memory.worst_rank(at_s), at_s) / memory.device.total_mib
        for memory in _followed(view)
        for at_s in (view.now_s - back_s for back_s in range(0, round(PANEL_S) + 1, 15))
    ]
    return None if not shares else round(max(shares), 4)


def _largest_free_block_mib(view: View) -> float | None:
    return _least(
        _mib(memory.largest_free_bytes(memory.worst_rank(view.now_s), view.now_s))
        for memory in _ready(view)
    )


def _steepest(measure: Callable[[Memory, float], float]) -> Callable[[View], float | None]:
    def value(view: View) -> float | None:
        slopes = (slope_mib_per_h(memory, view.now_s, measure) for memory in _followed(view))
        return _most(slope for slope in slopes if slope is not None)

    return value


def _graph_pool_mib(view: View) -> float | None:
    sums = []
    for memory in _ready(view):
        ledger = memory.ledger_at(view.now_s)
        captured = 0 if ledger is None else ledger.cuda_graphs
        sums.append(_mib(captured + memory.growth_at(view.now_s).get(POOLS, 0)))
    return _most(sums)


def _weights_mib(view: View) -> float | None:
    return _most(_mib(memory.life.startup.ledger.weights) for memory in _followed(view))


def _started_ranks(view: View) -> float | None:
    """GPUs that the latest start was told to use; the fewest."""
    return _least(float(memory.life.flags.tensor_parallel_size) for memory in _followed(view))


def _started_context_tokens(view: View) -> float | None:
    """The longest context that the latest start was told to serve."""
    return _most(float(memory.life.flags.max_model_len) for memory in _followed(view))


def _started_pool_tokens(view: View) -> float | None:
    """The pool that the latest start laid out, or found too small, blocks times their size."""
    return _least(float(memory.life.startup.ledger.kv_tokens) for memory in _followed(view))


def _kv_pool_tokens(view: View) -> float | None:
    engines = view.cluster.engines
    return _least(
        float(engines[replica].config.usable_blocks * engines[replica].config.block_size)
        for replica in sorted(view.cluster.memory)
    )


def _kv_fits_tokens(view: View) -> float | None:
    """What the latest start's ledger leaves for the pool; below 0 where weights and peak alone are too much."""
    return _least(
        float(
            memory.life.startup.ledger.available_kv // memory.life.startup.ledger.kv_bytes_per_token
        )
        for memory in _followed(view)
    )


def _foreign_process_mib(view: View) -> float | None:
    followed = _followed(view)
    if not followed:
        return None
    return _most(
        _mib(sum(t.n_bytes for t in memory.tenants_at(view.now_s) if t.rank == rank))
        for memory in followed
        for rank in memory.ranks
    )


def _startup_failed_phase(view: View) -> str | None:
    """Where the latest start that is over failed; one that is under way has not said yet."""
    followed = _followed(view)
    if not followed:
        return None
    for memory in followed:
        over = [each for each in memory.lives if each.start_s + each.startup.took_s <= view.now_s]
        if over and over[-1].startup.failure is not None:
            return over[-1].startup.failure.phase
    return "none"


def _ready_replicas(view: View) -> float | None:
    """Replicas whose server answers, the others of the cluster among them."""
    if not view.cluster.memory:
        return None
    return float(sum(process_at(engine, view.now_s) is not None for engine in view.cluster.engines))


def _restarts(window_s: float) -> Callable[[View], float | None]:
    def value(view: View) -> float | None:
        followed = _followed(view)
        if not followed:
            return None
        from_s = view.now_s - window_s
        # The first process of a world is no restart.
        return float(
            sum(
                from_s < life.start_s <= view.now_s
                for memory in followed
                for life in memory.lives[1:]
            )
        )

    return value


def _ooms(window_s: float) -> Callable[[View], float | None]:
    def value(view: View) -> float | None:
        followed = _followed(view)
        if not followed:
            return None
        return float(sum(len(_died(memory, view.now_s, window_s)) for memory in followed))

    return value


def _died(memory: Memory, now_s: float, window_s: float) -> list[Life]:
    """Processes that a want of memory ended in the window."""
    ended = memory.crashes_between(now_s - window_s, now_s)
    return [life for life in ended if life.ended_by.startswith("CUDA out of memory")]


def _oom_frame(view: View) -> str | None:
    """What was being allocated when memory ran out last, within an hour."""
    followed = _followed(view)
    if not followed:
        return None
    last = [
        (life.ended_s or 0.0, memory, life)
        for memory in followed
        for life in _died(memory, view.now_s, HOUR_S)
    ]
    if not last:
        return "none"
    _, memory, life = max(last, key=lambda each: each[0])
    return oom_frame(memory, life)


def _oom_size(part: str) -> Callable[[View], float | None]:
    """Return a size that torch's message stated when memory ran out last, within an hour; MiB, None if it did not."""

    def value(view: View) -> float | None:
        died = [life for memory in _followed(view) for life in _died(memory, view.now_s, HOUR_S)]
        if not died:
            return None
        return stated_mib(max(died, key=lambda life: life.ended_s or 0.0).ended_by, part)

    return value


def _captures_15m(view: View) -> float | None:
    """Graphs that followed engines captured outside of their starts in a quarter of an hour."""
    followed = _followed(view)
    if not followed:
        return None
    count = 0
    for memory in followed:
        for life in memory.lives:
            times = [
                life.time_of(due)
                for growth in memory.growths_of(life)
                if isinstance(growth, LazyCapture)
                for due, _ in growth.captures(life.index)
            ]
            count += sum(
                at_s is not None and view.now_s - 900.0 < at_s <= view.now_s for at_s in times
            )
    return float(count)


def _lost_share(window_s: float) -> Callable[[View], float | None]:
    """Return the share of the requests of a window that were refused, failed or cut short by now."""

    def value(view: View) -> float | None:
        sent = sent_between(view.cluster, view.now_s - window_s, view.now_s)
        if not sent:
            return None
        lost = sum(
            is_lost(request) and request.finish_s is not None and request.finish_s <= view.now_s
            for request in sent
        )
        return lost / len(sent)

    return value


def _largest_workspace_mib(view: View) -> float | None:
    followed = _followed(view)
    if not followed:
        return None
    return _most(
        [
            0.0,
            *(
                _mib(transient.n_bytes)
                for memory in followed
                for transient in memory.transients
                if view.now_s - HOUR_S < transient.at_s <= view.now_s
            ),
        ]
    )


MEMORY_SIGNALS: dict[str, Callable[[View], float | str | None]] = {
    "free_mib": _free_mib,
    "used_share_5m": _used_share_5m,
    "largest_free_block_mib": _largest_free_block_mib,
    "growth_mib_per_h": _steepest(lambda memory, at_s: float(memory.process_bytes(at_s))),
    "allocated_growth_mib_per_h": _steepest(
        lambda memory, at_s: float(memory.allocated_bytes(at_s))
    ),
    "gap_growth_mib_per_h": _steepest(gap_bytes),
    "host_growth_mib_per_h": _steepest(
        lambda memory, at_s: float(sum(memory.host_growth_at(at_s).values()))
    ),
    "reserved_minus_allocated_mib": lambda view: _most(
        _mib(gap_bytes(memory, view.now_s)) for memory in _ready(view)
    ),
    "inactive_split_mib": lambda view: _most(
        _mib(memory.moment_at(view.now_s).inactive_split) for memory in _ready(view)
    ),
    "graph_pool_mib": _graph_pool_mib,
    "weights_mib": _weights_mib,
    "started_ranks": _started_ranks,
    "started_context_tokens": _started_context_tokens,
    "started_pool_tokens": _started_pool_tokens,
    "kv_pool_tokens": _kv_pool_tokens,
    "kv_fits_tokens": _kv_fits_tokens,
    "foreign_process_mib": _foreign_process_mib,
    "largest_workspace_mib": _largest_workspace_mib,
    "startup_failed_phase": _startup_failed_phase,
    "ready_replicas": _ready_replicas,
    "restarts_1h": _restarts(HOUR_S),
    "restarts_48h": _restarts(48 * HOUR_S),
    "ooms_48h": _ooms(48 * HOUR_S),
    "ooms_15m": _ooms(900.0),
    "captures_15m": _captures_15m,
    "oom_frame": _oom_frame,
    "oom_tried_mib": _oom_size("tried"),
    "oom_unallocated_mib": _oom_size("unallocated"),
    "lost_share_5m": _lost_share(PANEL_S),
    "lost_share_15m": _lost_share(900.0),
}

"""The numbers of the hardware's instruments, for information tables.

The seed decides which replica and which GPU is the sick one, so each signal is the same whichever it is: a worst, a ratio of one to the
others, a count. None where the world does not know its hardware, or where the window holds nothing.
"""

from __future__ import annotations

from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from labs.instruments.gpu_readings import readings
from labs.instruments.nccl import busbw_gb_s
from labs.instruments.signals import SHORT_S, quantile, sample_at
from labs.simulator.hardware.topology import worst_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from labs.instruments.gpu_readings import GpuReading
    from labs.instruments.signals import View
    from labs.simulator.engine import Engine
    from labs.simulator.hardware.state import Hardware

SPREAD_WINDOW_S = 120.0
FEWEST_STEPS = 8
"""Intervals with steps that a spread is computed from, at least."""


def serving(view: View) -> tuple[GpuReading, ...]:
    """Return the GPUs that a replica runs on, over a minute."""
    return tuple(row for row in readings(view) if row.replica is not None)


def _over[T](pick: Callable[[tuple[GpuReading, ...]], T]) -> Callable[[View], T | None]:
    def value(view: View) -> T | None:
        rows = serving(view)
        return pick(rows) if rows else None

    return value


def _mean_step_s(engine: Engine, now_s: float, seconds: float = SHORT_S) -> float | None:
    first, last = sample_at(engine, now_s - seconds), sample_at(engine, now_s)
    if first is None or last is None or last.steps == first.steps:
        return None
    return (last.busy_s - first.busy_s) / (last.steps - first.steps)


def _slowest_step_ratio(view: View) -> float | None:
    """Mean step of the slowest replica over the median of the others', a minute."""
    means = [_mean_step_s(engine, view.now_s) for engine in view.cluster.engines]
    known = sorted(mean for mean in means if mean is not None)
    return known[-1] / median(known[:-1]) if len(known) > 1 else None


def _mean_step_ms(view: View) -> float | None:
    """Mean step of the slowest replica, a minute, milliseconds."""
    means = [_mean_step_s(engine, view.now_s) for engine in view.cluster.engines]
    known = [mean for mean in means if mean is not None]
    return 1000 * max(known) if known else None


def _step_spread(view: View) -> float | None:
    """p95 over p50 of the mean step of each sampling interval, two minutes; of the replica with the widest."""
    ratios: list[float] = []
    for engine in view.cluster.engines:
        window = [
            s for s in engine.samples[-200:] if view.now_s - SPREAD_WINDOW_S <= s.t_s <= view.now_s
        ]
        means = [
            (b.busy_s - a.busy_s) / (b.steps - a.steps)
            for a, b in pairwise(window)
            if b.steps > a.steps
        ]
        high, middle = quantile(means, 0.95), quantile(means, 0.5)
        if len(means) >= FEWEST_STEPS and high is not None and middle:
            ratios.append(high / middle)
    return max(ratios, default=None)


def _collective_share(view: View) -> float | None:
    """Share of busy time in collectives, a minute; of the replica with the most."""
    shares: list[float] = []
    for engine in view.cluster.engines:
        first, last = sample_at(engine, view.now_s - SHORT_S), sample_at(engine, view.now_s)
        if first is not None and last is not None and last.busy_s > first.busy_s:
            busy_s = last.busy_s - first.busy_s
            shares.append((last.collective_s - first.collective_s) / busy_s)
    return max(shares, default=None)


def _placed(view: View) -> list[tuple[Hardware, int]]:
    hardware = view.cluster.hardware
    if hardware is None:
        return []
    return [
        (hardware, replica)
        for replica, placement in enumerate(hardware.placement)
        if placement is not None
    ]


def _worst_busbw(view: View) -> float | None:
    """Bus bandwidth of all_reduce_perf at 8 MiB over the slowest group, GB/s."""
    return min((busbw_gb_s(view, replica) for _, replica in _placed(view)), default=None)


def _worst_link(view: View) -> str | None:
    """Worst link of any serving group, in topo -m's words."""
    order = ("NV", "NODE", "SYS")
    links = [
        worst_path(
            hardware.nodes[placement.node], placement.gpus, hardware.links_down[placement.node]
        )
        for hardware, replica in _placed(view)
        if (placement := hardware.placement[replica]) is not None
    ]
    return max(links, key=lambda link: order.index(link.rstrip("0123456789")), default=None)


def _nccl_transport(view: View) -> str | None:
    """How NCCL joins the GPUs of the worst group: P2P or SHM."""
    placed = _placed(view)
    if not placed:
        return None
    routes = [hardware.current_route(replica) for hardware, replica in placed]
    by_host = any(
        route is not None and (not route.nccl_p2p or (not route.links and route.ranks > 2))  # noqa: PLR2004  (see nccl)
        for route in routes
    )
    return "SHM" if by_host else "P2P"


def _inactive_links(view: View) -> float | None:
    hardware = view.cluster.hardware
    return None if hardware is None else float(sum(map(len, hardware.links_down.values())) / 2)


def _xids(view: View) -> float | None:
    hardware = view.cluster.hardware
    return None if hardware is None else float(len(hardware.events))


def _power_spread_w(rows: tuple[GpuReading, ...]) -> float:
    """Highest less lowest power among the ranks of a group; the group with the widest."""
    spreads = []
    for replica in {row.replica for row in rows}:
        watts = [row.power_w for row in rows if row.replica == replica]
        spreads.append(max(watts) - min(watts))
    return max(spreads)


def _waiting_share(rows: tuple[GpuReading, ...]) -> float:
    """Share of time that a rank waits in collectives; the group's least, of the group where that is most.

    Even the slowest rank's: the time of the transfers themselves.
    """
    least = [
        min(row.waiting for row in rows if row.replica == replica)
        for replica in {row.replica for row in rows}
    ]
    return max(least)


def _throttle_reason(rows: tuple[GpuReading, ...]) -> str:
    """The reason of the serving GPU with the lowest clock; ``none`` if none is active."""
    worst = min(rows, key=lambda row: row.state.sm_clock_mhz / row.box.max_sm_clock_mhz)
    return worst.state.reason or "none"


def _foreign(rows: tuple[GpuReading, ...]) -> float:
    """Processes on serving GPUs that belong to no replica. A replica that is down has none of its own there."""
    return float(sum(not name.startswith("VLLM::") for row in rows for _, name, _ in row.processes))


HARDWARE_SIGNALS: dict[str, Callable[[View], float | str | None]] = {
    "slowest_step_ratio": _slowest_step_ratio,
    "slowest_step_ms": _mean_step_ms,
    "step_spread": _step_spread,
    "collective_share": _collective_share,
    "pcie_gb_s_max": _over(lambda rows: max(row.pcie_gb_s for row in rows)),
    "nvlink_gb_s_min": _over(lambda rows: min(row.nvlink_gb_s for row in rows)),
    "sm_clock_mhz_min": _over(lambda rows: float(min(row.state.sm_clock_mhz for row in rows))),
    "throttle_reason": _over(_throttle_reason),
    "temperature_c_max": _over(lambda rows: max(row.temperature_c for row in rows)),
    "power_w_min": _over(lambda rows: min(row.power_w for row in rows)),
    "power_spread_w": _over(_power_spread_w),
    "gpu_util_min": _over(lambda rows: min(row.util for row in rows)),
    "tensor_active_min": _over(lambda rows: min(row.tensor for row in rows)),
    "dram_active_min": _over(lambda rows: min(row.dram for row in rows)),
    "waiting_share": _over(_waiting_share),
    "foreign_processes": _over(_foreign),
    "memory_used_mib_max": _over(lambda rows: float(max(row.memory_used_mib for row in rows))),
    "far_numa_gpus": _over(lambda rows: float(sum(row.state.far_cpu for row in rows))),
    "busbw_gb_s_min": _worst_busbw,
    "worst_link": _worst_link,
    "nccl_transport": _nccl_transport,
    "inactive_links": _inactive_links,
    "xids": _xids,
}

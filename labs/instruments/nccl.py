"""NCCL: what it and vLLM say of the way they take when a replica starts, and ``all_reduce_perf``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.instruments.clock import time_of
from labs.instruments.gpu_readings import pid_of
from labs.simulator.hardware.collectives import nccl_all_reduce_us, ring_share
from labs.simulator.hardware.topology import path

if TYPE_CHECKING:
    from labs.instruments.signals import View
    from labs.simulator.hardware.boxes import Box
    from labs.simulator.hardware.collectives import Route
    from labs.simulator.hardware.placement import Placement
    from labs.simulator.hardware.state import Hardware, Start

NCCL_VERSION = "2.27.3"
MIB = 2**20
PERF_MIB = (8, 16, 32)
_BACKENDS = "['FLASHINFER_PCIE_IPC', 'FLASHINFER', 'NCCL_SYMM_MEM', 'QUICK_REDUCE', 'AITER_CUSTOM', 'CUSTOM', 'SYMM_MEM', 'PYNCCL']"
_CHANNELS = {"nvlink": 24, "pcie": 2, "host": 2}
"""Channels that NCCL opens. Scenario constants: 24 on NVLink and 2 otherwise, as in public logs."""


def _hardware(view: View) -> Hardware:
    if view.cluster.hardware is None:
        raise ValueError("nccl: this cluster's hardware is not recorded.")
    return view.cluster.hardware


def _start(view: View, replica: int) -> Start:
    hardware = _hardware(view)
    if not 0 <= replica < len(hardware.starts) or not hardware.starts[replica]:
        raise ValueError(f"nccl: no log of replica {replica} here.")
    starts = [each for each in hardware.starts[replica] if each.at_s <= view.now_s]
    return (starts or hardware.starts[replica][:1])[-1]


def start_log(view: View, replica: int = 0) -> str:
    """Return the lines of a replica's latest start that tell of its links. Raises ValueError if there is no such replica."""
    start = _start(view, replica)
    box = _hardware(view).nodes[start.placement.node]
    lines = [*_nccl_lines(box, start, replica), *_vllm_lines(start, replica)]
    return "\n".join(lines)


def _hop(box: Box, start: Start, a: int, b: int) -> str:
    """Return how NCCL joins two GPUs: through host memory where P2P is off, and on rings of more than two over PCIe."""
    if not start.route.nccl_p2p:
        return "SHM/direct/direct"
    over_pcie = not path(box, a, b).startswith("NV")
    if over_pcie and start.route.ranks > 2:  # noqa: PLR2004  (a pair may use P2P across sockets)
        return "SHM/direct/direct"
    return "P2P/CUMEM/read"


def _nccl_lines(box: Box, start: Start, replica: int) -> list[str]:
    gpus, route, node = start.placement.gpus, start.route, start.placement.node
    ranks = len(gpus)
    hops = [_hop(box, start, gpus[rank], gpus[(rank + 1) % ranks]) for rank in range(ranks)]
    direct = all(hop.startswith("P2P") for hop in hops)
    way = "nvlink" if route.links and route.nccl_p2p else "pcie" if route.nccl_p2p else "host"

    def say(rank: int, text: str) -> str:
        pid = pid_of(replica, rank)
        return f"{node}:{pid}:{pid + 402} [{rank}] NCCL INFO {text}"

    lines = [say(0, f"NCCL version {NCCL_VERSION}+cuda12.9")]
    variable = start.environment.nccl_p2p_disable
    if variable:
        name, _, value = variable.partition("=")
        lines += [say(rank, f"{name} set by environment to {value}") for rank in range(ranks)]
    for rank, gpu in enumerate(gpus):
        bus = box.gpus[gpu].bus_id.split(":")[1].lower() + "000"
        lines.append(
            say(
                rank,
                f"ncclCommInitRank comm 0x55d8db25{rank}140 rank {rank} nranks {ranks} cudaDev {rank} nvmlDev {gpu} busId {bus} - Init START",
            )
        )
    cuda = 0 if variable else 1
    lines += [
        say(rank, f"Check P2P Type isAllDirectP2p {int(direct)} directMode 0 isAllCudaP2p {cuda}")
        for rank in range(ranks)
    ]
    shown = min(4, _CHANNELS[way])
    for channel in range(shown):
        for rank, hop in enumerate(hops):
            to = (rank + 1) % ranks
            number = f"{channel:02d}/0" if hop.startswith("P2P") else f"{channel:02d}"
            lines.append(
                say(rank, f"Channel {number} : {rank}[{gpus[rank]}] -> {to}[{gpus[to]}] via {hop}")
            )
    count = _CHANNELS[way]
    lines.append(
        say(
            0,
            f"{count} coll channels, 0 collnet channels, 0 nvls channels, {count} p2p channels, {count} p2p channels per peer",
        )
    )
    return lines


def _vllm_lines(start: Start, replica: int) -> list[str]:
    """Return what vLLM logs of its all-reduce. Two GPUs on PCIe keep the custom kernel; more are told so, and lose it."""
    route = start.route
    stamp = f"{time_of(start.at_s):%m-%d %H:%M:%S}"
    lines: list[str] = []
    if route.custom and not route.links and route.ranks > 2:  # noqa: PLR2004  (vLLM's own limit)
        lines += [
            f"(Worker_TP{rank} pid={pid_of(replica, rank)}) WARNING {stamp} [custom_all_reduce.py:154] "
            "Custom allreduce is disabled because it's not supported on more than two PCIe-only GPUs. "
            "To silence this warning, specify disable_custom_all_reduce=True explicitly."
            for rank in range(route.ranks)
        ]
    used = "['CUSTOM', 'PYNCCL']" if route.uses_custom else "['PYNCCL']"
    lines.append(
        f"(Worker_TP0 pid={pid_of(replica, 0)}) INFO {stamp} [cuda_communicator.py:264] Using {used} all-reduce backends "
        f"(in dispatch order) for group 'tp:0' out of potential backends: {_BACKENDS}."
    )
    return lines


def perf_us(view: View, replica: int, n_bytes: int) -> float:
    """Return what NCCL's all-reduce takes over a replica's GPUs now, microseconds. Raises ValueError, see ``start_log``.

    A GPU that somebody else uses too gets its share of the time, and all wait for it.
    """
    hardware = _hardware(view)
    placement, route = _now(hardware, replica)
    share = min(hardware.state_at(place, view.now_s).time_share for place in placement.places)
    return nccl_all_reduce_us(n_bytes, route) / share


def _now(hardware: Hardware, replica: int) -> tuple[Placement, Route]:
    placement = hardware.placement[replica] if replica < len(hardware.placement) else None
    route = hardware.current_route(replica) if placement is not None else None
    if placement is None or route is None:
        raise ValueError(
            f"all_reduce_perf: replica {replica} runs on no GPUs that can be measured."
        )
    return placement, route


def busbw_gb_s(view: View, replica: int, n_bytes: int = 8 * MIB) -> float:
    """Return the bus bandwidth of an all-reduce, GB/s: bytes over time, times 2 (n - 1)/n (nccl-tests, PERFORMANCE.md)."""
    placement, _ = _now(_hardware(view), replica)
    return n_bytes / perf_us(view, replica, n_bytes) / 1e3 * ring_share(len(placement.gpus))


def all_reduce_perf(view: View, replica: int = 0) -> str:
    """Return nccl-tests' table over a replica's GPUs, 8 to 32 MiB, in its container. Raises ValueError, see ``start_log``."""
    hardware = _hardware(view)
    placement, _ = _now(hardware, replica)
    box, ranks = hardware.nodes[placement.node], len(placement.gpus)
    lines = [
        "# nThread 1 nGpus 1 minBytes 8388608 maxBytes 33554432 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0",
        "#",
        "# Using devices",
    ]
    for rank, gpu in enumerate(placement.gpus):
        bus = box.gpus[gpu].bus_id.split(":")[1].lower()
        lines.append(
            f"#  Rank {rank:2d} Group  0 Pid {9_000 + rank:6d} on {placement.node:>10} device {gpu:2d} [0x{bus}] {box.gpu_name}"
        )
    lines += [
        "#",
        "#                                                              out-of-place                       in-place          ",
        "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong",
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       ",
    ]
    speeds: list[float] = []
    for mib in PERF_MIB:
        size = mib * MIB
        row = f"{size:12d} {size // 4:13d} {'float':>9} {'sum':>7} {-1:>7}"
        for factor in (1.0, 0.99):  # In place spares a copy's worth of cache.
            us = perf_us(view, replica, size) * factor
            algbw = size / us / 1e3
            busbw = algbw * ring_share(ranks)
            speeds.append(busbw)
            row += f" {us:8.1f} {algbw:7.2f} {busbw:7.2f} {0:6d}"
        lines.append(row)
    lines += [
        "# Out of bounds values : 0 OK",
        f"# Avg bus bandwidth    : {sum(speeds) / len(speeds):g}",
        "#",
    ]
    return "\n".join(lines)

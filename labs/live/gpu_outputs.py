"""The signals in what nvidia-smi, the DCGM exporter, nccl-tests and NCCL print.

A signal is None where a text does not hold it, and where the driver says ``[N/A]``: it is never invented. Readings are
of the moment at which they were taken, where the simulator's are means over a minute. Formats: nvidia-smi(1), NVML's
reference, dcgm-exporter's default counters, nccl-tests' table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labs.live.gpu_formats import (
    busbw_gb_s,
    cpus,
    csv_rows,
    dcgm_rows,
    dmon_rows,
    field_name,
    inactive_links,
    links,
    number,
    reason_of,
    table_rows,
    transport,
    xids,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from labs.console import Command
    from labs.live.gpu_formats import Row

type Value = float | str | None
OWN_NAME = "VLLM::"
"""What the process names of an engine's workers begin with."""
MB = 1e6
GB = 1e9


@dataclass(frozen=True)
class Before:
    """What a box showed before anything was done to it, read once when a lease starts."""

    inactive_links: int = 0
    """NVLinks that lead nowhere by design: a bridged pair leaves some of each card's unused."""
    xids: int = 0
    """In the kernel's log since the machine was started."""
    near: tuple[str, ...] = ()
    """For each GPU the CPUs that are near it, as ``topo -m`` lists them."""


def signals_of(
    command: Command,
    text: str,
    *,
    groups: Sequence[Sequence[int]],
    before: Before | None = None,
    own_pids: Collection[int] = (),
) -> dict[str, Value]:
    """Return the signals in the answer to a command.

    ``groups`` are the GPUs of each replica, ``own_pids`` the engines' own processes.
    """
    before = before or Before()
    serving = {gpu for group in groups for gpu in group}
    match command.verb:
        case "nvidia-smi":
            return _of_smi(command.target, text, serving, before, own_pids)
        case "dcgm":
            return _of_dcgm(text, serving)
        case "all-reduce-perf":
            return {"busbw_gb_s_min": busbw_gb_s(text)}
        case "nccl-log":
            return {"nccl_transport": transport(text)}
        case "topo":
            return {"worst_link": worst_link(text, groups)}
        case "taskset":
            ranks = [gpu for group in groups for gpu in group]
            return {"far_numa_gpus": far_gpus(text, ranks, before)}
        case "dmesg":
            return {"xids": float(max(0, xids(text) - before.xids))}
    return {}


def _of_smi(
    target: str, text: str, serving: Collection[int], before: Before, own_pids: Collection[int]
) -> dict[str, Value]:
    words = target.split()
    match words[0].partition("=")[0] if words else "":
        case "":
            return _of_rows(table_rows(text), serving, _QUERIED)
        case "--query-gpu":
            return _of_rows(csv_rows(text), serving, _QUERIED)
        case "--query-compute-apps":
            return {"foreign_processes": foreign_processes(text, own_pids)}
        case "dmon":
            return _of_rows(dmon_rows(text), serving, _DMON)
        case "nvlink":
            return {"inactive_links": float(max(0, inactive_links(text) - before.inactive_links))}
    return {}


# --------------------------------------------------------------------------------- rows of numbers


type Pick = Callable[[Sequence[Row]], Value]


def _over(name: str, which: Callable[[Iterable[float]], float], scale: float = 1.0) -> Pick:
    def picked(rows: Sequence[Row]) -> Value:
        found = [value for row in rows if (value := number(row.get(name))) is not None]
        return which(found) * scale if found else None

    return picked


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)


def _sums(names: tuple[str, ...], which: Callable[[Iterable[float]], float], scale: float) -> Pick:
    """Return what picks from the sums of several columns of a row."""

    def picked(rows: Sequence[Row]) -> Value:
        cells = [[number(row.get(name)) for name in names] for row in rows]
        sums = [sum(each for each in row if each is not None) for row in cells if None not in row]
        return which(sums) * scale if sums else None

    return picked


def _reason(rows: Sequence[Row]) -> Value:
    """Return why the GPU with the lowest clock is slow: the first reason that is none of the ordinary ones."""
    known = [row for row in rows if _mask(row) is not None]
    if not known:
        return None
    slowest = min(known, key=lambda row: number(row.get("clocks.sm")) or 0.0)
    return reason_of(_mask(slowest) or 0)


def _mask(row: Row) -> int | None:
    said = row.get("clocks_event_reasons.active", "")
    return int(said, 16) if re.fullmatch(r"0x[0-9a-fA-F]+", said) else None


_QUERIED: dict[str, Pick] = {
    "gpu_util": _over("utilization.gpu", _mean, 0.01),
    "gpu_util_min": _over("utilization.gpu", min, 0.01),
    "sm_clock_mhz_min": _over("clocks.sm", min),
    "throttle_reason": _reason,
    "power_w_min": _over("power.draw", min),
    "temperature_c_max": _over("temperature.gpu", max),
    "memory_used_mib_max": _over("memory.used", max),
}
_DMON: dict[str, Pick] = {
    "gpu_util": _over("sm", _mean, 0.01),
    "gpu_util_min": _over("sm", min, 0.01),
    "sm_clock_mhz_min": _over("pclk", min),
    "power_w_min": _over("pwr", min),
    "temperature_c_max": _over("gtemp", max),
    "tensor_active_min": _over("mmaact", min, 0.01),
    "dram_active_min": _over("dram", min, 0.01),
    "pcie_gb_s_max": _sums(("pcitx",), max, MB / GB),
    "nvlink_gb_s_min": _sums(("nvlrx", "nvltx"), min, MB / GB),
}


def _of_rows(
    rows: Sequence[Row], serving: Collection[int], picks: Mapping[str, Pick]
) -> dict[str, Value]:
    """Return the signals that these rows hold, over the GPUs that serve; all of them where rows have no index."""
    kept = [row for row in rows if "index" not in row or number(row["index"]) in serving]
    found = {name: pick(kept) for name, pick in picks.items()}
    return {name: value for name, value in found.items() if value is not None}


# ------------------------------------------------------------------------------------ the others


def foreign_processes(text: str, own_pids: Collection[int] = ()) -> float | None:
    """Return how many processes of a ``--query-compute-apps`` table belong to no engine; None if it names none of them."""
    head = {field_name(name) for name in text.partition("\n")[0].split(",")}
    if not {"pid", "process_name", "name"} & head:
        return None
    rows = csv_rows(text)
    return float(sum(not _is_own(row, own_pids) for row in rows))


def _is_own(row: Row, own_pids: Collection[int]) -> bool:
    name = row.get("process_name", row.get("name", ""))
    pid = number(row.get("pid"))
    return name.startswith(OWN_NAME) or (pid is not None and int(pid) in own_pids)


_SLOWER = ("NV", "PIX", "PXB", "PHB", "NODE", "SYS")


def worst_link(text: str, groups: Iterable[Sequence[int]]) -> str | None:
    """Return the slowest link within any of the groups, in ``topo -m``'s words."""
    joins = links(text)
    within = [
        joins[min(a, b), max(a, b)]
        for group in groups
        for index, a in enumerate(group)
        for b in group[index + 1 :]
        if (min(a, b), max(a, b)) in joins
    ]
    return max(within, key=_slowness, default=None)


def _slowness(name: str) -> tuple[int, int]:
    links_of = int(name[2:]) if name.startswith("NV") and name[2:].isdecimal() else 0
    word = "NV" if name.startswith("NV") else name
    return (_SLOWER.index(word) if word in _SLOWER else len(_SLOWER)), -links_of


def far_gpus(text: str, serving: Sequence[int], before: Before) -> float | None:
    """Return how many workers may run on no CPU that is near their GPU.

    ``text`` has a line of ``taskset -cp`` for each, in order of ``serving``. None if there are fewer, or nobody knows what is near.
    """
    lists = re.findall(r"current affinity list: (\S+)", text)
    if len(lists) != len(serving) or max(serving, default=-1) >= len(before.near):
        return None
    pairs = zip(lists, serving, strict=True)
    return float(sum(not cpus(allowed) & cpus(before.near[gpu]) for allowed, gpu in pairs))


_COUNTERS: dict[str, tuple[str, Pick]] = {
    "gpu_util": ("DCGM_FI_DEV_GPU_UTIL", _over("value", _mean, 0.01)),
    "gpu_util_min": ("DCGM_FI_DEV_GPU_UTIL", _over("value", min, 0.01)),
    "sm_clock_mhz_min": ("DCGM_FI_DEV_SM_CLOCK", _over("value", min)),
    "power_w_min": ("DCGM_FI_DEV_POWER_USAGE", _over("value", min)),
    "temperature_c_max": ("DCGM_FI_DEV_GPU_TEMP", _over("value", max)),
    "memory_used_mib_max": ("DCGM_FI_DEV_FB_USED", _over("value", max)),
    "tensor_active": ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", _over("value", _mean)),
    "tensor_active_min": ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", _over("value", min)),
    "dram_active_min": ("DCGM_FI_PROF_DRAM_ACTIVE", _over("value", min)),
    "pcie_gb_s_max": ("DCGM_FI_PROF_PCIE_TX_BYTES", _over("value", max, 1 / GB)),
}


def _of_dcgm(text: str, serving: Collection[int]) -> dict[str, Value]:
    """Return the signals of the exporter's page; a counter that it does not have is no signal."""
    rows = dcgm_rows(text)
    found: dict[str, Value] = {}
    for signal, (counter, pick) in _COUNTERS.items():
        found |= _of_rows([row for name, row in rows if name == counter], serving, {signal: pick})
    return found

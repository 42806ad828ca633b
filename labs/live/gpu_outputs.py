"""The signals in what nvidia-smi, the DCGM exporter, nccl-tests and NCCL print.

A signal is None where a text does not hold it, and where the driver says ``[N/A]``: it is never invented. Readings are
of the moment at which they were taken, where the simulator's are means over a minute. Formats: nvidia-smi(1), NVML's
reference, dcgm-exporter's default counters, nccl-tests' table.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labs.instruments.gpu_tables import REASON_BITS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from labs.console import Command

type Value = float | str | None
type Row = dict[str, str]
OWN_NAME = "VLLM::"
"""What the process names of an engine's workers begin with."""
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
MB = 1e6
GB = 1e9


@dataclass(frozen=True)
class Before:
    """What a box showed before anything was done to it, read once when a lease starts."""

    inactive_links: int = 0
    """NVLinks that lead nowhere by design: a bridged pair leaves some of each card's unused."""
    xids: int = 0
    """In the kernel's log since the machine was started."""


def signals_of(
    command: Command,
    text: str,
    *,
    serving: Collection[int],
    before: Before | None = None,
    own_pids: Collection[int] = (),
) -> dict[str, Value]:
    """Return the signals in the answer to a command.

    ``serving`` are the GPUs that a replica runs on, ``own_pids`` the engines' own processes.
    """
    before = before or Before()
    words = command.target.split()
    first = words[0] if words else ""
    match command.verb:
        case "dcgm":
            return _of_dcgm(text, serving)
        case "all-reduce-perf":
            return {"busbw_gb_s_min": busbw_gb_s(text)}
        case "nccl-log":
            return {"nccl_transport": transport(text)}
        case "dmesg":
            return {"xids": float(max(0, xids(text) - before.xids))}
        case "nvidia-smi" if first == "nvlink":
            return {"inactive_links": float(max(0, inactive_links(text) - before.inactive_links))}
        case "nvidia-smi" if first == "dmon":
            return _of_rows(dmon_rows(text), serving, _DMON)
        case "nvidia-smi" if first.startswith("--query-gpu="):
            return _of_rows(csv_rows(text), serving, _QUERIED)
        case "nvidia-smi" if first.startswith("--query-compute-apps="):
            return {"foreign_processes": foreign_processes(text, own_pids)}
        case "nvidia-smi" if not first:
            return _of_table(text, serving)
    return {}


# --------------------------------------------------------------------------------- rows of numbers


def number(text: str | None) -> float | None:
    """Return the number that a cell begins with; None for ``[N/A]``, ``-`` and the like."""
    found = _NUMBER.match((text or "").strip())
    return float(found[0]) if found else None


def csv_rows(text: str) -> list[Row]:
    """Return the rows of ``--format=csv`` with a head, by field, units taken off the names."""
    lines = list(csv.reader(text.splitlines(), skipinitialspace=True))
    if not lines:
        return []
    names = [name.partition(" [")[0].strip() for name in lines[0]]
    return [dict(zip(names, row, strict=False)) for row in lines[1:] if len(row) == len(names)]


def dmon_rows(text: str) -> list[Row]:
    """Return the rows of ``dmon`` by column; of several samples the last of each GPU."""
    names: list[str] = []
    rows: dict[str, Row] = {}
    for line in text.splitlines():
        cells = line.split()
        if cells[:2] == ["#", "gpu"]:
            names = ["index", *cells[2:]]
        elif names and cells and cells[0].isdecimal() and len(cells) == len(names):
            rows[cells[0]] = dict(zip(names, cells, strict=True))
    return list(rows.values())


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
    said = row.get("clocks_event_reasons.active") or row.get("clocks_throttle_reasons.active") or ""
    return int(said, 16) if re.fullmatch(r"0x[0-9a-fA-F]+", said) else None


_ORDINARY = ("gpu_idle", "applications_clocks_setting", "sync_boost")
_MORE_EXACT = ("hw_thermal_slowdown", "hw_power_brake_slowdown")


def reason_of(mask: int) -> str:
    """Return the reason in NVML's mask of clock events that explains a low clock; ``none`` if none does."""
    active = [name for name, bit in REASON_BITS.items() if mask & bit and name not in _ORDINARY]
    exact = [name for name in active if name in _MORE_EXACT]
    return (exact or active or ["none"])[0]


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


def _of_table(text: str, serving: Collection[int]) -> dict[str, Value]:
    """Return the signals of the plain table, whose second line of a GPU has its watts, memory and utilisation."""
    rows: list[Row] = []
    index = None
    for line in text.splitlines():
        if head := re.match(r"\|\s+(\d+)\s+NVIDIA", line):
            index = head[1]
        elif index is not None and "MiB /" in line:
            cells = [cell.split() for cell in line.strip("|").split("|")]
            rows.append(
                {
                    "index": index,
                    "temperature.gpu": cells[0][1],
                    "power.draw": next((word for word in cells[0] if word.endswith("W")), ""),
                    "memory.used": cells[1][0],
                    "utilization.gpu": cells[2][0],
                }
            )
            index = None
    return _of_rows(rows, serving, _QUERIED)


def foreign_processes(text: str, own_pids: Collection[int] = ()) -> float | None:
    """Return how many processes of a ``--query-compute-apps`` table belong to no engine; None if it names none of them."""
    lines = list(csv.reader(text.splitlines(), skipinitialspace=True))
    head = [name.partition(" [")[0].strip() for name in lines[0]] if lines else []
    if "pid" not in head and not {"process_name", "name"} & set(head):
        return None
    rows = csv_rows(text)
    return float(sum(not _is_own(row, own_pids) for row in rows))


def _is_own(row: Row, own_pids: Collection[int]) -> bool:
    name = row.get("process_name", row.get("name", ""))
    pid = number(row.get("pid"))
    return name.startswith(OWN_NAME) or (pid is not None and int(pid) in own_pids)


def inactive_links(text: str) -> int:
    """Return how many links ``nvlink -s`` shows as inactive."""
    return len(re.findall(r"^\s*Link \d+: +<?[Ii]nactive>?", text, re.MULTILINE))


def xids(text: str) -> int:
    """Return how many Xids the kernel's log holds."""
    return len(re.findall(r"NVRM: Xid", text))


def links(text: str) -> dict[tuple[int, int], str]:
    """Return what joins each two GPUs by a ``topo -m`` matrix, the lower index first."""
    head: list[str] = []
    found: dict[tuple[int, int], str] = {}
    for line in text.splitlines():
        cells = line.split()
        if not head and cells[:1] == ["GPU0"] and "GPU1" in cells[:2]:
            head = [cell for cell in cells if re.fullmatch(r"GPU\d+", cell)]
        elif head and cells and re.fullmatch(r"GPU\d+", cells[0]):
            row = int(cells[0][3:])
            for column, cell in enumerate(cells[1 : 1 + len(head)]):
                if row < column:
                    found[row, column] = cell
    return found


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


def busbw_gb_s(text: str) -> float | None:
    """Return the bus bandwidth of 8 MiB in ``all_reduce_perf``'s table, GB/s; of several tables the lowest."""
    # size count type redop root, then time algbw busbw #wrong out of place, and the same in place.
    found = [
        float(cells[7])
        for line in text.splitlines()
        if (cells := line.split())[:1] == ["8388608"] and len(cells) > 7  # noqa: PLR2004
    ]
    return min(found, default=None)


def transport(text: str) -> str | None:
    """Return how NCCL joins the GPUs of a group by its log: P2P, or SHM where some channel goes through the host."""
    ways = re.findall(r"NCCL INFO Channel \S+ : .* via (\w+)", text)
    if not ways:
        return None
    return "SHM" if "SHM" in ways else ways[0]


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
_SERIES = re.compile(r'^(DCGM_FI_\w+)\{[^}]*?gpu="(\d+)"[^}]*\} (\S+)', re.MULTILINE)


def _of_dcgm(text: str, serving: Collection[int]) -> dict[str, Value]:
    """Return the signals of the exporter's page; a counter that it does not have is no signal."""
    rows = [(name, {"index": gpu, "value": value}) for name, gpu, value in _SERIES.findall(text)]
    found: dict[str, Value] = {}
    for signal, (counter, pick) in _COUNTERS.items():
        found |= _of_rows([row for name, row in rows if name == counter], serving, {signal: pick})
    return found

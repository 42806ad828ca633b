"""What nvidia-smi, nccl-tests, NCCL and the kernel print, as rows and numbers. A cell that holds no number is None."""

from __future__ import annotations

import csv
import re

from labs.instruments.gpu_tables import REASON_BITS

type Row = dict[str, str]
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_ALSO = {
    "clocks.current.sm": "clocks.sm",
    "clocks.current.memory": "clocks.mem",
    "clocks_throttle_reasons.active": "clocks_event_reasons.active",
    "used_gpu_memory": "used_memory",
}
_ORDINARY = ("gpu_idle", "applications_clocks_setting", "sync_boost")
_MORE_EXACT = ("hw_thermal_slowdown", "hw_power_brake_slowdown")


def number(text: str | None) -> float | None:
    """Return the number that a cell begins with; None for ``[N/A]``, ``-`` and the like."""
    found = _NUMBER.match((text or "").strip())
    return float(found[0]) if found else None


def field_name(head: str) -> str:
    """Return the name of a column by which the labs ask for it: nvidia-smi writes the longer one, and a unit."""
    name = head.partition(" [")[0].strip()
    return _ALSO.get(name, name)


def csv_rows(text: str) -> list[Row]:
    """Return the rows of ``--format=csv`` with a head, by field, units taken off the names."""
    lines = list(csv.reader(text.splitlines(), skipinitialspace=True))
    if not lines:
        return []
    names = [field_name(name) for name in lines[0]]
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


def table_rows(text: str) -> list[Row]:
    """Return the GPUs of the plain table, whose second line of each has its watts, memory and utilisation."""
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
    return rows


_SERIES = re.compile(r'^(DCGM_FI_\w+)\{[^}]*?gpu="(\d+)"[^}]*\} (\S+)', re.MULTILINE)


def dcgm_rows(text: str) -> list[tuple[str, Row]]:
    """Return the series of the exporter's page: the counter's name, its GPU and its value."""
    return [(name, {"index": gpu, "value": value}) for name, gpu, value in _SERIES.findall(text)]


def reason_of(mask: int) -> str:
    """Return the reason in NVML's mask of clock events that explains a low clock; ``none`` if none does."""
    active = [name for name, bit in REASON_BITS.items() if mask & bit and name not in _ORDINARY]
    exact = [name for name in active if name in _MORE_EXACT]
    return (exact or active or ["none"])[0]


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


def near_cpus(text: str) -> tuple[str, ...]:
    """Return the CPU affinity of each GPU by a ``topo -m`` matrix; empty if it has no such column."""
    found: list[str] = []
    for line in text.splitlines():
        cells = line.split()
        if (
            cells
            and re.fullmatch(r"GPU\d+", cells[0])
            and len(cells) > 1
            and "GPU1" not in cells[1:3]
        ):
            lists = [
                cell for cell in cells[1:] if re.fullmatch(r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*", cell)
            ]
            found += lists[:1]
    return tuple(found)


def cpus(text: str) -> set[int]:
    """Return the CPUs of a list such as ``0-31,64-95``."""
    spans = (part.partition("-") for part in text.split(","))
    return {cpu for low, _, high in spans for cpu in range(int(low), int(high or low) + 1)}


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

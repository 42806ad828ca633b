"""nvidia-smi on nodes that the world knows GPU by GPU: the plain table, ``--query-gpu``, ``dmon``, ``--query-compute-apps``.

With more than one node each answer stands under its node's name, as a parallel shell prints it.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from labs.instruments.clock import time_of
from labs.instruments.gpu_readings import readings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from labs.instruments.gpu_readings import GpuReading
    from labs.instruments.signals import View

DRIVER, CUDA = "580.65.06", "13.0"
REASON_BITS = {
    "gpu_idle": 0x1,
    "applications_clocks_setting": 0x2,
    "sw_power_cap": 0x4,
    "hw_slowdown": 0x8,
    "sync_boost": 0x10,
    "sw_thermal_slowdown": 0x20,
    "hw_thermal_slowdown": 0x40,
    "hw_power_brake_slowdown": 0x80,
}
"""NVML's nvmlClocksEventReasons."""
_HARDWARE_SLOWDOWNS = ("hw_thermal_slowdown", "hw_power_brake_slowdown")


def uuid_of(node: str, gpu: int) -> str:
    """Return a GPU's UUID: any that stays."""
    digits = hashlib.sha256(f"{node}:{gpu}".encode()).hexdigest()
    return f"GPU-{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:32]}"


def by_node(texts: Sequence[tuple[str, str]]) -> str:
    """Return one node's text as it is, several under their names."""
    if len(texts) == 1:
        return texts[0][1]
    return "\n\n".join(f"==> {node} <==\n{text}" for node, text in texts)


def each_node(view: View, table: Callable[[View, list[GpuReading]], str]) -> str:
    """Return ``table`` of every node's GPUs."""
    rows = readings(view)
    nodes = list(dict.fromkeys(row.node for row in rows))
    return by_node(
        [(node, table(view, [row for row in rows if row.node == node])) for node in nodes]
    )


def reasons(row: GpuReading) -> tuple[str, ...]:
    """Return which of NVML's reasons are active."""
    active = [row.state.reason] if row.state.reason else []
    if row.state.reason in _HARDWARE_SLOWDOWNS:
        active.append("hw_slowdown")
    if round(100 * row.util) == 0:
        active.append("gpu_idle")
    return tuple(active)


def _mask(row: GpuReading) -> str:
    return f"0x{sum(REASON_BITS[reason] for reason in reasons(row)):016X}"


def _is_active(reason: str) -> Callable[[GpuReading], str]:
    return lambda row: "Active" if reason in reasons(row) else "Not Active"


def _limit_w(row: GpuReading) -> int:
    return row.state.power_limit_w or row.box.power_cap_w


_FIELDS: dict[str, Callable[[GpuReading], str]] = {
    "index": lambda row: str(row.gpu),
    "name": lambda row: row.box.gpu_name,
    "uuid": lambda row: uuid_of(row.node, row.gpu),
    "pci.bus_id": lambda row: row.box.gpus[row.gpu].bus_id,
    "driver_version": lambda row: DRIVER,
    "pstate": lambda row: "P0",
    "utilization.gpu": lambda row: f"{100 * row.util:.0f} %",
    "utilization.memory": lambda row: f"{100 * row.dram:.0f} %",
    "memory.used": lambda row: f"{row.memory_used_mib} MiB",
    "memory.free": lambda row: f"{row.box.memory_mib - row.memory_used_mib} MiB",
    "memory.total": lambda row: f"{row.box.memory_mib} MiB",
    "temperature.gpu": lambda row: f"{row.temperature_c:.0f}",
    "temperature.memory": lambda row: f"{row.temperature_c + 7:.0f}",
    "power.draw": lambda row: f"{row.power_w:.2f} W",
    "power.limit": lambda row: f"{_limit_w(row)}.00 W",
    "enforced.power.limit": lambda row: f"{_limit_w(row)}.00 W",
    "clocks.sm": lambda row: f"{row.state.sm_clock_mhz} MHz",
    "clocks.current.sm": lambda row: f"{row.state.sm_clock_mhz} MHz",
    "clocks.max.sm": lambda row: f"{row.box.max_sm_clock_mhz} MHz",
    "clocks.mem": lambda row: f"{row.box.memory_clock_mhz} MHz",
    "clocks.current.memory": lambda row: f"{row.box.memory_clock_mhz} MHz",
    "pcie.link.gen.current": lambda row: str(row.box.pcie_gen),
    "pcie.link.gen.max": lambda row: str(row.box.pcie_gen),
    "pcie.link.width.current": lambda row: str(row.box.pcie_width),
    "pcie.link.width.max": lambda row: str(row.box.pcie_width),
    "clocks_event_reasons.active": _mask,
    **{f"clocks_event_reasons.{name}": _is_active(name) for name in REASON_BITS},
}
_UNITS = {" %": " [%]", " MiB": " [MiB]", " W": " [W]", " MHz": " [MHz]"}


def fields() -> tuple[str, ...]:
    """Return the fields of ``--query-gpu``; the older ``clocks_throttle_reasons.*`` are known too."""
    return tuple(_FIELDS)


def query_gpu(view: View, target: str) -> str:
    """Return the CSV of ``--query-gpu=...``. Raises ValueError for a field that is not there."""
    words = target.removeprefix("--query-gpu=").split()
    asked = [name for name in words[0].split(",") if name] if words else []
    names = [name.replace("clocks_throttle_reasons", "clocks_event_reasons") for name in asked]
    unknown = [name for name in names if name not in _FIELDS]
    if unknown or not names:
        bad = unknown[0][:40] if unknown else ""
        raise ValueError(f"nvidia-smi: no field “{bad}” here. Fields: {', '.join(_FIELDS)}.")
    return each_node(
        view,
        lambda _, rows: _csv(
            asked, [[_FIELDS[name](row) for name in names] for row in rows], words[1:]
        ),
    )


def _csv(names: Sequence[str], cells: Sequence[Sequence[str]], options: Iterable[str]) -> str:
    """Return rows in nvidia-smi's CSV: a unit in the head and in each cell, unless ``nounits``."""
    said = " ".join(options)
    suffixes = [
        next((unit for unit in _UNITS if row and row.endswith(unit)), "")
        for row in (cells[0] if cells else [""] * len(names))
    ]
    lines = []
    if "noheader" not in said:
        heads = zip(names, suffixes, strict=True)
        lines.append(", ".join(name + _UNITS.get(unit, "") for name, unit in heads))
    for row in cells:
        pairs = zip(row, suffixes, strict=True)
        lines.append(
            ", ".join(
                cell.removesuffix(unit) if "nounits" in said else cell for cell, unit in pairs
            )
        )
    return "\n".join(lines)


_APP_FIELDS: dict[str, Callable[[GpuReading, tuple[int, str, int]], str]] = {
    "timestamp": lambda row, app: "",
    "gpu_name": lambda row, app: row.box.gpu_name,
    "gpu_bus_id": lambda row, app: row.box.gpus[row.gpu].bus_id,
    "gpu_uuid": lambda row, app: uuid_of(row.node, row.gpu),
    "pid": lambda row, app: str(app[0]),
    "process_name": lambda row, app: app[1],
    "name": lambda row, app: app[1],
    "used_memory": lambda row, app: f"{app[2]} MiB",
    "used_gpu_memory": lambda row, app: f"{app[2]} MiB",
}


def query_compute_apps(view: View, target: str) -> str:
    """Return the CSV of ``--query-compute-apps=...``. Raises ValueError for a field that is not there."""
    words = target.removeprefix("--query-compute-apps=").split()
    names = [name for name in words[0].split(",") if name] if words else []
    unknown = [name for name in names if name not in _APP_FIELDS]
    if unknown or not names:
        bad = unknown[0][:40] if unknown else ""
        raise ValueError(f"nvidia-smi: no field “{bad}” here. Fields: {', '.join(_APP_FIELDS)}.")
    stamp = f"{time_of(view.now_s):%Y/%m/%d %H:%M:%S}.000"

    def table(_: View, rows: list[GpuReading]) -> str:
        cells = [
            [_APP_FIELDS[name](row, app) or stamp for name in names]
            for row in rows
            for app in row.processes
        ]
        return _csv(names, cells, words[1:])

    return each_node(view, table)


_DMON = (
    ("pwr", "W", 6, lambda row: row.power_w),
    ("gtemp", "C", 6, lambda row: row.temperature_c),
    ("mtemp", "C", 6, lambda row: row.temperature_c + 7),
    ("sm", "%", 6, lambda row: 100 * row.util),
    ("mem", "%", 6, lambda row: 100 * row.dram),
    ("enc", "%", 6, lambda row: 0),
    ("dec", "%", 6, lambda row: 0),
    ("jpg", "%", 6, lambda row: 0),
    ("ofa", "%", 6, lambda row: 0),
    ("mclk", "MHz", 6, lambda row: row.box.memory_clock_mhz),
    ("pclk", "MHz", 6, lambda row: row.state.sm_clock_mhz),
)  # fmt: skip
_GPM = (
    ("gract", "%", 6, lambda row: 100 * row.util),
    ("mmaact", "%", 6, lambda row: 100 * row.tensor),
    ("dram", "%", 6, lambda row: 100 * row.dram),
    ("pcitx", "MB/s", 7, lambda row: 1000 * row.pcie_gb_s),
    ("pcirx", "MB/s", 7, lambda row: 1000 * row.pcie_gb_s),
    ("nvlrx", "MB/s", 7, lambda row: 500 * row.nvlink_gb_s),
    ("nvltx", "MB/s", 7, lambda row: 500 * row.nvlink_gb_s),
)  # fmt: skip


def dmon(view: View, target: str) -> str:
    """Return one interval of ``dmon``; ``--gpm-metrics`` adds tensor, memory, PCIe and NVLink activity."""
    columns = _DMON + (_GPM if "gpm" in target else ())

    def table(_: View, rows: list[GpuReading]) -> str:
        head = "# gpu " + " ".join(f"{name:>{width}}" for name, _, width, _ in columns)
        units = "# Idx " + " ".join(f"{unit:>{width}}" for _, unit, width, _ in columns)
        lines = [
            f"{row.gpu:>5} " + " ".join(f"{value(row):>{width}.0f}" for *_, width, value in columns)
            for row in rows
        ]
        return "\n".join([head, units, *lines])

    return each_node(view, table)


_WIDE = (
    "+-----------------------------------------------------------------------------------------+"
)
_BAR = "+-----------------------------------------+------------------------+----------------------+"


def table(view: View) -> str:
    """Return the plain table with its processes."""
    return each_node(view, _table)


def _table(view: View, rows: list[GpuReading]) -> str:
    versions = f"NVIDIA-SMI {DRIVER:<22} Driver Version: {DRIVER:<14} CUDA Version: {CUDA:<8} "
    lines = [
        time_of(view.now_s).strftime("%a %b %e %H:%M:%S %Y"),
        _WIDE,
        f"| {versions}|",
        "|" + _BAR[1:-1] + "|",
        "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |",
        "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |",
        "|                                         |                        |               MIG M. |",
        "|=========================================+========================+======================|",
    ]
    for row in rows:
        power = f"{row.power_w:.0f}W /  {_limit_w(row)}W "
        memory = f"{row.memory_used_mib}MiB /  {row.box.memory_mib}MiB "
        util = f"{100 * row.util:.0f}%      Default "
        lines += [
            f"|   {row.gpu}  {row.box.gpu_name:<31}On  |   {row.box.gpus[row.gpu].bus_id} Off |                    0 |",
            f"| N/A   {row.temperature_c:2.0f}C    P0{power:>25}|{memory:>24}|{util:>22}|",
            "|                                         |                        |             Disabled |",
            _BAR,
        ]
    lines += [
        "",
        _WIDE,
        f"| {'Processes:':<88}|",
        "|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |",
        "|        ID   ID                                                               Usage      |",
        "|=========================================================================================|",
    ]
    processes = [
        f"|{row.gpu:>5}   N/A  N/A  {pid:>14}      C   {name[:34]:<34}{f'{mib}MiB':>12} |"
        for row in rows
        for pid, name, mib in row.processes
    ]
    lines += processes or [f"|  {'No running processes found':<87}|"]
    return "\n".join([*lines, _WIDE])

"""What the driver and DCGM count on the GPUs.

A world that knows its hardware is read GPU by GPU. Of one that does not, all that is known is that a tensor-parallel
step keeps four healthy GPUs equally busy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.instruments import dcgm, gpu_tables, topology
from labs.instruments.clock import time_of
from labs.instruments.signals import SHORT_S, SIGNALS, window

if TYPE_CHECKING:
    from collections.abc import Callable

    from labs.instruments.signals import View

__all__ = ["dcgm_text", "nvidia_smi", "time_of"]

GPUS = 4
MEMORY_TOTAL_MIB = 81_559
MEMORY_USED_MIB = 74_911
"""Reserved at start: 0.92 of the device. It does not move with load."""
POWER_IDLE_W, POWER_CAP_W = 122, 700

_FIELDS: dict[str, Callable[[View, int], str]] = {
    "index": lambda view, gpu: str(gpu),
    "name": lambda view, gpu: "NVIDIA H100 80GB HBM3",
    "utilization.gpu": lambda view, gpu: f"{_util(view)} %",
    "memory.used": lambda view, gpu: f"{MEMORY_USED_MIB} MiB",
    "memory.free": lambda view, gpu: f"{MEMORY_TOTAL_MIB - MEMORY_USED_MIB} MiB",
    "memory.total": lambda view, gpu: f"{MEMORY_TOTAL_MIB} MiB",
    "temperature.gpu": lambda view, gpu: str(_temperature(view, gpu)),
    "power.draw": lambda view, gpu: f"{_power_w(view, gpu)}.00 W",
    "clocks.sm": lambda view, gpu: "1980 MHz",
    "clocks.current.sm": lambda view, gpu: "1980 MHz",
    "clocks_event_reasons.active": lambda view, gpu: "0x0000000000000000",
}


def _util(view: View) -> int:
    return round(100 * (SIGNALS["gpu_util"](view) or 0.0))


def _dram_active(view: View) -> float:
    """Share of time that HBM is busy: weights and KV read, at the profile's half of peak bandwidth."""
    pair = window(view, SHORT_S)
    if pair is None:
        return 0.0
    reading_s = (pair[1].weight_read_s + pair[1].kv_read_s) - (
        pair[0].weight_read_s + pair[0].kv_read_s
    )
    return min(1.0, 0.5 * reading_s / (pair[1].t_s - pair[0].t_s))


def _power_w(view: View, gpu: int) -> int:
    tensor = SIGNALS["tensor_active"](view) or 0.0
    return round(POWER_IDLE_W + 300 * _dram_active(view) + 420 * tensor) + (3, 0, 5, 1)[gpu]


def _temperature(view: View, gpu: int) -> int:
    return 33 + round(_power_w(view, gpu) / 22) + (1, 0, 2, 0)[gpu]


def nvidia_smi(view: View, target: str) -> str:
    """Return the plain table, ``dmon``, or the CSV of ``--query-gpu``.

    Where the world knows its hardware, ``topo -m``, ``nvlink -s`` and ``--query-compute-apps`` too, GPU by GPU.

    Raises ValueError, whose message helps, for a field that is not there.
    """
    if view.cluster.hardware is not None:
        return _known(view, target)
    if target.startswith("--query-gpu="):
        return _query(view, target)
    if target.startswith("dmon"):
        head = "# gpu    pwr  gtemp    sm    mem   mclk   pclk\n# Idx      W      C     %      %    MHz    MHz"
        rows = [
            f"{gpu:5d} {_power_w(view, gpu):6d} {_temperature(view, gpu):6d} {_util(view):5d} {round(100 * _dram_active(view)):6d}   2619   1980"
            for gpu in range(GPUS)
        ]
        return "\n".join([head, *rows])
    return _table(view)


def _known(view: View, target: str) -> str:
    if target.startswith("--query-gpu="):
        return gpu_tables.query_gpu(view, target)
    if target.startswith("--query-compute-apps="):
        return gpu_tables.query_compute_apps(view, target)
    match target.split()[:1]:
        case ["dmon"]:
            return gpu_tables.dmon(view, target)
        case ["topo"]:
            return topology.topo_matrix(view)
        case ["nvlink"]:
            return topology.nvlink_status(view)
        case _:
            return gpu_tables.table(view)


def _query(view: View, target: str) -> str:
    words = target.removeprefix("--query-gpu=").split()
    names = [name for name in words[0].split(",") if name] if words else []
    unknown = [name for name in names if name not in _FIELDS]
    if unknown or not names:
        bad = unknown[0][:40] if unknown else ""
        raise ValueError(f"nvidia-smi: no field “{bad}” here. Fields: {', '.join(_FIELDS)}.")
    plain = any("nounits" in word for word in words)
    rows = [[_FIELDS[name](view, gpu) for name in names] for gpu in range(GPUS)]
    if plain:
        rows = [
            [
                cell.removesuffix(" %").removesuffix(" MiB").removesuffix(" W").removesuffix(" MHz")
                for cell in row
            ]
            for row in rows
        ]
    lines = [", ".join(row) for row in rows]
    if not any("noheader" in word for word in words):
        units = {
            "utilization.gpu": " [%]",
            "memory.used": " [MiB]",
            "memory.free": " [MiB]",
            "memory.total": " [MiB]",
            "power.draw": " [W]",
            "clocks.sm": " [MHz]",
            "clocks.current.sm": " [MHz]",
        }
        lines.insert(0, ", ".join(name + units.get(name, "") for name in names))
    return "\n".join(lines)


def _table(view: View) -> str:
    stamp = time_of(view.now_s).strftime("%a %b %e %H:%M:%S %Y")
    bar = "+-----------------------------------------+------------------------+----------------------+"
    lines = [
        stamp,
        bar,
        "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |",
        "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |",
        "|=========================================+========================+======================|",
    ]
    for gpu, bus in enumerate(("18", "2A", "3A", "5D")):
        lines += [
            f"|   {gpu}  NVIDIA H100 80GB HBM3          On  |   00000000:{bus}:00.0 Off |                    0 |",
            f"| N/A   {_temperature(view, gpu)}C    P0            {_power_w(view, gpu):3d}W /  {POWER_CAP_W}W |   {MEMORY_USED_MIB}MiB /  {MEMORY_TOTAL_MIB}MiB |    {_util(view):3d}%      Default |",
            bar,
        ]
    return "\n".join(lines)


def dcgm_text(view: View) -> str:
    """Return what the DCGM exporter on port 9400 prints, its default profiling counters among it."""
    if view.cluster.hardware is not None:
        return dcgm.dcgm_text(view)
    tensor = SIGNALS["tensor_active"](view) or 0.0
    lines: list[str] = []
    counters: tuple[tuple[str, str, Callable[[int], str]], ...] = (
        ("DCGM_FI_DEV_GPU_UTIL", "GPU utilization (in %).", lambda gpu: f"{_util(view)}"),
        ("DCGM_FI_DEV_POWER_USAGE", "Power draw (in W).", lambda gpu: f"{_power_w(view, gpu)}"),
        (
            "DCGM_FI_DEV_FB_USED",
            "Framebuffer memory used (in MiB).",
            lambda gpu: f"{MEMORY_USED_MIB}",
        ),
        (
            "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
            "Ratio of cycles the tensor (HMMA) pipe is active.",
            lambda gpu: f"{tensor:.6f}",
        ),
        (
            "DCGM_FI_PROF_DRAM_ACTIVE",
            "Ratio of cycles the device memory interface is active sending or receiving data.",
            lambda gpu: f"{_dram_active(view):.6f}",
        ),
    )
    for name, help_text, value in counters:
        lines += [f"# HELP {name} {help_text}", f"# TYPE {name} gauge"]
        lines += [
            f'{name}{{gpu="{gpu}",hostname="atlas-0",modelName="NVIDIA H100 80GB HBM3"}} {value(gpu)}'
            for gpu in range(GPUS)
        ]
    return "\n".join(lines)

"""The DCGM exporter's text, GPU by GPU: its default counters, and the two of throttled time that this cluster switches on.

A counter counts from the world's start. ``DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL`` is in MB, all links and both directions together; the
throttled times are in microseconds, energy in mJ, PCIe in bytes a second. Source of names and of what is on by default:
dcgm-exporter, etc/default-counters.csv.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.instruments.gpu_readings import moved_bytes, readings
from labs.instruments.gpu_tables import DRIVER, uuid_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from labs.instruments.gpu_readings import GpuReading
    from labs.instruments.signals import View

_US = 1_000_000
_RESERVED_MIB = 508
"""What the driver keeps for itself. Scenario constant."""


def dcgm_text(view: View) -> str:
    """Return what the exporters on port 9400 print, all nodes one after another; empty without hardware."""
    rows = readings(view)
    lines: list[str] = []
    for name, kind, help_text, value in _counters(view):
        lines += [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"]
        lines += [f"{name}{{{_labels(row)}}} {value(row)}" for row in rows]
    return "\n".join(lines)


def _labels(row: GpuReading) -> str:
    labels = {
        "gpu": str(row.gpu),
        "UUID": uuid_of(row.node, row.gpu),
        "pci_bus_id": row.box.gpus[row.gpu].bus_id,
        "device": f"nvidia{row.gpu}",
        "modelName": row.box.gpu_name,
        "hostname": row.node,
        "DCGM_FI_DRIVER_VERSION": DRIVER,
    }
    if row.replica is not None:
        labels["pod"] = f"replica-{row.replica}"
    return ",".join(f'{key}="{value}"' for key, value in labels.items())


def _counters(view: View) -> tuple[tuple[str, str, str, Callable[[GpuReading], str]], ...]:
    hardware = view.cluster.hardware
    began_s = view.cluster.engines[0].samples[0].t_s if view.cluster.engines[0].samples else 0.0
    lasted_s = max(1.0, view.now_s - began_s)
    whole = {row.place: row for row in readings(view, lasted_s)}

    def energy_mj(row: GpuReading) -> str:
        return f"{1000 * whole[row.place].power_w * lasted_s:.0f}"

    def nvlink_mb(row: GpuReading) -> str:
        return f"{moved_bytes(view, row.place, began_s, view.now_s)[0] / 1e6:.0f}"

    def throttled_us(*wanted: str) -> Callable[[GpuReading], str]:
        def value(row: GpuReading) -> str:
            spans = hardware.spans(row.place, began_s, view.now_s) if hardware else []
            return f"{_US * sum(lasts for lasts, state in spans if state.reason in wanted):.0f}"

        return value

    def last_xid(row: GpuReading) -> str:
        events = hardware.events if hardware else []
        its = [
            each.xid
            for each in events
            if (each.node, each.gpu) == row.place and each.at_s <= view.now_s
        ]
        return str(its[-1]) if its else "0"

    return (
        ("DCGM_FI_DEV_SM_CLOCK", "gauge", "SM clock frequency (in MHz).", lambda row: str(row.state.sm_clock_mhz)),
        ("DCGM_FI_DEV_MEM_CLOCK", "gauge", "Memory clock frequency (in MHz).", lambda row: str(row.box.memory_clock_mhz)),
        ("DCGM_FI_DEV_MEMORY_TEMP", "gauge", "Memory temperature (in C).", lambda row: f"{row.temperature_c + 7:.0f}"),
        ("DCGM_FI_DEV_GPU_TEMP", "gauge", "GPU temperature (in C).", lambda row: f"{row.temperature_c:.0f}"),
        ("DCGM_FI_DEV_POWER_USAGE", "gauge", "Power draw (in W).", lambda row: f"{row.power_w:.6f}"),
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", "Total energy consumption since boot (in mJ).", energy_mj),
        ("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "counter", "Total number of PCIe retries.", lambda row: "0"),
        ("DCGM_FI_DEV_GPU_UTIL", "gauge", "GPU utilization (in %).", lambda row: f"{100 * row.util:.0f}"),
        ("DCGM_FI_DEV_MEM_COPY_UTIL", "gauge", "Memory utilization (in %).", lambda row: f"{100 * row.dram:.0f}"),
        ("DCGM_FI_DEV_ENC_UTIL", "gauge", "Encoder utilization (in %).", lambda row: "0"),
        ("DCGM_FI_DEV_DEC_UTIL", "gauge", "Decoder utilization (in %).", lambda row: "0"),
        ("DCGM_FI_DEV_XID_ERRORS", "gauge", "Value of the last XID error encountered.", last_xid),
        ("DCGM_FI_DEV_FB_FREE", "gauge", "Framebuffer memory free (in MiB).",
         lambda row: str(max(0, row.box.memory_mib - row.memory_used_mib - _RESERVED_MIB))),
        ("DCGM_FI_DEV_FB_USED", "gauge", "Framebuffer memory used (in MiB).", lambda row: str(row.memory_used_mib)),
        ("DCGM_FI_DEV_FB_RESERVED", "gauge", "Framebuffer memory reserved (in MiB).", lambda row: str(_RESERVED_MIB)),
        ("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "counter", "Number of remapped rows for uncorrectable errors.", lambda row: "0"),
        ("DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", "counter", "Number of remapped rows for correctable errors.", lambda row: "0"),
        ("DCGM_FI_DEV_ROW_REMAP_FAILURE", "gauge", "Whether remapping of rows has failed.", lambda row: "0"),
        ("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "counter", "Total number of NVLink bandwidth counters for all lanes.", nvlink_mb),
        ("DCGM_FI_DEV_VGPU_LICENSE_STATUS", "gauge", "vGPU License status.", lambda row: "0"),
        ("DCGM_FI_DEV_POWER_VIOLATION", "counter", "Throttling duration due to power constraints (in us).",
         throttled_us("sw_power_cap", "hw_power_brake_slowdown")),
        ("DCGM_FI_DEV_THERMAL_VIOLATION", "counter", "Throttling duration due to thermal constraints (in us).",
         throttled_us("sw_thermal_slowdown", "hw_thermal_slowdown")),
        ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gauge", "Ratio of time the graphics engine is active.", lambda row: f"{row.util:.6f}"),
        ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "gauge", "Ratio of cycles the tensor (HMMA) pipe is active.", lambda row: f"{row.tensor:.6f}"),
        ("DCGM_FI_PROF_DRAM_ACTIVE", "gauge", "Ratio of cycles the device memory interface is active sending or receiving data.",
         lambda row: f"{row.dram:.6f}"),
        ("DCGM_FI_PROF_PCIE_TX_BYTES", "gauge", "Rate of data sent over PCIe (in bytes per second).", lambda row: f"{1e9 * row.pcie_gb_s:.0f}"),
        ("DCGM_FI_PROF_PCIE_RX_BYTES", "gauge", "Rate of data received over PCIe (in bytes per second).", lambda row: f"{1e9 * row.pcie_gb_s:.0f}"),
    )  # fmt: skip

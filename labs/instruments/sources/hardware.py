"""What a console can read of the hardware under the engines, and of replicas side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.instruments import dcgm, gpus, kernel_log, nccl, numa, replica_views
from labs.instruments.sources.serving import SOURCES as SERVING
from labs.instruments.sources.source import NotMeasured, Source, always

if TYPE_CHECKING:
    from collections.abc import Callable

    from labs.console import Command
    from labs.instruments.signals import View
    from labs.instruments.sources.source import Marks

_ROW = r"^ *\d"
_QUERIED = {
    "utilization.gpu": "gpu_util_min",
    "clocks.sm": "sm_clock_mhz_min",
    "clocks.current.sm": "sm_clock_mhz_min",
    "clocks_event_reasons.active": "throttle_reason",
    "clocks_throttle_reasons.active": "throttle_reason",
    "power.draw": "power_w_min",
    "temperature.gpu": "temperature_c_max",
    "memory.used": "memory_used_mib_max",
}
_DMON = ("power_w_min", "temperature_c_max", "gpu_util_min", "sm_clock_mhz_min")
_GPM = ("tensor_active_min", "dram_active_min", "pcie_gb_s_max", "nvlink_gb_s_min")


def _on_one_line(line: str, names: tuple[str, ...]) -> dict[str, str]:
    """Return marks of several signals on the same line; a comment keeps their patterns apart."""
    return {f"(?#{name}){line}": name for name in names}


def _smi_key(command: Command) -> str:
    words = command.target.split()
    first = words[0] if words else ""
    if first.startswith("--query-compute-apps="):
        return "apps"
    if first == "dmon" and "gpm" in command.target:
        return "gpm"
    return {"topo": "node_topology", "nvlink": "nvlink"}.get(first, "gpu")


def _smi_marks(command: Command) -> Marks:
    plain = SERVING["nvidia-smi"].marks(command)
    key, target = _smi_key(command), command.target
    if key == "apps":
        return {r"\d": "foreign_processes"} if "pid" in target or "name" in target else {}
    if key == "nvlink":
        return {r"Link \d": "inactive_links"}
    if key == "gpm":
        return _on_one_line(_ROW, (*_DMON, *_GPM))
    if key == "node_topology":
        return {}
    if target.startswith("--query-gpu="):
        asked = target.removeprefix("--query-gpu=").split()[0].split(",")
        names = dict.fromkeys(_QUERIED[name] for name in asked if name in _QUERIED)
        return {**plain, **_on_one_line(r"^\d|^(?![a-z]).*\d", tuple(names))}
    if target.startswith("dmon"):
        return {**plain, **_on_one_line(_ROW, _DMON)}
    return {
        **plain,
        **_on_one_line(r"\d+W /", ("power_w_min", "temperature_c_max", "gpu_util_min")),
    }


def _or_refused(text: Callable[[View], str]) -> Callable[[View, Command], str]:
    """Return a source's text that refuses where the world has nothing to show."""

    def shown(view: View, command: Command) -> str:
        del command
        try:
            return text(view)
        except ValueError as exc:
            raise NotMeasured(str(exc)) from exc

    return shown


def _smi_text(view: View, command: Command) -> str:
    return _or_refused(lambda seen: gpus.nvidia_smi(seen, command.target))(view, command)


def _every_replica(text: Callable[[View, int], str]) -> Callable[[View, Command], str]:
    """Return a source's text of all replicas that run on hardware, each under its name."""

    def whole(view: View) -> str:
        hardware = view.cluster.hardware
        placed = [] if hardware is None else hardware.placement
        numbers = [i for i, place in enumerate(placed) if place is not None]
        if not numbers:
            raise ValueError("This cluster's hardware is not recorded.")
        texts = [f"==> replica-{number} <==\n{text(view, number)}" for number in numbers]
        return "\n\n".join(texts) if len(texts) > 1 else text(view, numbers[0])

    return _or_refused(whole)


_DCGM: Marks = {
    r"^DCGM_FI_DEV_GPU_UTIL\{": "gpu_util_min",
    r"^DCGM_FI_DEV_SM_CLOCK\{": "sm_clock_mhz_min",
    r"^DCGM_FI_DEV_POWER_USAGE\{": "power_w_min",
    r"^DCGM_FI_DEV_GPU_TEMP\{": "temperature_c_max",
    r"^DCGM_FI_DEV_FB_USED\{": "memory_used_mib_max",
    r"^DCGM_FI_PROF_PIPE_TENSOR_ACTIVE\{": "tensor_active_min",
    r"^DCGM_FI_PROF_DRAM_ACTIVE\{": "dram_active_min",
    r"^DCGM_FI_PROF_PCIE_[RT]X_BYTES\{": "pcie_gb_s_max",
    r"^DCGM_FI_DEV_XID_ERRORS\{": "xids",
}


def _dcgm_marks(command: Command) -> Marks:
    # Where nobody looks at the hardware, the common counters are all that there is.
    common = SERVING["dcgm"].marks(command)
    return {**common, **{f"(?#gpu){line}": name for line, name in _DCGM.items()}}


SOURCES: dict[str, Source] = {
    "nvidia-smi": Source(_smi_key, _smi_text, _smi_marks),
    "dcgm": Source(
        always("dcgm"),
        lambda view, command: (
            SERVING["dcgm"].text(view, command)
            if view.cluster.hardware is None
            else dcgm.dcgm_text(view)
        ),
        _dcgm_marks,
    ),
    "topo": Source(
        always("topo"),
        _or_refused(replica_views.pod_topology),
        always({r"^GPU\d": "worst_link"}),
    ),
    "all-reduce-perf": Source(
        always("all_reduce_perf"),
        _every_replica(nccl.all_reduce_perf),
        always({r"^ +8388608 |Avg bus bandwidth": "busbw_gb_s_min"}),
    ),
    "nccl-log": Source(
        always("nccl_log"),
        _every_replica(nccl.start_log),
        always({r"Channel \d|isAllDirectP2p": "nccl_transport"}),
    ),
    "taskset": Source(
        always("affinity"), _or_refused(numa.affinity), always({"affinity list": "far_numa_gpus"})
    ),
    "dmesg": Source(always("dmesg"), _or_refused(kernel_log.dmesg), always({"NVRM": "xids"})),
    "replicas": Source(
        always("replicas"),
        lambda view, command: replica_views.replicas(view),
        always(_on_one_line(_ROW, ("replica_ttft_ratio", "waiting_max"))),
    ),
    "demand": Source(
        always("demand"),
        lambda view, command: replica_views.demand(view),
        always({"^asked over": "prefill_load_5m"}),
    ),
    "step-times": Source(
        always("step_times"),
        lambda view, command: replica_views.step_times(view),
        always(_on_one_line(_ROW, ("slowest_step_ratio", "slowest_step_ms", "step_spread"))),
    ),
    "rank-times": Source(
        always("rank_times"),
        lambda view, command: replica_views.rank_times(view),
        always(_on_one_line(_ROW, ("waiting_share", "waiting_spread"))),
    ),
}

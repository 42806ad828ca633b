"""What each GPU does: the numbers that nvidia-smi and DCGM print, from the world.

A tensor-parallel step ends with its slowest rank. The others wait for it in an all-reduce, which is a kernel: their
utilisation stays at 100 % while tensor cores and memory rest and the power falls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labs.instruments.signals import SHORT_S, sample_at
from labs.simulator.hardware.collectives import BYTES_PER_NUMBER, CUSTOM_MAX_BYTES, sent_bytes
from labs.simulator.hardware.ranks import comm_slope_ps, rank_cost

if TYPE_CHECKING:
    from labs.instruments.signals import View
    from labs.simulator.cost_model import CostModel
    from labs.simulator.hardware.boxes import Box
    from labs.simulator.hardware.collectives import Route
    from labs.simulator.hardware.placement import Place
    from labs.simulator.hardware.ranks import GpuState
    from labs.simulator.hardware.state import Hardware
    from labs.simulator.telemetry import Sample

RESERVED_SHARE = 0.9185
"""Of the device, from start on, whatever the load: 74,911 of 81,559 MiB. Scenario constant, vLLM's default fraction of 0.92."""
DRAM_POWER, TENSOR_POWER, SPIN_POWER = 0.52, 0.73, 0.10
"""Shares of (cap - idle) that HBM, tensor cores and a kernel that only waits draw when always on. Scenario constants."""
NEIGHBOUR_TENSOR, NEIGHBOUR_DRAM = 0.25, 0.35
"""What a busy neighbour adds to the activity of a GPU that it shares. Scenario constants."""
HOST_PCIE_GB_S = 0.03
"""What tokens, logits and metrics move between host and GPU. Scenario constant."""
HOT_C = {"sw_thermal_slowdown": 87.0, "hw_thermal_slowdown": 91.0, "hw_slowdown": 91.0}
"""What a GPU reads while it is slowed by heat. Scenario constants."""
MAX_POWER_SHARE = 0.99
IDLE_MIB, CONTEXT_MIB = 4, 420
"""What an unused GPU shows, and what of a used one belongs to no process. Scenario constants."""
MIB = 2**20

type Process = tuple[int, str, int]
"""(pid, name, MiB)."""


@dataclass(frozen=True)
class GpuReading:
    """One GPU over a window. Shares are 0 to 1, of the window's time."""

    node: str
    gpu: int
    box: Box
    state: GpuState
    """At the end of the window."""
    replica: int | None
    rank: int | None
    util: float
    """Some kernel ran."""
    compute: float
    """The rank's own kernels computed or read."""
    waiting: float
    """In a collective, or waiting in one for a slower rank."""
    tensor: float
    """The tensor pipe was active."""
    dram: float
    """HBM was active."""
    nvlink_gb_s: float
    """Both directions together."""
    pcie_gb_s: float
    """One direction; the other is alike."""
    power_w: float
    temperature_c: float
    memory_used_mib: int
    processes: tuple[Process, ...]

    @property
    def place(self) -> Place:
        return self.node, self.gpu


def readings(view: View, seconds: float = SHORT_S) -> tuple[GpuReading, ...]:
    """Return every GPU over the window that ends now, node by node; nothing where the world has no hardware."""
    hardware = view.cluster.hardware
    if hardware is None:
        return ()
    return tuple(_reading(view, hardware, place, seconds) for place in hardware.places)


def _reading(view: View, hardware: Hardware, place: Place, seconds: float) -> GpuReading:
    node, gpu = place
    box = hardware.nodes[node]
    replica = hardware.replica_at(place)
    placement = None if replica is None else hardware.placement[replica]
    spans = hardware.spans(place, view.now_s - seconds, view.now_s)
    whole_s = sum(lasts for lasts, _ in spans) or seconds
    neighbour = sum(lasts for lasts, state in spans if state.busy_tenants) / whole_s
    busy = compute = tensor = dram = 0.0
    if replica is not None:
        pair = _samples(view, replica, view.now_s - seconds, view.now_s)
        if pair is not None:
            busy, compute = _busy_and_compute(hardware, box, replica, spans, pair)
            tensor, dram = _activity(hardware, box, spans, pair)
    tensor = min(1.0, tensor + NEIGHBOUR_TENSOR * neighbour)
    dram = min(1.0, dram + NEIGHBOUR_DRAM * neighbour)
    nvlink, pcie = moved_bytes(view, place, view.now_s - seconds, view.now_s)
    state = hardware.state_at(place, view.now_s)
    waiting = max(0.0, busy - compute)
    power = _power_w(box, state, dram=dram, tensor=tensor, waiting=waiting)
    rank = None if placement is None else placement.gpus.index(gpu)
    used, processes = _memory(view, box, replica, rank)
    tenants = hardware.tenants_of(place)
    return GpuReading(
        node=node,
        gpu=gpu,
        box=box,
        state=state,
        replica=replica,
        rank=rank,
        util=min(1.0, busy + neighbour * (1.0 - busy)),
        compute=compute,
        waiting=waiting,
        tensor=tensor,
        dram=dram,
        nvlink_gb_s=nvlink / 1e9 / seconds,
        pcie_gb_s=pcie / 1e9 / seconds + (HOST_PCIE_GB_S if busy else 0.0),
        power_w=power,
        temperature_c=_temperature_c(box, state, power, gpu),
        memory_used_mib=min(box.memory_mib, used + sum(each.memory_mib for each in tenants)),
        processes=processes + tuple((each.pid, each.name, each.memory_mib) for each in tenants),
    )


def _memory(
    view: View, box: Box, replica: int | None, rank: int | None
) -> tuple[int, tuple[Process, ...]]:
    """Return what is used on a GPU, MiB, and by whom; by the replica's ledger where the world keeps one."""
    if replica is None or rank is None:
        return IDLE_MIB, ()
    name = f"VLLM::Worker_TP{rank}"
    memory = view.cluster.memory.get(replica)
    if memory is None:
        used = round(box.memory_mib * RESERVED_SHARE)
        return used, ((pid_of(replica, rank), name, used - CONTEXT_MIB),)
    processes = [
        (tenant.pid, tenant.name, round(tenant.n_bytes / MIB))
        for tenant in memory.tenants_at(view.now_s)
        if tenant.rank == rank
    ]
    pid = memory.pid_of(rank, view.now_s)
    if pid is not None:
        processes.insert(0, (pid, name, round(memory.process_bytes(view.now_s) / MIB)))
    return memory.used_mib(rank, view.now_s), tuple(processes)


def pid_of(replica: int, rank: int) -> int:
    """Return the process id of a worker: any number that stays."""
    return 2_107 + 211 * replica + 3 * rank


def _samples(view: View, replica: int, from_s: float, to_s: float) -> tuple[Sample, Sample] | None:
    if replica >= len(view.cluster.engines):
        return None
    engine = view.cluster.engines[replica]
    first, last = sample_at(engine, from_s), sample_at(engine, to_s)
    if last is None and engine.samples and engine.samples[0].t_s <= to_s:
        last = engine.samples[-1]
    if first is None and engine.samples:
        first = engine.samples[0]
    return None if first is None or last is None or last.t_s <= first.t_s else (first, last)


def _busy_and_compute(
    hardware: Hardware,
    box: Box,
    replica: int,
    spans: list[tuple[float, GpuState]],
    pair: tuple[Sample, Sample],
) -> tuple[float, float]:
    """Return the share of the window in steps, and the share in this rank's own work."""
    first, last = pair
    window_s = last.t_s - first.t_s
    busy_s = last.busy_s - first.busy_s
    collective_s = last.collective_s - first.collective_s
    base = hardware.rank_base(replica)
    if base is None or not spans:
        return min(1.0, busy_s / window_s), 0.0
    whole_s = sum(lasts for lasts, _ in spans)
    own_s = 0.0
    for lasts, state in spans:
        cost = rank_cost(base, state, max_sm_clock_mhz=box.max_sm_clock_mhz)
        own_s += lasts / whole_s * _own_s(cost, first, last)
    own_s = min(own_s, max(0.0, busy_s - collective_s))
    return min(1.0, busy_s / window_s), min(1.0, own_s / window_s)


def _own_s(cost: CostModel, first: Sample, last: Sample) -> float:
    """Return what the steps between two samples cost by ``cost``, their collectives left out, seconds."""
    included = cost.collectives_included
    slope = comm_slope_ps(included)
    steps = last.steps - first.steps
    prefill = last.prefill_tokens - first.prefill_tokens
    decoded = last.computed_tokens - first.computed_tokens - prefill
    return (
        steps * (cost.base_ps - (included[0][1] if included else 0))
        + (last.kv_tokens_read - first.kv_tokens_read) * cost.per_kv_token_ps
        + prefill * max(0, cost.per_prefill_token_ps - slope)
        + decoded * max(0, cost.per_sequence_ps - slope)
    ) / 1e12


def _activity(
    hardware: Hardware, box: Box, spans: list[tuple[float, GpuState]], pair: tuple[Sample, Sample]
) -> tuple[float, float]:
    """Return tensor and HBM activity by the work done: the same on every rank, more cycles of a slower clock."""
    first, last = pair
    window_s = last.t_s - first.t_s
    whole_s = sum(lasts for lasts, _ in spans) or 1.0
    clock = sum(lasts * state.sm_clock_mhz for lasts, state in spans) / whole_s
    # Two operations a parameter, and two bytes: as many operations a token as the rank's weights have bytes.
    operations = (last.computed_tokens - first.computed_tokens) * hardware.weights_bytes
    peak = box.bf16_tflops * 1e12 * (clock / box.max_sm_clock_mhz if clock else 1.0)
    read = (last.steps - first.steps) * hardware.weights_bytes
    read += (last.kv_tokens_read - first.kv_tokens_read) * hardware.kv_bytes_per_token
    tensor = operations / peak / window_s
    return min(1.0, tensor), min(1.0, read / (box.memory_gb_s * 1e9) / window_s)


def _power_w(box: Box, state: GpuState, *, dram: float, tensor: float, waiting: float) -> float:
    drawn = DRAM_POWER * dram + TENSOR_POWER * tensor + SPIN_POWER * waiting
    clock = state.sm_clock_mhz / box.max_sm_clock_mhz
    watts = box.idle_power_w + (box.power_cap_w - box.idle_power_w) * drawn * clock
    return min(watts, MAX_POWER_SHARE * (state.power_limit_w or box.power_cap_w))


def _temperature_c(box: Box, state: GpuState, power_w: float, gpu: int) -> float:
    if state.reason in HOT_C:
        return HOT_C[state.reason]
    return (
        box.temperature_base_c + box.temperature_c_per_w * power_w + (0.9, 0.0, 1.8, 0.4)[gpu % 4]
    )


def moved_bytes(view: View, place: Place, from_s: float, to_s: float) -> tuple[float, float]:
    """Return (bytes over NVLink in both directions, bytes over PCIe in one) that collectives moved, from_s to to_s."""
    hardware = view.cluster.hardware
    nvlink = pcie = 0.0
    if hardware is None:
        return nvlink, pcie
    for replica, starts in enumerate(hardware.starts):
        for index, start in enumerate(starts):
            if place not in start.placement.places:
                continue
            ends = starts[index + 1].at_s if index + 1 < len(starts) else to_s
            begins, ends = max(from_s, start.at_s), min(to_s, ends)
            pair = _samples(view, replica, begins, ends) if begins < ends else None
            if pair is None:
                continue
            up, across = _sent(hardware, start.route, *pair)
            nvlink += up
            pcie += across
    return nvlink, pcie


def _sent(hardware: Hardware, route: Route, first: Sample, last: Sample) -> tuple[float, float]:
    """Return bytes of one rank: over NVLink both ways, over PCIe one way."""
    prefill = last.prefill_tokens - first.prefill_tokens
    tokens = last.computed_tokens - first.computed_tokens
    shape = {
        "num_hidden_layers": hardware.num_hidden_layers,
        "hidden_size": hardware.hidden_size,
        "ranks": route.ranks,
    }
    if not route.nccl_p2p:
        # The custom kernel keeps the small messages on the links: those of decode, and of short chunks.
        most = last.max_prefill_tokens_in_step * hardware.hidden_size * BYTES_PER_NUMBER
        by_host = float(prefill) if most > CUSTOM_MAX_BYTES or not route.uses_custom else 0.0
        by_host = by_host if route.uses_custom else float(tokens)
        direct = sent_bytes(tokens - by_host, **shape)
        staged = sent_bytes(by_host, **shape)
        return (2 * direct, staged) if route.links else (0.0, direct + staged)
    sent = sent_bytes(tokens, **shape)
    if route.links:
        return 2 * sent, 0.0
    if route.ranks == 2:  # noqa: PLR2004  (a pair that is not bridged)
        return 0.0, sent
    # Rings over bridged pairs, one in each direction: half of a rank's neighbours are behind PCIe.
    return sent, sent / 2

"""The arithmetic of the scenes and debriefs of drills 4.1 to 6.1, as ``drill_quantities`` is that of the others. Pure."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from labs.simulator.memory.ledger import LLAMA_70B
from lessons.drills.evidence import (
    half_the_bandwidth,
    half_the_bytes,
    idle_between,
    lost_gain,
    lost_needles,
)
from lessons.exact.comparisons import amdahl
from lessons.exact.percentiles import Fleet
from lessons.exact.retrieval import margin, with_noise
from lessons.exact.roofline import (
    H100_SXM,
    LATENCY_S,
    Setup,
    bandwidth_in_flight,
    decode_step,
    host_ms,
    in_flight_bytes,
    last_wave,
    needed_in_flight,
)
from lessons.exact.timelines import HEALTHY
from lessons.quantities import GIB

if TYPE_CHECKING:
    from collections.abc import Mapping

_BATCH, _FULL_BATCH, _POOR_QUANT_US, _HOST_US = 32, 160, 8.0, 12.5
_LAUNCH_US, _TRACER_US = 19.0, 4.5
_COPY_SHARE, _SECTORS, _TAIL_BLOCKS, _SMALL_MB, _LAUNCH_S = 0.91, 26, 540, 10, 2e-6
_FLIP, _ANSWER_TOKENS = 0.015, 100
_NOISE, _OTHER_SCORE, _SPREAD = 1.3, 11.0, 0.8
_SHARE, _FACTOR, _GAIN = 0.90, 2.0, 1.10


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _halved() -> dict[str, str]:
    tokens = half_the_bytes.CONTEXT
    old = decode_step(half_the_bytes.BF16, batch=_BATCH, context_tokens=tokens)
    new = decode_step(half_the_bytes.CALM, batch=_BATCH, context_tokens=tokens)
    full = decode_step(half_the_bytes.CALM, batch=_FULL_BATCH, context_tokens=tokens)
    poor = Setup("fp8", "dynamic per tensor")
    quants = LLAMA_70B.layers * poor.quant_kernels_per_layer
    eager = Setup("fp8", "static", fused=True, graphs=False, host_us=_HOST_US)
    launched_ms = host_ms(eager, LLAMA_70B.layers)
    ranks = half_the_bytes.RANKS
    freed = LLAMA_70B.weights_bytes(tensor_parallel_size=ranks) - LLAMA_70B.weights_bytes(
        tensor_parallel_size=ranks, fp8=True
    )
    return {
        "halved_gemm_ms": f"{old.ms('gemm'):.1f}",
        "halved_gemm_fp8_ms": f"{new.ms('gemm'):.1f}",
        "halved_saved_ms": f"{old.ms('gemm') - new.ms('gemm'):.1f}",
        "halved_step_ms": f"{old.step_ms:.1f}",
        "halved_best_ms": f"{new.step_ms:.1f}",
        "halved_quants": f"{quants}",
        "halved_poor_us": f"{_POOR_QUANT_US:.0f}",
        "halved_quants_ms": f"{quants * _POOR_QUANT_US / 1e3:.1f}",
        "halved_launches": f"{1e3 * launched_ms / _HOST_US:,.0f}",
        "halved_host_us": f"{_HOST_US}",
        "halved_host_ms": f"{launched_ms:.0f}",
        "halved_attention_ms": f"{4 * old.ms('attention'):.1f}",
        "halved_freed_gib": f"{freed / GIB:.0f}",
        "halved_full_batch": f"{_FULL_BATCH}",
        "halved_full_ms": f"{full.step_ms:.0f}",
        "halved_full_times": f"{_FULL_BATCH / full.step_ms / (_BATCH / old.step_ms):.1f}",
    }


def _idle() -> dict[str, str]:
    launch = replace(HEALTHY, launch_us=_LAUNCH_US)
    healthy = idle_between.seen(HEALTHY, 0.0, 0)
    late = idle_between.seen(launch, 0.0, 0)
    kernels = healthy.found.summed_us / HEALTHY.kernel_us
    return {
        "idle_kernels": f"{round(kernels, -1):.0f}",
        "idle_busy_ms": f"{healthy.found.busy_us / 1e3:.0f}",
        "idle_launch_us": f"{_LAUNCH_US:.0f}",
        "idle_launched_ms": f"{round(kernels, -1) * _LAUNCH_US / 1e3:.1f}",
        "idle_launch_gaps": f"{round(late.gaps, -1)}",
        "idle_tracer_us": f"{_TRACER_US}",
        "idle_traced_ms": f"{round(kernels, -1) * _TRACER_US / 1e3:.1f}",
        "idle_untraced_ms": f"{healthy.found.step_us / 1e3 / idle_between.TRACED:.0f}",
    }


def _gemv() -> dict[str, str]:
    one = in_flight_bytes(
        blocks_per_sm=half_the_bandwidth.BLOCKS_PER_SM,
        threads=half_the_bandwidth.THREADS,
        loads_per_thread=1,
        bytes_per_load=half_the_bandwidth.LOAD_BYTES,
    )
    peak, reached = H100_SXM.hbm_bytes_per_s, bandwidth_in_flight(H100_SXM, one)
    pcie = half_the_bandwidth.H100_PCIE.hbm_bytes_per_s
    places = H100_SXM.sms * half_the_bandwidth.BLOCKS_PER_SM
    last = last_wave(
        _TAIL_BLOCKS,
        H100_SXM,
        4 * one,
        blocks_per_sm=half_the_bandwidth.BLOCKS_PER_SM,
        bytes_per_s=_COPY_SHARE * peak,
    )
    small_s = _SMALL_MB * 1e6 / (_COPY_SHARE * peak)
    fetched = half_the_bandwidth.SECTORS_OF_A_LOAD
    return {
        "gemv_warp_bytes": f"{32 * half_the_bandwidth.LOAD_BYTES}",
        "gemv_peak": f"{peak / 1e12:.2f}",
        "gemv_latency_ns": f"{LATENCY_S * 1e9:.0f}",
        "gemv_sms": f"{H100_SXM.sms}",
        "gemv_needed_kb": f"{needed_in_flight(H100_SXM) / 1e3:.1f}",
        "gemv_one": f"{one:,}",
        "gemv_one_tbs": f"{reached / 1e12:.2f}",
        "gemv_one_share": _percent(reached / peak),
        "gemv_four": f"{4 * one:,}",
        "gemv_sectors": f"{_SECTORS}",
        "gemv_sectors_of_a_load": f"{fetched}",
        "gemv_wasted": _percent(1 - fetched / _SECTORS),
        "gemv_pcie": f"{pcie / 1e12:.1f}",
        "gemv_copy_share": f"{_COPY_SHARE}",
        "gemv_pcie_share": _percent(_COPY_SHARE * pcie / peak),
        "gemv_blocks": f"{_TAIL_BLOCKS}",
        "gemv_places": f"{places}",
        "gemv_left": f"{_TAIL_BLOCKS - places}",
        "gemv_last": f"{last:.1f}",
        "gemv_launch_us": f"{_LAUNCH_S * 1e6:.0f}",
        "gemv_small_mb": f"{_SMALL_MB}",
        "gemv_small_us": f"{small_s * 1e6:.0f}",
        "gemv_launch_share": _percent(_LAUNCH_S / (_LAUNCH_S + small_s)),
    }


def _replica() -> dict[str, str]:
    fleet = Fleet()
    x = fleet.quantile(0.99)
    healthy, slow = fleet.beyond(x)
    return {
        "replica_factor": f"{fleet.slow_factor}",
        "replica_median": _percent(fleet.quantile(0.5) - 1),
        "replica_p99": _percent(x / fleet.healthy_quantile(0.99) - 1),
        "replica_share": _percent(slow / (healthy + slow)),
    }


def _greedy() -> dict[str, str]:
    return {
        "greedy_flip": f"{100 * _FLIP} %",
        "greedy_tokens": f"{_ANSWER_TOKENS}",
        "greedy_equal": _percent((1 - _FLIP) ** _ANSWER_TOKENS),
    }


def _needle() -> dict[str, str]:
    near, middle, far = (lost_needles.LENGTHS[place] for place in (0, 2, 3))
    score = lost_needles.SCORE
    return {
        "needle_score": f"{score:.0f}",
        "needle_near": f"{near}",
        "needle_near_margin": f"{margin(score, near):.1f}",
        "needle_middle": f"{middle:,}",
        "needle_far": f"{far:,}",
        "needle_far_margin": f"{margin(score, far):.1f}",
        "needle_noise": f"{_NOISE}",
        "needle_noise_middle": _percent(1 - with_noise(score, middle, noise=_NOISE).found),
        "needle_noise_far": _percent(1 - with_noise(score, far, noise=_NOISE).found),
        "needle_other_score": f"{_OTHER_SCORE:.0f}",
        "needle_spread": f"{_SPREAD}",
        "needle_other_margin": f"{margin(_OTHER_SCORE, far):.1f}",
        "needle_other_lost": _percent(1 - with_noise(_OTHER_SCORE, far, spread=_SPREAD).found),
        "needle_window": f"{lost_needles.WINDOW:,}",
    }


def _gain() -> dict[str, str]:
    bench = amdahl(_SHARE, _FACTOR)
    share = (1 - 1 / _GAIN) / (1 - 1 / _FACTOR)
    factor = _SHARE / (1 / _GAIN - 1 + _SHARE)
    idle = 1 - lost_gain.BUSY_BEFORE * _GAIN / bench
    return {
        "gain_share": f"{_SHARE}",
        "gain_factor": f"{_FACTOR:.0f}",
        "gain_bench": f"{bench:.2f}",
        "gain_production": f"{_GAIN:.2f}",
        "gain_small_share": f"{share:.2f}",
        "gain_small_factor": f"{factor:.2f}",
        "gain_idle": _percent(idle),
    }


SHOWN: Mapping[str, str] = MappingProxyType(
    {**_halved(), **_idle(), **_gemv(), **_replica(), **_greedy(), **_needle(), **_gain()}
)
"""What ``{{ name }}`` in a drill's text stands for."""

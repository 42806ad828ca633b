"""The arithmetic of the lessons: every number that a text shows is computed here, from named constants.

A lesson writes ``{{ name }}``; :data:`SHOWN` says what stands there. Checks name an entry of
:data:`NUMBERS` as their answer, so that a constant which changes cannot leave a wrong answer behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from labs.simulator.cost_model import kv_bytes_per_token, profile

if TYPE_CHECKING:
    from collections.abc import Mapping

KIB = 1024
GIB = 1024**3

ATLAS = profile("atlas-70b")
LLAMA = profile("llama-70b")

# One rank of the course's box. Torch sees 79.2 GiB of an 80 GB H100; 0.92 is vLLM 0.32's default fraction.
DEVICE_GIB = 79.2
MEMORY_FRACTION = 0.92
# Scenario constants: the profile run's peak, and the captured graphs. The pool is set to 35 GiB.
ACTIVATIONS_GIB = 2.6
GRAPHS_GIB = 2.0
POOL_GIB = 35.0
HBM_BYTES_PER_S = 3.35e12
"""Peak of one H100 SXM; real kernels reach 80 to 90 % of it."""


@dataclass(frozen=True)
class Admission:
    """What vLLM 0.32 answers to a completion request, by its token counts alone."""

    status: int
    completion_tokens: int
    """The most that can come back; 0 if refused."""


def admission(*, prompt_tokens: int, max_tokens: int, context_window: int) -> Admission:
    """Return vLLM 0.32's answer: it refuses either count that is too large alone, and clamps their sum.

    Source: HTTP answers of a live 0.32.0. A prompt that fills the window has no room for one output.
    """
    if max_tokens < 1 or max_tokens > context_window or prompt_tokens >= context_window:
        return Admission(status=400, completion_tokens=0)
    return Admission(status=200, completion_tokens=min(max_tokens, context_window - prompt_tokens))


def over_by(*, prompt_tokens: int, max_tokens: int, context_window: int) -> int:
    """Return by how many tokens a request exceeds the window; 0 if it fits."""
    return max(0, prompt_tokens + max_tokens - context_window)


def live_tokens(*, pool_bytes: float, bytes_per_token: int, block_size: int = 16) -> int:
    """Return how many tokens a pool holds, in whole blocks."""
    return int(pool_bytes // (block_size * bytes_per_token)) * block_size


def arrivals_per_s(*, waiting: int, oldest_s: float) -> float:
    """Return the rate at which a first-come queue must have filled: all who wait came since the oldest."""
    return waiting / oldest_s


def step_ms(*, kv_tokens: int, prefill_tokens: int = 0) -> float:
    """Return the time of one Atlas step in milliseconds."""
    cost = ATLAS.cost_model().step_ps(
        kv_tokens=kv_tokens, prefill_tokens=prefill_tokens, sequences=0, tokens=0
    )
    return cost / 1e9


def weight_read_ms(weight_bytes: float) -> float:
    """Return the least time of a decode step: one read of the rank's weights at peak bandwidth."""
    return weight_bytes / HBM_BYTES_PER_S * 1e3


@dataclass(frozen=True)
class LedgerLine:
    """One entry of a rank's memory budget."""

    name: str
    gib: float


def allowed_gib() -> float:
    """Return what the engine may take of one rank, GiB."""
    return DEVICE_GIB * MEMORY_FRACTION


def ledger() -> tuple[LedgerLine, ...]:
    """Return the memory budget of one Atlas rank, in the order in which it is spent."""
    weights = ATLAS.weights_bytes / GIB
    fixed = weights + ACTIVATIONS_GIB + GRAPHS_GIB + POOL_GIB
    return (
        LedgerLine("weights", weights),
        LedgerLine("activations", ACTIVATIONS_GIB),
        LedgerLine("graphs", GRAPHS_GIB),
        LedgerLine("context", allowed_gib() - fixed),
        LedgerLine("pool", POOL_GIB),
    )


_LLAMA_KV = {"layers": 80, "head_dim": 128, "dtype_bytes": 2}
_BOUNDARY = {"prompt_tokens": 7_400, "max_tokens": 1_200, "context_window": 8_192}
CLAMPED = {"prompt_tokens": 1_000, "max_tokens": 500, "context_window": 1_024}
STORM = {"waiting": 47, "oldest_s": 1.1}
OUTGROWN = {"low_rps": 0.25, "high_rps": 0.6, "ttft_limit_s": 5.0}
BURST = {"low_rps": 0.3, "high_rps": 1.0, "from_minute": 5, "to_minute": 10}
EVICTED_BLOCKS = 576
EVICTED_REQUESTS = {
    "a": (0, 2_000, 1_500),
    "b": (4, 4_000, 1_500),
    "c": (8, 600, 3_000),
    "d": (12, 1_000, 800),
}
"""Second of arrival, prompt tokens, output tokens."""
_POOL_BYTES = POOL_GIB * GIB
_ATLAS_TOKENS = live_tokens(
    pool_bytes=_POOL_BYTES, bytes_per_token=ATLAS.kv_bytes_per_token, block_size=ATLAS.block_size
)
_LLAMA_TOKENS = live_tokens(
    pool_bytes=_POOL_BYTES, bytes_per_token=LLAMA.kv_bytes_per_token, block_size=LLAMA.block_size
)
_SEQUENCE_TOKENS = 2_800
_FULL_KV_TOKENS = 40 * _SEQUENCE_TOKENS

NUMBERS: Mapping[str, float] = MappingProxyType(
    {
        "llama_kib_rank": kv_bytes_per_token(kv_heads=8 // 4, **_LLAMA_KV) / KIB,
        "llama_kib_whole": kv_bytes_per_token(kv_heads=8, **_LLAMA_KV) / KIB,
        "llama_kib_keys_only": kv_bytes_per_token(kv_heads=8 // 4, **_LLAMA_KV) / KIB / 2,
        "llama_kib_query_heads": kv_bytes_per_token(kv_heads=64 // 4, **_LLAMA_KV) / KIB,
        "atlas_kib_rank": ATLAS.kv_bytes_per_token / KIB,
        "atlas_tokens": _ATLAS_TOKENS,
        "llama_tokens": _LLAMA_TOKENS,
        "bf16_floor_ms": weight_read_ms(ATLAS.weights_bytes),
        "fp8_floor_ms": weight_read_ms(ATLAS.weights_bytes / 2),
        "whole_model_floor_ms": weight_read_ms(4 * ATLAS.weights_bytes),
    }
)
"""Answers of checks, by name."""


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _shown() -> dict[str, str]:
    lines = {line.name: line.gib for line in ledger()}
    boundary_sum = _BOUNDARY["prompt_tokens"] + _BOUNDARY["max_tokens"]
    return {
        "boundary_prompt": _whole(_BOUNDARY["prompt_tokens"]),
        "boundary_max": _whole(_BOUNDARY["max_tokens"]),
        "boundary_window": _whole(_BOUNDARY["context_window"]),
        "boundary_sum": _whole(boundary_sum),
        "boundary_over": _whole(over_by(**_BOUNDARY)),
        "boundary_prompt_raw": f"{_BOUNDARY['prompt_tokens']}",
        "boundary_max_raw": f"{_BOUNDARY['max_tokens']}",
        "boundary_window_raw": f"{_BOUNDARY['context_window']}",
        "clamp_prompt": _whole(CLAMPED["prompt_tokens"]),
        "clamp_max": _whole(CLAMPED["max_tokens"]),
        "clamp_window": _whole(CLAMPED["context_window"]),
        "storm_waiting": _whole(STORM["waiting"]),
        "storm_oldest_s": f"{STORM['oldest_s']}",
        "order_low": f"{OUTGROWN['low_rps']}",
        "order_high": f"{OUTGROWN['high_rps']}",
        "order_ttft_s": f"{OUTGROWN['ttft_limit_s']:.0f}",
        "evicted_blocks": f"{EVICTED_BLOCKS}",
        "evicted_ahead_s": f"{EVICTED_REQUESTS['d'][0] - EVICTED_REQUESTS['a'][0]}",
        "burst_low": f"{BURST['low_rps']}",
        "burst_high": f"{BURST['high_rps']:g}",
        "burst_from": f"{BURST['from_minute']}",
        "burst_to": f"{BURST['to_minute']}",
        "burst_minutes": f"{BURST['to_minute'] - BURST['from_minute']}",
        "device_gib": f"{DEVICE_GIB:.1f}",
        "fraction": f"{MEMORY_FRACTION:.2f}",
        "allowed_gib": f"{allowed_gib():.3f}",
        "weights_gib": f"{lines['weights']:.3f}",
        "activations_gib": f"{lines['activations']:.3f}",
        "graphs_gib": f"{lines['graphs']:.3f}",
        "context_gib": f"{lines['context']:.3f}",
        "pool_gib": f"{lines['pool']:.3f}",
        "pool_round_gib": f"{lines['pool']:.0f}",
        "other_gib": f"{lines['activations'] + lines['graphs'] + lines['context']:.3f}",
        "atlas_kib": _whole(ATLAS.kv_bytes_per_token / KIB),
        "llama_kib": _whole(NUMBERS["llama_kib_rank"]),
        "llama_whole_kib": _whole(NUMBERS["llama_kib_whole"]),
        "llama_bytes": _whole(kv_bytes_per_token(kv_heads=8, **_LLAMA_KV)),
        "atlas_tokens": _whole(_ATLAS_TOKENS),
        "atlas_blocks": _whole(_ATLAS_TOKENS // ATLAS.block_size),
        "llama_tokens": _whole(_LLAMA_TOKENS),
        "llama_blocks": _whole(_LLAMA_TOKENS // LLAMA.block_size),
        "sequence_tokens": _whole(_SEQUENCE_TOKENS),
        "cap40_tokens": _whole(40 * _SEQUENCE_TOKENS),
        "cap40_share": f"{100 * 40 * _SEQUENCE_TOKENS / _ATLAS_TOKENS:.0f} %",
        "cap28_tokens": _whole(28 * _SEQUENCE_TOKENS),
        "cap28_share": f"{100 * 28 * _SEQUENCE_TOKENS / _ATLAS_TOKENS:.0f} %",
        "step_base_ms": f"{ATLAS.base_ms:.0f}",
        "step_kv_ms": f"{ATLAS.kv_ns_per_token * _FULL_KV_TOKENS / 1e6:.0f}",
        "step_kv_tokens": _whole(_FULL_KV_TOKENS),
        "step_prefill_ms": f"{ATLAS.prefill_ms_per_token:.3f}",
        "step_chunk_ms": f"{ATLAS.prefill_ms_per_token * 512:.1f}",
        "step_decode_ms": f"{step_ms(kv_tokens=_FULL_KV_TOKENS):.0f}",
        "step_mixed_ms": f"{step_ms(kv_tokens=_FULL_KV_TOKENS, prefill_tokens=512):.1f}",
        "bf16_gb": f"{ATLAS.weights_bytes / 1e9:.1f}",
        "fp8_gb": f"{ATLAS.weights_bytes / 2 / 1e9:.1f}",
        "bandwidth_tbs": f"{HBM_BYTES_PER_S / 1e12:.2f}",
        "bf16_floor_ms": f"{NUMBERS['bf16_floor_ms']:.1f}",
        "fp8_floor_ms": f"{NUMBERS['fp8_floor_ms']:.1f}",
        "fp8_weights_gib": f"{ATLAS.weights_bytes / 2 / GIB:.1f}",
        "bf16_weights_gib": f"{ATLAS.weights_bytes / GIB:.1f}",
        "card_gb": "81.6",
        "reserved_090_gb": f"{81.6 * 0.90:.1f}",
        "reserved_092_gb": f"{81.6 * 0.92:.1f}",
    }


SHOWN: Mapping[str, str] = MappingProxyType(_shown())
"""What ``{{ name }}`` in a lesson stands for."""

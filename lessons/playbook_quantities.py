"""The arithmetic of the playbook's lessons, as ``quantities`` is that of the others: constants, and what follows.

Pure. What a text shows is in :data:`SHOWN`, answers of checks in :data:`NUMBERS`. Constants without a source are set for
these lessons, and the lessons say so.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from labs.instruments.profile_trace import PROFILERS
from labs.instruments.prometheus.families import FAMILIES
from labs.simulator.memory.ledger import (
    GIB,
    KIB,
    LATE_BYTES,
    LLAMA_70B,
    MIB,
    SAMPLER_BYTES_PER_LOGIT,
    MemoryFlags,
)
from lessons.exact.alerting import budget_left_h, burn_rate, drain_s, fires_after_s, spent_share
from lessons.exact.comparisons import false_alarms, runs_needed_by_t
from lessons.exact.evidence import after, doubt, worth, worth_a_minute
from lessons.exact.ledger import budget
from lessons.exact.timelines import SCENARIOS, timeline, union
from lessons.quantities import ATLAS, step_ms, weight_read_ms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lessons.exact.ledger import Budget

# ------------------------------------------------------------------------------------------ the method

FLEET, FAST_S, SLOW_S = 8, 0.4, 4.0
PRIOR: Mapping[str, float] = MappingProxyType({"demand": 0.5, "storm": 0.3, "router": 0.2})


@dataclass(frozen=True)
class Reading:
    """A reading on offer: its price, and how often each suspect of :data:`PRIOR` gives it."""

    cost_s: int
    positive: Mapping[str, float]


READINGS: Mapping[str, Reading] = MappingProxyType(
    {
        "usage": Reading(15, {"demand": 0.97, "storm": 0.97, "router": 0.10}),
        "router": Reading(15, {"demand": 0.02, "storm": 0.02, "router": 0.95}),
        "offered": Reading(45, {"demand": 0.95, "storm": 0.05, "router": 0.05}),
        "recompute": Reading(90, {"demand": 0.30, "storm": 0.80, "router": 0.05}),
    }
)
"""Prices are those of the labs; the shares are scenario constants."""


@dataclass(frozen=True)
class Flag:
    """A check that flags GPUs. Scenario constants."""

    bad_share: float
    finds: float
    false_alarms: float


STRAGGLER = Flag(bad_share=0.02, finds=0.99, false_alarms=0.05)
USUAL_RPS, BURST_RPS, BURST_S = 0.36, 0.75, 480
_SEQUENCES, _OUTPUT_TOKENS, _FULL_KV_TOKENS = 40, 1_600, 112_000
_HARM_RPS, _HARM_SHARE, _DIAGNOSIS_MIN, _EVIDENCE_S = 0.55, 0.4, 20, 30
_RESTART_S = 300
"""Until a replica is ready again; the labs' constant."""

# ----------------------------------------------------------------------------------------- the toolkit

TORCH, NSYS = PROFILERS["torch"], PROFILERS["nsys"]
_SMS = 132
"""Streaming multiprocessors of an H100 SXM. Source: NVIDIA's H100 data sheet."""
_TRACE_SEED = 0

# ------------------------------------------------------------------------------- the budget, practice

_TEMPLATE = {"shared": 3_000, "unique": 300}
"""Tokens of a prompt before and after the place where a template changed."""
_TRAP = {"waiting": 30, "oldest_s": 0.8}


@dataclass(frozen=True)
class Gate:
    """A gate that stops a release which is ``threshold`` slower, on runs of this spread. Scenario constants."""

    threshold: float
    run_cv: float


GATE = Gate(threshold=0.03, run_cv=0.025)
_SLO_TARGET, _PAGE_BURN, _TICKET_BURN = 0.95, 14.4, 6.0
"""The two burn rates are those of Google's SRE workbook, chapter 5."""
_TURN_S, _SLICE = 60, 0.1


@cache
def llama_budget(ranks: int, **flags: object) -> Budget:
    """Return the ledger of a rank of the Llama on ``ranks`` H100s with vLLM's defaults and a context of 8,192."""
    fields = {"tensor_parallel_size": ranks, "max_model_len": 8_192, **flags}
    return budget(LLAMA_70B, MemoryFlags(**fields))  # type: ignore[arg-type]


@cache
def _fp8_budget() -> Budget:
    flags = MemoryFlags(tensor_parallel_size=2, max_model_len=8_192, kv_cache_dtype="fp8")
    return budget(LLAMA_70B, flags, precision="fp8")


_STEP_MS = step_ms(kv_tokens=_FULL_KV_TOKENS)
_SERVED_RPS = _SEQUENCES / (_OUTPUT_TOKENS * _STEP_MS / 1e3)
_QUEUE = (BURST_RPS - _SERVED_RPS) * BURST_S
_DRAIN_MIN = drain_s(waiting=_QUEUE, served_rps=_SERVED_RPS, arriving_rps=USUAL_RPS) / 60
_FAST_ROUTER = {name: 1 - share for name, share in READINGS["router"].positive.items()}
_JOINT = {name: share * _FAST_ROUTER[name] for name, share in PRIOR.items()}
_AFTER = after(PRIOR, _FAST_ROUTER)
_SLOW_SHARE = 1 / FLEET
_BURN_OF_A_FIFTH = burn_rate(0.2, target=_SLO_TARGET)


def _trace_ms() -> tuple[float, float]:
    """Return the step of the trace and the union of its kernels, milliseconds."""
    found = timeline(SCENARIOS["several"], _TRACE_SEED)
    busy_us = sum(end - start for start, end in union(found.of("kernel")))
    return found.step_us / 1e3, busy_us / 1e3


_TRACE_MS, _BUSY_MS = _trace_ms()


def _sequence_gib(kib_per_token: int) -> float:
    return 65_536 * kib_per_token * KIB / GIB


NUMBERS: Mapping[str, float] = MappingProxyType(
    {
        "fleet_p99_of_slow": 100 * (1 - 0.01 / _SLOW_SHARE),
        "fleet_share_percent": 100 * _SLOW_SHARE,
        "demand_after_percent": 100 * _AFTER["demand"],
        "joint_demand_percent": 100 * _JOINT["demand"],
        "trace_best_factor": _TRACE_MS / _BUSY_MS,
        "trace_idle_fraction": 1 - _BUSY_MS / _TRACE_MS,
        "trace_wrong_factor": 2 - _BUSY_MS / _TRACE_MS,
        "tp2_sequence_gib": _sequence_gib(160),
        "tp4_sequence_gib": _sequence_gib(80),
        "whole_sequence_gib": _sequence_gib(320),
        "burn_of_a_fifth": _BURN_OF_A_FIFTH,
        "bad_percent": 20.0,
        "bad_over_target": 0.2 / _SLO_TARGET,
    }
)
"""Answers of checks, by name."""


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _method() -> dict[str, str]:
    found = {
        "fleet_size": f"{FLEET}",
        "fleet_fast_s": f"{FAST_S}",
        "fleet_slow_s": f"{SLOW_S:.1f}",
        "fleet_share": f"{_SLOW_SHARE:.1%}".replace("%", " %"),
        "fleet_mean_s": f"{((FLEET - 1) * FAST_S + SLOW_S) / FLEET:.2f}",
        "fleet_p99_of_slow": _whole(NUMBERS["fleet_p99_of_slow"]),
        "prior_doubt": f"{doubt(PRIOR):.2f}",
        "doubt_after": f"{doubt(_AFTER):.2f}",
        "joint_sum": f"{sum(_JOINT.values()):.3f}",
        "demand_after": f"{_AFTER['demand']:.2f}",
        "straggler_finds": _percent(STRAGGLER.finds),
        "straggler_false": _percent(STRAGGLER.false_alarms),
        "straggler_bad": _percent(STRAGGLER.bad_share),
        "drain_queue": _whole(_QUEUE),
        "drain_served": f"{_SERVED_RPS:.2f}",
        "drain_arriving": f"{USUAL_RPS}",
        "drain_minutes": f"{_DRAIN_MIN:.1f}",
        "drain_wait": f"{_DRAIN_MIN + 5:.1f}",
        "restart_min": _whole(_RESTART_S / 60),
        "harm_rps": f"{_HARM_RPS}",
        "harm_share": _percent(_HARM_SHARE),
        "harm_per_minute": _whole(60 * _HARM_RPS * _HARM_SHARE),
        "harm_diagnosis": _whole(60 * _HARM_RPS * _HARM_SHARE * _DIAGNOSIS_MIN),
        "harm_evidence": _whole(_HARM_RPS * _HARM_SHARE * _EVIDENCE_S),
        "evidence_s": f"{_EVIDENCE_S}",
    }
    for name, share in PRIOR.items():
        found[f"prior_{name}"] = f"{share:.1f}"
        found[f"fast_{name}"] = f"{_FAST_ROUTER[name]:.2f}"
        found[f"joint_{name}"] = f"{_JOINT[name]:.3f}"
    for name, reading in READINGS.items():
        found[f"{name}_cost"] = f"{reading.cost_s}"
        for suspect, share in reading.positive.items():
            found[f"{name}_{suspect}"] = f"{share:.2f}"
        found[f"{name}_bits"] = f"{worth(PRIOR, reading.positive):.2f}"
        rate = worth_a_minute(PRIOR, reading.positive, cost_s=reading.cost_s)
        found[f"{name}_rate"] = f"{rate:.2f}"
    return found


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _toolkit() -> dict[str, str]:
    found = {
        "answer_s": _whole(_OUTPUT_TOKENS * _STEP_MS / 1e3),
        "ceiling_tokens": _whole(_SEQUENCES / _STEP_MS * 1e3),
        "torch_loss": f"{1 - 1 / TORCH.slowdown:.0%}".replace("%", " %"),
        "sm_count": f"{_SMS}",
        "one_sm_percent": f"{100 / _SMS:.1f}",
        "family_count": f"{len(FAMILIES)}",
        "mean_with_gap_ms": f"{(9_000 + 40 * (_OUTPUT_TOKENS - 1)) / _OUTPUT_TOKENS:.0f}",
        "trace_step_ms": f"{_TRACE_MS:.2f}",
        "trace_busy_ms": f"{_BUSY_MS:.2f}",
        "trace_idle_ms": f"{_TRACE_MS - _BUSY_MS:.2f}",
        "trace_idle_share": f"{1 - _BUSY_MS / _TRACE_MS:.0%}".replace("%", " %"),
        "trace_best": f"{_TRACE_MS / _BUSY_MS:.2f}",
    }
    for name, profiler in (("torch", TORCH), ("nsys", NSYS)):
        found[f"{name}_factor"] = f"{profiler.slowdown:.2f}"
        found[f"{name}_step_ms"] = f"{_STEP_MS * profiler.slowdown:.1f}"
        found[f"{name}_tokens"] = _whole(_SEQUENCES / _STEP_MS / profiler.slowdown * 1e3)
    return found


def _budget() -> dict[str, str]:
    two, four = llama_budget(2), llama_budget(4)
    gib = {line.name: line.gib for line in four.lines}
    refused = llama_budget(2, max_num_seqs=256, max_model_len=32_768)
    refusal = "" if refused.refusal is None else refused.refusal.message
    return {
        "tp4_allowed_gib": f"{four.requested / GIB:.2f}",
        "tp4_weights_gib": f"{gib['weights']:.2f}",
        "tp4_activations_gib": f"{gib['activations']:.2f}",
        "tp4_workspace_gib": f"{gib['workspace']:.2f}",
        "tp4_graphs_gib": f"{gib['graphs']:.2f}",
        "tp4_context_gib": f"{gib['context'] + gib['nccl']:.2f}",
        "tp4_pool_gib": f"{gib['pool']:.2f}",
        "tp2_pool_gib": f"{two.lines[-1].gib:.2f}",
        "tp2_32k_gib": f"{two.needed_for(32_768) / GIB:.1f}",
        "tp2_sequence_gib": f"{NUMBERS['tp2_sequence_gib']:.0f}",
        "tp2_batched_tokens": _whole(llama_budget(2, max_num_batched_tokens=2_048).kv_tokens),
        "tp2_seqs_tokens": _whole(llama_budget(2, max_num_seqs=256).kv_tokens),
        "tp2_eager_tokens": _whole(llama_budget(2, enforce_eager=True).kv_tokens),
        "tp2_fp8_tokens": _whole(_fp8_budget().kv_tokens),
        "refusal_text": "\n".join(textwrap.wrap(refusal.partition(" See https")[0], 62)),
        "refusal_len": _whole(refused.kv_tokens),
        "seqs_default": _whole(MemoryFlags().max_num_seqs),
        "vocab": _whole(LLAMA_70B.vocab),
        "sampler_bytes": f"{SAMPLER_BYTES_PER_LOGIT}",
        "late_mib": f"{LATE_BYTES // MIB}",
        "whole_weights_gb": f"{2 * LLAMA_70B.parameters / 1e9:.0f}",
    }


def _practice() -> dict[str, str]:
    hit = _TEMPLATE["shared"] // 16 * 16
    whole = _TEMPLATE["shared"] + _TEMPLATE["unique"]
    page_share = _PAGE_BURN * (1 - _SLO_TARGET)
    return {
        "trap_waiting": f"{_TRAP['waiting']}",
        "trap_oldest_s": f"{_TRAP['oldest_s']}",
        "trap_rate": _whole(_TRAP["waiting"] / _TRAP["oldest_s"]),
        "one_gap_percent": f"{100 / _OUTPUT_TOKENS:.2f}",
        # The card's step reads its weights at half of the peak.
        "fp8_saved_ms": f"{2 * weight_read_ms(ATLAS.weights_bytes / 2):.0f}",
        "template_before": _whole(whole - hit),
        "template_after": _whole(whole),
        "gate_threshold": _percent(GATE.threshold),
        "gate_cv": _percent(GATE.run_cv),
        "aa_share": f"{false_alarms(0.034, GATE.run_cv):.0%}".replace("%", " %"),
        "slo_target": f"{_SLO_TARGET}",
        "slo_budget": f"{1 - _SLO_TARGET:.2f}",
        "page_share": f"{page_share:.2f}",
        "page_burn": f"{_PAGE_BURN}",
        "page_spent": _percent(round(spent_share(_PAGE_BURN, over_h=1), 4)),
        "ticket_burn": f"{_TICKET_BURN:.0f}",
        "burn_of_a_fifth": f"{_BURN_OF_A_FIFTH:.0f}",
        "fifth_left_h": _whole(budget_left_h(_BURN_OF_A_FIFTH)),
        "fires_fifth": _whole(fires_after_s(0.2, 0.1, window_s=300, for_s=120) or 0),
        "fires_all": _whole(fires_after_s(1.0, 0.1, window_s=300, for_s=120) or 0),
        **{f"runs_{n}": f"{runs_needed_by_t(n / 100, GATE.run_cv)}" for n in (2, 3, 5, 10)},
        "turn_s": f"{_TURN_S}",
        "slice_share": f"{_SLICE}",
        "visit_s": _whole(_TURN_S / _SLICE),
    }


SHOWN: Mapping[str, str] = MappingProxyType({**_method(), **_toolkit(), **_budget(), **_practice()})
"""What ``{{ name }}`` in a lesson of the playbook stands for."""

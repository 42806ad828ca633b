"""The arithmetic of the scenes and debriefs of drills 1.1 to 3.2: each number from the functions and constants of their worlds.

Pure. Sizes that a seed draws stand here near the middle of their range, so that a debrief is of no world in particular.
``drill_step_quantities`` has the others.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from labs.simulator.kv_cache import blocks_for
from labs.simulator.memory.ledger import LLAMA_70B
from lessons.drills.evidence import (
    evicted_at_peak,
    jerky_streams,
    late_tail,
    refused_start,
    template_deploy,
)
from lessons.exact.ledger import budget
from lessons.exact.periods import full_collection_allocations
from lessons.exact.queueing import pollaczek_khinchine_s, service
from lessons.quantities import GIB

if TYPE_CHECKING:
    from collections.abc import Mapping

_PREFILL_MS = template_deploy.PREFILL_MS
_SHARED, _OWN, _RATE_RPS = 3_000, 300, 2.0
"""Drill 1.1: tokens that all requests share, tokens of one's own, requests a second."""
_LOAD, _WIDE_CV2, _DOCUMENT_TOKENS = 0.6, 2.7, 50_000
_LARGE_BUDGET = 2_048
_COLLECT_MS, _KEPT_A_STEP = 150.0, 1_375
_LIGHT_MS, _HEAVY_MS, _HITCH_STEPS, _OBJECTS_A_STEP = 25.0, 40.0, 80, 1_200
_SLOW_GB_PER_S = 0.18
_USERS, _PROMPT, _ANSWER, _LONG_ANSWER = 205, 1_500, 500, 1_500


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _deploy() -> dict[str, str]:
    whole = _SHARED + _OWN
    prefill_s = whole * _PREFILL_MS / 1e3
    served = service(prefill_s, template_deploy.SERVICE_CV2)
    wait_s = pollaczek_khinchine_s(_RATE_RPS, served)
    return {
        "deploy_token_ms": f"{_PREFILL_MS}",
        "deploy_own": f"{_OWN}",
        "deploy_whole": f"{whole:,}",
        "deploy_own_ms": f"{_OWN * _PREFILL_MS:.0f}",
        "deploy_whole_ms": f"{1e3 * prefill_s:.0f}",
        "deploy_load": _percent(_RATE_RPS * prefill_s),
        "deploy_wait_ms": f"{1e3 * wait_s:.0f}",
    }


def _tail() -> dict[str, str]:
    mean_s = late_tail.PROMPT_TOKENS * late_tail.PREFILL_MS / 1e3
    rate_rps = _LOAD / mean_s
    waits_ms = [
        1e3 * pollaczek_khinchine_s(rate_rps, service(mean_s, cv2))
        for cv2 in (late_tail.LENGTH_CV2, _WIDE_CV2)
    ]
    return {
        "tail_prefill_ms": f"{1e3 * mean_s:.0f}",
        "tail_load": _percent(_LOAD),
        "tail_load_share": f"{_LOAD}",
        "tail_idle_share": f"{1 - _LOAD:.1f}",
        "tail_cv2": f"{late_tail.LENGTH_CV2}",
        "tail_wide_cv2": f"{_WIDE_CV2}",
        "tail_wait_ms": f"{waits_ms[0]:.0f}",
        "tail_wide_wait_ms": f"{waits_ms[1]:.0f}",
        "tail_document": f"{_DOCUMENT_TOKENS:,}",
        "tail_document_s": f"{_DOCUMENT_TOKENS * late_tail.PREFILL_MS / 1e3:.2f}",
    }


def _jerks() -> dict[str, str]:
    token_ms, decode_ms = jerky_streams.PREFILL_MS, jerky_streams.DECODE_MS
    tokens_per_s = jerky_streams.DOCUMENTS_RPS * jerky_streams.DOCUMENT_TOKENS
    load = tokens_per_s * token_ms / 1e3
    steps_per_s = (1 - load) / decode_ms * 1e3
    between = round(full_collection_allocations() / _KEPT_A_STEP)
    found = {
        "jerk_tokens_per_s": f"{tokens_per_s:,.0f}",
        "jerk_load": _percent(load),
        "jerk_mean_ms": f"{decode_ms / (1 - load):.0f}",
        "jerk_collect_ms": f"{_COLLECT_MS:.0f}",
        "jerk_collect_steps": f"{between}",
        "jerk_collect_mean_ms": f"{_COLLECT_MS / between:.0f}",
    }
    for name, chunk in (("small", jerky_streams.SMALL_BUDGET), ("large", _LARGE_BUDGET)):
        chunks = blocks_for(jerky_streams.DOCUMENT_TOKENS, chunk)
        share = jerky_streams.DOCUMENTS_RPS * chunks / steps_per_s
        own_ms = chunks * decode_ms + jerky_streams.DOCUMENT_TOKENS * token_ms
        found |= {
            f"jerk_{name}": f"{chunk:,}",
            f"jerk_{name}_ms": f"{decode_ms + chunk * token_ms:.0f}",
            f"jerk_{name}_share": _percent(share),
            f"jerk_{name}_own_ms": f"{own_ms:.0f}",
        }
    return found


def _hitch() -> dict[str, str]:
    allocations = full_collection_allocations()
    return {
        "hitch_steps": f"{_HITCH_STEPS}",
        "hitch_light_ms": f"{_LIGHT_MS:.0f}",
        "hitch_heavy_ms": f"{_HEAVY_MS:.0f}",
        "hitch_light_s": f"{_HITCH_STEPS * _LIGHT_MS / 1e3:.1f}",
        "hitch_heavy_s": f"{_HITCH_STEPS * _HEAVY_MS / 1e3:.1f}",
        "hitch_timer_steps": f"{_HITCH_STEPS * _LIGHT_MS / _HEAVY_MS:.0f}",
        "hitch_allocations": f"{allocations:,}",
        "hitch_objects": f"{_OBJECTS_A_STEP:,}",
        "hitch_collect_steps": f"{allocations / _OBJECTS_A_STEP:.0f}",
    }


def _start() -> dict[str, str]:
    calm = refused_start.CALM
    found = budget(LLAMA_70B, calm)
    gib = {line.name: line.gib for line in found.lines}
    seats = 2 * calm.max_num_seqs
    more = budget(LLAMA_70B, replace(calm, max_num_seqs=seats))
    weights_gb = 2 * LLAMA_70B.parameters / 1e9
    return {
        "start_weights_gb": f"{weights_gb:.0f}",
        "start_allowed_gib": f"{found.requested / GIB:.2f}",
        "start_weights_gib": f"{gib['weights']:.2f}",
        "start_trial_gib": f"{gib['activations'] + gib['workspace']:.1f}",
        "start_graphs_gib": f"{gib['graphs']:.1f}",
        "start_context_gib": f"{gib['context'] + gib['nccl']:.1f}",
        "start_pool_gib": f"{gib['pool']:.2f}",
        "start_pool_tokens": f"{found.kv_tokens:,}",
        "start_long_gib": f"{found.needed_for(32_768) / GIB:.1f}",
        "start_short_gib": f"{found.needed_for(8_192) / GIB:.2f}",
        "start_seats_gib": f"{gib['pool'] - more.lines[-1].gib:.1f}",
        "start_disk_gb_per_s": f"{_SLOW_GB_PER_S}",
        "start_disk_min": f"{weights_gb / _SLOW_GB_PER_S / 60:.0f}",
    }


def _evict() -> dict[str, str]:
    block, pool = evicted_at_peak.BLOCK, evicted_at_peak.POOL
    door = blocks_for(_PROMPT, block)
    end, long_end = (blocks_for(_PROMPT + answer - 1, block) for answer in (_ANSWER, _LONG_ANSWER))
    token_ms = evicted_at_peak.PREFILL_MS
    return {
        "evict_users": f"{_USERS}",
        "evict_pool": f"{pool:,}",
        "evict_door": f"{door}",
        "evict_end": f"{end}",
        "evict_all_end": f"{_USERS * end:,}",
        "evict_long_end": f"{long_end}",
        "evict_all_long": f"{_USERS * long_end:,}",
        "evict_long_share": _percent(_USERS * long_end / pool),
        "evict_door_share": _percent(_USERS * door / pool),
        "evict_cap": f"{pool // long_end}",
        "evict_least": f"{_PROMPT:,}",
        "evict_least_s": f"{_PROMPT * token_ms / 1e3:.2f}",
        "evict_most": f"{_PROMPT + _LONG_ANSWER:,}",
        "evict_most_s": f"{(_PROMPT + _LONG_ANSWER) * token_ms / 1e3:.2f}",
    }


SHOWN: Mapping[str, str] = MappingProxyType(
    {**_deploy(), **_tail(), **_jerks(), **_hitch(), **_start(), **_evict()}
)
"""What ``{{ name }}`` in a drill's text stands for."""

"""The arithmetic of the lesson on measuring: each number from the functions that its demonstrations draw."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from labs.simulator.cost_model import profile
from lessons.exact.caches import cached_tokens, loop_hits
from lessons.exact.comparisons import amdahl, false_alarms, runs_needed_by_t
from lessons.exact.loops import closed_loop_rps
from lessons.exact.percentiles import Fleet
from lessons.exact.queueing import Service, pollaczek_khinchine_s

if TYPE_CHECKING:
    from collections.abc import Mapping

_LLAMA = profile("llama-70b")

# Station 1: a server of ten requests a second.
SERVICE_S = 0.1
CLIENTS = 8
_PAUSE_S = 5.0
_MANY = 64
_GENTLE_RPS = 8.0

# Station 2: a file of prompts, sent in a loop or drawn.
PROMPT_TOKENS = 2_048
_POOL_TOKENS = _LLAMA.usable_blocks * _LLAMA.block_size
_FIT = _POOL_TOKENS // PROMPT_TOKENS
_REQUESTS = 1_000
_FILE = 100
_REAL_HITS = 0.20

# Station 3: the schedule of the prediction, and a smaller one that is worked out.
STALL = {"stall_s": 10.0, "interval_ms": 200, "service_ms": 50}
TEST_S = 120
_SMALL_STALL_S, _SMALL_INTERVAL_S = 3.0, 0.5

# Station 4.
SLOW_GAPS = {"rate": 0.002, "tokens": 600}
_FLEET = Fleet(8, 0.25, 2.5)
_MEDIAN_MS = 400

# Station 5.
RUN_CV = 0.025
_SEEN = 0.034
_SMALL = 0.01

# Station 6.
FACTOR = 2.0
SHARES = (0.30, 0.70, 0.60)
_BUSY = 0.90


def drift_bias(order: str, drift: float) -> float:
    """Return by how much B seems to exceed A if each run is better by ``drift`` than the one before, whichever it is.

    ``order`` has a letter A or B for each run. The mean place of B less that of A, times the drift.
    """
    places = {name: [i for i, each in enumerate(order) if each == name] for name in "AB"}
    mean_a, mean_b = (sum(found) / len(found) for found in places.values())
    return (mean_b - mean_a) * drift


def mean_s(load: float, service_s: float) -> float:
    """Return the mean latency of an open loop with exponential service, seconds: E[S] / (1 - ρ)."""
    served = Service(service_s, 1, "exponential")
    return pollaczek_khinchine_s(load / service_s, served) + service_s


def _stages() -> tuple[float, float, float]:
    step = amdahl(SHARES[0], FACTOR)
    request = amdahl(SHARES[1], step)
    return step, request, amdahl(SHARES[2], request)


def _prefill_ms(hits: float) -> float:
    left = PROMPT_TOKENS - hits * cached_tokens(PROMPT_TOKENS)
    return left * _LLAMA.prefill_ms_per_token


NUMBERS: Mapping[str, float] = MappingProxyType(
    {
        "step_gain": amdahl(0.25, 4.0),
        "step_gain_ceiling": amdahl(0.25, 1e12),
        "step_gain_averaged": 0.75 * 1.0 + 0.25 * 4.0,
    }
)
"""Answers of checks, by name."""


def _loops() -> dict[str, str]:
    tool_rps = closed_loop_rps(clients=CLIENTS, think_s=0.0, service_s=SERVICE_S)
    paused_rps = closed_loop_rps(clients=CLIENTS, think_s=_PAUSE_S, service_s=SERVICE_S)
    return {
        "loop_clients": f"{CLIENTS}",
        "loop_capacity": f"{1 / SERVICE_S:.0f}",
        "loop_tool_rps": f"{tool_rps:.0f}",
        "loop_tool_ms": f"{1e3 * CLIENTS / tool_rps:.0f}",
        "loop_fast_ms": f"{1e3 * CLIENTS * SERVICE_S / 2:.0f}",
        "loop_fast_rps": f"{2 / SERVICE_S:.0f}",
        "loop_gentle_rps": f"{_GENTLE_RPS:.0f}",
        "loop_gentle_ms": f"{1e3 * mean_s(_GENTLE_RPS * SERVICE_S, SERVICE_S):.0f}",
        "loop_many": f"{_MANY}",
        "loop_many_s": f"{_MANY * SERVICE_S:.1f}",
        "loop_pause_s": f"{_PAUSE_S:.0f}",
        "loop_paused_rps": f"{paused_rps:.1f}",
        "loop_paused_busy": f"{100 * paused_rps * SERVICE_S:.0f}",
        "loop_paused_ms": f"{1e3 * (CLIENTS / paused_rps - _PAUSE_S):.0f}",
    }


def _warm() -> dict[str, str]:
    hits = loop_hits(_FILE, _REQUESTS, _FIT) / _REQUESTS
    return {
        "warm_file": f"{_FILE}",
        "warm_requests": f"{_REQUESTS:,}",
        "warm_prompt": f"{PROMPT_TOKENS:,}",
        "warm_cached": f"{cached_tokens(PROMPT_TOKENS):,}",
        "warm_token_ms": f"{_LLAMA.prefill_ms_per_token}",
        "warm_pool": f"{_POOL_TOKENS:,}",
        "warm_hits": f"{hits:.0%}".replace("%", " %"),
        "warm_real_hits": f"{_REAL_HITS:.0%}".replace("%", " %"),
        "warm_miss_ms": f"{_prefill_ms(0):.0f}",
        "warm_hit_ms": f"{_prefill_ms(1):.1f}",
        "warm_bench_ms": f"{_prefill_ms(hits):.0f}",
        "warm_real_ms": f"{_prefill_ms(_REAL_HITS):.0f}",
        "warm_times": f"{_prefill_ms(_REAL_HITS) / _prefill_ms(hits):.1f}",
        "warm_fit": f"{_FIT}",
        "warm_over": f"{_FIT + 1}",
        "warm_fit_hits": f"{loop_hits(_FIT, _REQUESTS, _FIT) / _REQUESTS:.0%}".replace("%", " %"),
        "warm_over_hits": f"{loop_hits(_FIT + 1, _REQUESTS, _FIT)}",
    }


def _stalls() -> dict[str, str]:
    small = round(_SMALL_STALL_S / _SMALL_INTERVAL_S)
    requests = round(TEST_S / _SMALL_INTERVAL_S)
    return {
        "stall_test_s": f"{TEST_S}",
        "stall_s": f"{STALL['stall_s']:.0f}",
        "stall_interval_ms": f"{STALL['interval_ms']}",
        "stall_service_ms": f"{STALL['service_ms']}",
        "stall_small_s": f"{_SMALL_STALL_S:.0f}",
        "stall_small_interval_s": f"{_SMALL_INTERVAL_S}",
        "stall_small_late": f"{small}",
        "stall_small_requests": f"{requests}",
        "stall_small_share": f"{100 * small / requests:.1f}",
        "stall_small_one": f"{100 / requests:.1f}",
        "stall_least_s": f"{TEST_S / 100:.1f}",
    }


def _percentiles() -> dict[str, str]:
    healthy, slow = (
        _MEDIAN_MS * each for each in (_FLEET.healthy_quantile(0.99), _FLEET.slow_quantile(0.99))
    )
    mean = (slow + (_FLEET.replicas - 1) * healthy) / _FLEET.replicas
    true = _MEDIAN_MS * _FLEET.quantile(0.99)
    return {
        "met_percent": f"{100 * SLOW_GAPS['rate']:.1f}",
        "met_one_in": f"{1 / SLOW_GAPS['rate']:.0f}",
        "met_tokens": f"{SLOW_GAPS['tokens']}",
        "mean_replicas": f"{_FLEET.replicas}",
        "mean_factor": f"{_FLEET.slow_factor}",
        "mean_healthy_ms": f"{healthy:,.0f}",
        "mean_slow_ms": f"{slow:,.0f}",
        "mean_mean_ms": f"{mean:,.0f}",
        "mean_true_ms": f"{true:,.0f}",
        "mean_low": f"{1 - mean / true:.0%}".replace("%", " %"),
    }


def _same() -> dict[str, str]:
    found = {
        "aa_cv": f"{100 * RUN_CV:.1f}",
        "aa_seen": f"{100 * _SEEN:.1f}",
        "aa_small": f"{100 * _SMALL:.0f}",
        "aa_needed": f"{runs_needed_by_t(_SEEN, RUN_CV)}",
        "aa_needed_small": f"{runs_needed_by_t(_SMALL, RUN_CV)}",
        "aa_needed_quiet": f"{runs_needed_by_t(_SMALL, RUN_CV / 2)}",
    }
    for runs in (1, 4, 16):
        found[f"aa_spread_{runs}"] = f"{100 * RUN_CV * (2 / runs) ** 0.5:.1f}"
        found[f"aa_false_{runs}"] = f"{100 * false_alarms(_SEEN, RUN_CV, runs):.2g}"
    for name, order in (("blocks", "AAAABBBB"), ("turns", "ABABABAB"), ("mirrored", "ABBAABBA")):
        found[f"aa_drift_{name}"] = f"{drift_bias(order, 1.0):.0f}"
    return found


def _arrives() -> dict[str, str]:
    step, request, fleet = _stages()
    touched = SHARES[0] * SHARES[1] * SHARES[2]
    before, after = mean_s(_BUSY, 1.0), mean_s(_BUSY / fleet, 1.0 / fleet)
    found = {
        "arrive_factor": f"{FACTOR:.0f}",
        "arrive_step": f"{step:.3f}",
        "arrive_request": f"{request:.3f}",
        "arrive_fleet": f"{fleet:.3f}",
        "arrive_gain": f"{100 * (fleet - 1):.1f}",
        "arrive_touched": f"{100 * touched:.1f}",
        "arrive_ceiling": f"{100 * (1 / (1 - touched) - 1):.1f}",
        "arrive_busy": f"{_BUSY:.2f}",
        "arrive_busy_after": f"{_BUSY / fleet:.2f}",
        "arrive_wait_before": f"{before:.0f}",
        "arrive_wait_after": f"{after:.1f}",
        "arrive_wait_gain": f"{100 * (1 - after / before):.0f}",
    }
    for name, share in zip(("kernel", "step", "traffic"), SHARES, strict=True):
        found[f"arrive_share_{name}"] = f"{share:.2f}"
        found[f"arrive_percent_{name}"] = f"{100 * share:.0f}"
    return found


SHOWN: Mapping[str, str] = MappingProxyType(
    {**_loops(), **_warm(), **_stalls(), **_percentiles(), **_same(), **_arrives()}
)
"""What ``{{ name }}`` stands for."""

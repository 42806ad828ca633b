"""What a step costs on each rank, and so on the group: it ends with the slowest rank.

Clock. Below the highest SM clock, work that computes takes longer by the ratio of the clocks: prefill, the
work for each sequence, and the launch part of every step. Reading weights and KV is bound by HBM, whose clock does
not throttle: it stays as it is down to ``FULL_READ_SHARE`` of the highest clock, below which the SMs ask for too
little to keep HBM busy, and it slows with them. The collectives inside the profile's terms do not scale.

Time slices. A GPU that runs the kernels of n other processes gives each of the n + 1 an equal share of its
time, so all of the rank's step, its part in the collectives included, takes n + 1 times as long.
Source: NVIDIA k8s-device-plugin, README, "Shared Access to GPUs".

NUMA. A process on the far socket launches more slowly: ``NUMA_FACTOR`` on the base of a step.

If several ranks are ill in different ways, each term of the group's cost is the slowest rank's: an upper bound, exact
where one rank is the slowest in every term.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

from labs.simulator.cost_model import CostModel, Knots

FULL_READ_SHARE = 0.5
"""Model assumption: at half the highest clock the SMs still ask for all that HBM gives."""
NUMA_FACTOR = 1.015
"""Scenario constant within the published 1 to 2 %: 1Cat-vLLM issue 678, TP4, decode 1.9 % faster when bound."""


@dataclass(slots=True, frozen=True)
class GpuState:
    """What one GPU is like at a moment."""

    sm_clock_mhz: int
    reason: str = ""
    """Why the clock is below its highest: ``sw_thermal_slowdown``, ``hw_thermal_slowdown``, ``sw_power_cap``, ``hw_power_brake_slowdown``; or empty."""
    power_limit_w: int = 0
    """A limit below the box's own, in watts; 0: none."""
    busy_tenants: int = 0
    """Processes of others that run kernels on it now."""
    far_cpu: bool = False
    """The rank's process runs on another NUMA node than its GPU."""

    @property
    def time_share(self) -> float:
        """The share of its time that the rank gets, 0 to 1."""
        return 1 / (1 + self.busy_tenants)


def comm_slope_ps(included: Knots) -> int:
    """Return how much each further token adds to the collectives that a profile's terms hold, picoseconds."""
    if len(included) < 2:  # noqa: PLR2004  (a slope needs two points)
        return 0
    (x0, y0), (x1, y1) = included[0], included[-1]
    return (y1 - y0) // (x1 - x0)


def rank_cost(healthy: CostModel, state: GpuState, *, max_sm_clock_mhz: int) -> CostModel:
    """Return what a step costs on a rank in ``state``, if it had to wait for no other.

    ``healthy`` is the cost at the highest clock with the group's collectives set. It comes back itself if nothing ails the rank.
    """
    cost = healthy
    if state.sm_clock_mhz < max_sm_clock_mhz:
        ratio = max_sm_clock_mhz / state.sm_clock_mhz
        read = max(1.0, ratio * FULL_READ_SHARE)
        included = healthy.collectives_included
        comm_base = included[0][1] if included else 0
        slope = comm_slope_ps(included)
        weights = round(cost.weight_read_ps * read)
        launch = max(0, cost.base_ps - cost.weight_read_ps - comm_base)
        rest = cost.base_ps - cost.weight_read_ps - launch
        cost = replace(
            cost,
            base_ps=weights + round(launch * ratio) + rest,
            weight_read_ps=weights,
            per_kv_token_ps=round(cost.per_kv_token_ps * read),
            per_prefill_token_ps=_beyond(cost.per_prefill_token_ps, slope, ratio),
            per_sequence_ps=_beyond(cost.per_sequence_ps, slope, ratio),
        )
    if state.far_cpu:
        cost = replace(cost, base_ps=round(cost.base_ps * NUMA_FACTOR))
    return cost.scaled(1.0 + state.busy_tenants)


def _beyond(took_ps: int, kept_ps: int, ratio: float) -> int:
    """Return ``took_ps`` with all but ``kept_ps`` of it stretched."""
    kept_ps = min(kept_ps, took_ps)
    return kept_ps + round((took_ps - kept_ps) * ratio)


def slowest(costs: list[CostModel]) -> CostModel:
    """Return the cost of a group from those of its ranks, at least one: term by term the largest."""
    return reduce(_slower, costs)


def _slower(a: CostModel, b: CostModel) -> CostModel:
    if a == b:
        return a
    return CostModel(
        base_ps=max(a.base_ps, b.base_ps),
        weight_read_ps=max(a.weight_read_ps, b.weight_read_ps),
        per_kv_token_ps=max(a.per_kv_token_ps, b.per_kv_token_ps),
        per_prefill_token_ps=max(a.per_prefill_token_ps, b.per_prefill_token_ps),
        per_sequence_ps=max(a.per_sequence_ps, b.per_sequence_ps),
        per_token_ps=max(a.per_token_ps, b.per_token_ps),
        collectives=max(a.collectives, b.collectives, key=_at_most),
        collectives_included=max(a.collectives_included, b.collectives_included, key=_at_most),
    )


def _at_most(knots: Knots) -> int:
    return knots[-1][1] if knots else 0

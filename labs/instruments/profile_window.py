"""A window of an engine's steps, one by one, as they would come: what profiles and iteration logs are made of."""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING

from labs.instruments.logs import iteration_lines
from labs.instruments.profile_trace import PROFILERS, Rank, table, trace
from labs.simulator.hardware.ranks import rank_cost

if TYPE_CHECKING:
    from labs.instruments.signals import View
    from labs.simulator.cluster import Cluster
    from labs.simulator.cost_model import CostModel
    from labs.simulator.telemetry import StepRecord

MAX_WINDOW_S = 60.0


def steps_ahead(
    view: View, seconds: float, *, replica: int = 0, slowdown: float = 1.0
) -> tuple[list[StepRecord], tuple[Rank, ...]]:
    """Return the steps of the next ``seconds`` on a replica, and its ranks, while something slows it by ``slowdown``.

    A copy of the world runs ahead, the world itself stands. Steps that were under way are not among
    them. Raises ValueError for a window that is not between 0 and a minute.
    """
    if not 0 < seconds <= MAX_WINDOW_S:
        raise ValueError(f"a profile takes up to {MAX_WINDOW_S:.0f} s, not {seconds:g}")
    cluster: Cluster = pickle.loads(pickle.dumps(view.cluster))  # noqa: S301  (our own bytes)
    engine = cluster.engines[replica]
    factor = engine.slowdown * slowdown
    engine.slowdown = factor
    records: list[StepRecord] = []
    engine.on_step = records.append
    cluster.advance(view.now_s + seconds)
    costs = _rank_costs(cluster, replica) or (engine.cost,)
    return records, tuple(Rank(i, cost.scaled(factor)) for i, cost in enumerate(costs))


def _rank_costs(cluster: Cluster, replica: int) -> tuple[CostModel, ...]:
    hardware = cluster.hardware
    placement = None if hardware is None else hardware.placement[replica]
    if hardware is None or placement is None:
        return ()
    healthy = hardware.rank_base(replica)
    if healthy is None:
        return ()
    clock_mhz = hardware.nodes[placement.node].max_sm_clock_mhz
    return tuple(
        rank_cost(healthy, hardware.state_of(place), max_sm_clock_mhz=clock_mhz)
        for place in placement.places
    )


def profile_table(view: View, seconds: float, *, profiler: str = "nsys", replica: int = 0) -> str:
    """Return a profile by class of kernel, as a table. Raises ValueError for a profiler that is not there."""
    chosen = PROFILERS[_known(profiler)]
    records, ranks = steps_ahead(view, seconds, replica=replica, slowdown=chosen.slowdown)
    return table(records, ranks, chosen)


def profile_json(view: View, seconds: float, *, profiler: str = "torch", replica: int = 0) -> str:
    """Return a profile as JSON of Chrome's trace events. Raises ValueError for a profiler that sees no kernels."""
    chosen = PROFILERS[_known(profiler)]
    records, ranks = steps_ahead(view, seconds, replica=replica, slowdown=chosen.slowdown)
    return json.dumps(trace(records, ranks, chosen), separators=(",", ":"))


def iteration_log(view: View, seconds: float, *, replica: int = 0) -> str:
    """Return what ``--enable-logging-iteration-details`` adds to the log in the next ``seconds``."""
    records, _ = steps_ahead(view, seconds, replica=replica)
    return "\n".join(iteration_lines(records))


def _known(profiler: str) -> str:
    if profiler not in PROFILERS:
        raise ValueError(f"no profiler {profiler!r}; there are {', '.join(PROFILERS)}")
    return profiler

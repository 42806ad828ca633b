"""How the replicas of a lab are stopped and replaced, and what goes wrong with that."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labs.simulator.lifetime import StartUp
from labs.simulator.turnover import Turn, Turnover

if TYPE_CHECKING:
    from labs.simulator.cluster import Cluster
    from labs.specs import LabSpec
    from labs.specs.front import FrontWorld, TurnoverSpec
    from labs.worlds.draws import Draws


def turnover_of(said: TurnoverSpec, draws: Draws) -> Turnover:
    """Return how replicas are stopped and replaced."""
    each = said.start_up
    start_up = StartUp(
        process_s=each.process_s,
        weights_s=each.weights_s,
        profile_s=each.profile_s,
        warm_up_s=round(draws.uniform("warm_up", each.warm_up_s)),
    )
    return Turnover(
        start_up,
        removal_s=float(said.removal_s),
        pre_stop_s=float(said.pre_stop_s),
        shutdown_timeout_s=float(said.shutdown_timeout_s),
    )


def begin(spec: LabSpec, cluster: Cluster, said: TurnoverSpec, draws: Draws) -> None:
    """Replace the replicas of a world in turn, from a time and a replica that the seed draws."""
    cluster.front.turnover = turnover_of(said, draws)
    every_s = float(said.every_s)
    phase = (0.0, every_s) if said.first_s is None else said.first_s
    first_s = spec.timeline.starts_at_s + draws.uniform("turnover_phase", phase)
    first = draws.choice("turnover_first", range(spec.fleet.replicas))
    cluster.schedule(round(first_s), Turn(every_s, spec.fleet.replicas, first))


def worse(spec: LabSpec, ails: FrontWorld, draws: Draws) -> Turnover | None:
    """Return how replicas are stopped once a world has gone wrong; None if nothing of it has.

    Raises ValueError for a lab whose replicas are not replaced.
    """
    if ails.shutdown_timeout_s is None and ails.removal_s is None:
        return None
    said = None if spec.fleet.front is None else spec.fleet.front.turnover
    if said is None:
        raise ValueError(f"{spec.slug}: a stop that goes wrong needs fleet.front.turnover")
    turnover = turnover_of(said, draws)
    if ails.shutdown_timeout_s is not None:
        turnover = replace(turnover, shutdown_timeout_s=float(ails.shutdown_timeout_s))
    if ails.removal_s is not None:
        late_s = round(draws.uniform("removal", ails.removal_s))
        turnover = replace(turnover, removal_s=float(late_s))
    return turnover

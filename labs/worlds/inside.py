"""What is special within a lab's engines, and what goes wrong there."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labs.simulator.cluster import Cluster
    from labs.simulator.faults import Fault
    from labs.specs import LabSpec
    from labs.specs.engine import EngineWorld
    from labs.worlds.draws import Draws
    from labs.worlds.fleet import Fleet


def fleet(spec: LabSpec, common: Fleet, draws: Draws) -> Fleet:
    """Return the fleet with what is special about this lab's engines."""
    del spec, draws
    return common


def prepare(spec: LabSpec, cluster: Cluster, fleet: Fleet, draws: Draws) -> None:
    """Set up what the lab has of it, before the world begins; in every world of a seed the same."""
    del spec, cluster, fleet, draws


def faults(spec: LabSpec, ails: EngineWorld, draws: Draws) -> list[Fault]:
    """Return what happens when the fault begins."""
    del spec, ails, draws
    return []

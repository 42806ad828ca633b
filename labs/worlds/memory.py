"""The memory of a lab's ranks, and what goes wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labs.simulator.cluster import Cluster
    from labs.simulator.faults import Fault
    from labs.specs import LabSpec
    from labs.specs.memory import MemoryWorld
    from labs.worlds.draws import Draws
    from labs.worlds.fleet import Fleet


def prepare(spec: LabSpec, cluster: Cluster, fleet: Fleet, draws: Draws) -> None:
    """Set up what the lab has of it, before the world begins; in every world of a seed the same."""
    del spec, cluster, fleet, draws


def faults(spec: LabSpec, ails: MemoryWorld, draws: Draws) -> list[Fault]:
    """Return what happens when the fault begins."""
    del spec, ails, draws
    return []

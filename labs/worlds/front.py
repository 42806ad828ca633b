"""What stands in front of a lab's engines, their lifetime, and what goes wrong there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.worlds.traffic import chat

if TYPE_CHECKING:
    from labs.simulator.cluster import Cluster
    from labs.simulator.faults import Fault
    from labs.simulator.workload import RequestClass
    from labs.specs import LabSpec
    from labs.specs.front import FrontWorld
    from labs.worlds.draws import Draws
    from labs.worlds.fleet import Fleet


def classes(spec: LabSpec, draws: Draws) -> tuple[RequestClass, ...]:
    """Return the kinds of requests before the fault; the first is that of ordinary users."""
    return (chat(spec, draws),)


def prepare(spec: LabSpec, cluster: Cluster, fleet: Fleet, draws: Draws) -> None:
    """Set up what the lab has of it, before the world begins; in every world of a seed the same."""
    del spec, cluster, fleet, draws


def faults(spec: LabSpec, ails: FrontWorld, draws: Draws) -> list[Fault]:
    """Return what happens when the fault begins."""
    del spec, ails, draws
    return []

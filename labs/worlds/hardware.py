"""The hardware of a lab's world, and what ails it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.simulator.hardware.boxes import box as box_named
from labs.simulator.hardware.faults import (
    EnvironmentChange,
    LinkDown,
    Misplacement,
    Neighbour,
    Throttle,
)
from labs.simulator.hardware.placement import Environment, Placement, Tenant
from labs.simulator.hardware.state import Hardware

if TYPE_CHECKING:
    from labs.simulator.faults import Fault
    from labs.specs import LabSpec
    from labs.specs.hardware import HardwareFleet, HardwareWorld
    from labs.worlds.draws import Draws
    from labs.worlds.fleet import Fleet


def node_name(index: int) -> str:
    return f"node-{'abcdefgh'[index]}"


def hardware_of(spec: LabSpec, fleet: Fleet) -> Hardware | None:
    """Return the lab's healthy hardware, or None if it shows none."""
    said = spec.fleet.hardware
    if said is None:
        return None
    return Hardware(
        fleet.profile,
        {node_name(index): box_named(said.box) for index in range(said.nodes)},
        [_placement(said, replica) for replica in range(spec.fleet.replicas)],
        start_s=float(spec.timeline.starts_at_s),
    )


def _placement(said: HardwareFleet, replica: int) -> Placement:
    node, gpus = said.placement[replica]
    return Placement(node_name(node), gpus)


def sick_replica(spec: LabSpec, draws: Draws) -> int:
    """Return the replica that ails in the worlds of a seed, whatever ails it."""
    return draws.choice("sick_replica", range(spec.fleet.replicas))


def sick_rank(spec: LabSpec, draws: Draws) -> int:
    """Return which of the sick replica's ranks ails, where only one does."""
    said = spec.fleet.hardware
    if said is None:
        raise ValueError(f"{spec.slug}: fleet.hardware is missing")
    return draws.choice("sick_rank", range(len(said.placement[sick_replica(spec, draws)][1])))


def faults(spec: LabSpec, ails: HardwareWorld, draws: Draws) -> list[Fault]:
    """Return what happens to the hardware when the fault begins."""
    said = spec.fleet.hardware
    if said is None:
        raise ValueError(f"{spec.slug}: world.hardware needs fleet.hardware")
    replica, rank = sick_replica(spec, draws), sick_rank(spec, draws)
    place = _placement(said, replica)
    gpu = place.gpus[rank]
    found: list[Fault] = []
    if ails.misplaced_gpus:
        found.append(Misplacement(replica, Placement(place.node, ails.misplaced_gpus)))
    if ails.throttled_mhz is not None:
        # Clocks move in steps of 15 MHz.
        clock_mhz = 15 * round(draws.uniform("throttled_mhz", ails.throttled_mhz) / 15)
        slow = place.gpus if ails.throttled_whole else (gpu,)
        found += [Throttle(place.node, each, clock_mhz, ails.throttle_reason) for each in slow]
    if ails.neighbour is not None:
        guest = ails.neighbour
        tenant = Tenant(
            pid=draws.stream("neighbour_pid").randrange(400_000, 900_000),
            name=guest.name,
            memory_mib=round(draws.uniform("neighbour_mib", guest.memory_mib)),
            node=place.node,
            gpu=gpu,
        )
        busy_s = draws.uniform("neighbour_busy", guest.busy_mean_s)
        idle_s = draws.uniform("neighbour_idle", guest.idle_mean_s)
        found.append(Neighbour(tenant, busy_s, idle_s, str(draws.stream("neighbour").random())))
    if ails.p2p_disabled or ails.custom_all_reduce_disabled or ails.far_numa:
        environment = Environment(
            nccl_p2p_disable="NCCL_P2P_DISABLE=1" if ails.p2p_disabled else "",
            disable_custom_all_reduce=ails.custom_all_reduce_disabled,
            far_ranks=tuple(range(len(place.gpus))) if ails.far_numa else (),
        )
        found.append(EnvironmentChange(replica, environment))
    if ails.links_down:
        found.append(LinkDown(place.node, gpu, ails.links_down))
    return found

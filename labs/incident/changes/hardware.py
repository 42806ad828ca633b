"""Changes of the hardware under the engines: where replicas run, with what environment, air, power and neighbours."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labs.incident.changes.kinds import Kind
from labs.simulator.hardware import repairs
from labs.simulator.hardware.faults import EnvironmentChange, ThrottleEnd
from labs.simulator.hardware.placement import Placement
from labs.simulator.lifetime import Drain, Undrain
from labs.simulator.router import LeastLoaded, Policy, RoundRobin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labs.incident.state import Incident, Operation
    from labs.simulator.hardware.state import Hardware

AIR_S = 240.0
"""From more air to a GPU that has cooled down. Scenario constant."""
_HOT = ("sw_thermal_slowdown", "hw_thermal_slowdown")


def _hardware(incident: Incident) -> Hardware:
    return repairs.hardware_of(incident.world.cluster)


def _target(incident: Incident, operation: Operation) -> tuple[int, Placement]:
    """Return the replica and the place that are meant. Raises ValueError for one that cannot be."""
    replica, hardware = int(operation["replica"]), _hardware(incident)
    now = hardware.placement[replica] if replica < len(hardware.placement) else None
    if now is None:
        raise ValueError(f"there is no replica {replica} whose GPUs could be chosen")
    gpus = tuple(int(gpu) for gpu in operation["gpus"].split(","))
    return replica, Placement(operation["node"] or now.node, gpus)


def _cannot_place(incident: Incident, operation: Operation) -> str:
    try:
        replica, place = _target(incident, operation)
        _hardware(incident).check(place, leaving=(replica,))
    except ValueError as exc:
        return f"place: {exc}."
    return ""


def _place(incident: Incident, operation: Operation) -> None:
    replica, place = _target(incident, operation)
    repairs.move(incident.world.cluster, {replica: place}, float(incident.spec.fleet.restart_s))


def _cool(incident: Incident, operation: Operation) -> None:
    del operation
    cluster, hardware = incident.world.cluster, _hardware(incident)
    for node, gpu in hardware.places:
        if hardware.state_of((node, gpu)).reason in _HOT:
            cluster.schedule(cluster.now_s + AIR_S, ThrottleEnd(node, gpu))


def _unset_env(incident: Incident, operation: Operation) -> None:
    """Roll the replicas one after another, each as long as a restart."""
    cluster, hardware = incident.world.cluster, _hardware(incident)
    down_s = float(incident.spec.fleet.restart_s)
    placed = [i for i, place in enumerate(hardware.placement) if place is not None]
    for turn, replica in enumerate(placed):
        environment = hardware.environment[replica]
        if environment.nccl_p2p_disable.partition("=")[0] == operation["name"]:
            environment = replace(environment, nccl_p2p_disable="")
        at_s = cluster.now_s + turn * down_s
        cluster.schedule(at_s, EnvironmentChange(replica, environment, down_s))


def _bind_numa(incident: Incident, operation: Operation) -> None:
    """Roll the replicas one after another, each worker bound to the CPUs that are near its GPU."""
    del operation
    cluster, hardware = incident.world.cluster, _hardware(incident)
    down_s = float(incident.spec.fleet.restart_s)
    placed = [i for i, place in enumerate(hardware.placement) if place is not None]
    for turn, replica in enumerate(placed):
        environment = replace(hardware.environment[replica], far_ranks=())
        cluster.schedule(
            cluster.now_s + turn * down_s, EnvironmentChange(replica, environment, down_s)
        )


def _drain(incident: Incident, operation: Operation) -> None:
    Drain(int(operation["replica"])).strike(incident.world.cluster, incident.world.cluster.now_s)


def _undrain(incident: Incident, operation: Operation, left: Sequence[Operation]) -> None:
    if all(each["replica"] != operation["replica"] for each in left):
        cluster = incident.world.cluster
        Undrain(int(operation["replica"])).strike(cluster, cluster.now_s)


def _cannot_drain(incident: Incident, operation: Operation) -> str:
    count, replica = len(incident.world.cluster.engines), int(operation["replica"])
    if replica >= count:
        return f"drain: there is no replica {replica}; there are 0 to {count - 1}."
    if incident.world.cluster.front.drained | {replica} >= set(range(count)):
        return "drain: that would leave nobody to serve."
    return ""


def _route(incident: Incident, operation: Operation) -> None:
    incident.world.cluster.front.set_policy(_POLICIES[operation["policy"]])


def _unroute(incident: Incident, operation: Operation, left: Sequence[Operation]) -> None:
    del operation
    policy = _POLICIES[left[-1]["policy"]] if left else RoundRobin()
    incident.world.cluster.front.set_policy(policy)


_POLICIES: dict[str, Policy] = {"round-robin": RoundRobin(), "least-loaded": LeastLoaded()}


def _power_limit(incident: Incident, operation: Operation) -> None:
    """Set the limit: what it allows at least what a GPU may draw ends a cap."""
    cluster, hardware = incident.world.cluster, _hardware(incident)
    for node, gpu in hardware.places:
        state, box = hardware.state_of((node, gpu)), hardware.nodes[node]
        if state.reason == "sw_power_cap" and int(operation["watts"]) >= box.power_cap_w:
            repairs.cool(cluster, (node, gpu))


def _power_refused(incident: Incident, operation: Operation) -> str:
    most = max(box.power_cap_w for box in _hardware(incident).nodes.values())
    watts = int(operation["watts"])
    if not most / 2 <= watts <= most:
        return f"Provided power limit {watts}.00 W is not a valid power limit which should be between {most / 2:.2f} W and {most:.2f} W"
    return ""


KINDS: dict[str, Kind] = {
    "place": Kind(
        key="place",
        target="placement",
        apply=_place,
        why_not=_cannot_place,
        lasts="a replica that has moved stays there; place it again.",
        describe=lambda operation: (
            f"Replica {operation['replica']} was started on GPUs {operation['gpus']}"
            + (f" of {operation['node']}" if operation["node"] else "")
        ),
    ),
    "cool": Kind(
        key="cool",
        target="air",
        apply=_cool,
        lasts="the fans stay up; nothing is gained by slowing them.",
        describe=lambda operation: "The fans of every node were turned up",
    ),
    "unset-env": Kind(
        key="unset_env",
        target="environment",
        apply=_unset_env,
        lasts="the replicas would have to be rolled again with it.",
        describe=lambda operation: f"The replicas are rolled without {operation['name']}",
    ),
    "power-limit": Kind(
        key="power_limit",
        target="power",
        apply=_power_limit,
        why_not=_power_refused,
        lasts="set it again to another value.",
        describe=lambda operation: f"The power limit of every GPU is {operation['watts']} W",
    ),
    "bind-numa": Kind(
        key="bind_numa",
        target="affinity",
        apply=_bind_numa,
        lasts="the replicas would have to be rolled again to bind them elsewhere.",
        describe=lambda operation: "The replicas are rolled with --numa-bind",
    ),
    "drain": Kind(
        key="drain",
        target="rotation",
        apply=_drain,
        undo=_undrain,
        why_not=_cannot_drain,
        describe=lambda operation: f"The router sends nothing to replica {operation['replica']}",
    ),
    "route": Kind(
        key="route",
        target="policy",
        apply=_route,
        undo=_unroute,
        describe=lambda operation: f"The router picks {operation['policy']}",
    ),
}

"""What people do about hardware: move a replica, cool a GPU, evict a neighbour, set an environment, mend a link.

A replica that has to start again is down for ``down_s`` seconds. All raise ValueError for what cannot be done.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labs.simulator.hardware.placement import Environment, Placement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labs.simulator.cluster import Cluster
    from labs.simulator.hardware.placement import Place
    from labs.simulator.hardware.state import Hardware


def hardware_of(cluster: Cluster) -> Hardware:
    """Return the cluster's hardware. Raises ValueError if it has none."""
    if cluster.hardware is None:
        raise ValueError("this cluster has no hardware that could be looked at")
    return cluster.hardware


def restart(cluster: Cluster, replica: int, down_s: float) -> None:
    """Start a replica again, with what is planned for it; with ``down_s`` 0 only its cost changes."""
    engine, hardware = cluster.engines[replica], hardware_of(cluster)
    base = hardware.base_cost(replica) or engine.cost
    if down_s:
        cluster.restart_engine(replica, engine.config, base, down_s)
    else:
        engine.set_cost(hardware.restarted(replica, base, engine.cost, cluster.now_s))


def move(cluster: Cluster, moves: Mapping[int, Placement], down_s: float) -> None:
    """Move replicas to other GPUs; two may change places. They start again there."""
    hardware = hardware_of(cluster)
    chosen = [place for placement in moves.values() for place in placement.places]
    if len(set(chosen)) != len(chosen):
        raise ValueError("two replicas cannot have the same GPU")
    for placement in moves.values():
        hardware.check(placement, leaving=tuple(moves))
    for replica, placement in moves.items():
        hardware.plan(replica, placement, leaving=tuple(moves))
    for replica in moves:
        restart(cluster, replica, down_s)


def replace_gpu(cluster: Cluster, replica: int, old: Place, new: Place, down_s: float) -> None:
    """Drain a replica's GPU ``old`` to ``new``, on the same node; the replica starts again."""
    placement = hardware_of(cluster).placement[replica]
    if placement is None or old not in placement.places or old[0] != new[0]:
        raise ValueError(f"replica {replica} does not run on GPU {old[1]} of {old[0]}")
    gpus = tuple(new[1] if gpu == old[1] else gpu for gpu in placement.gpus)
    move(cluster, {replica: Placement(placement.node, gpus)}, down_s)


def cool(cluster: Cluster, place: Place) -> None:
    """Give a GPU its highest clock again: air, or power."""
    hardware = hardware_of(cluster)
    highest = hardware.nodes[place[0]].max_sm_clock_mhz
    hardware.change(place, cluster.now_s, sm_clock_mhz=highest, reason="", power_limit_w=0)
    hardware.refresh(cluster, place)


def evict(cluster: Cluster, pid: int) -> None:
    """End another's process and free its memory."""
    hardware = hardware_of(cluster)
    tenant = next((tenant for tenant in hardware.tenants if tenant.pid == pid), None)
    if tenant is None:
        raise ValueError(f"no process {pid} of another on these GPUs")
    place = (tenant.node, tenant.gpu)
    hardware.tenants.remove(tenant)
    hardware.set_busy(tenant, cluster.now_s, busy=False)
    hardware.refresh(cluster, place)


def set_environment(
    cluster: Cluster, replica: int, environment: Environment, down_s: float
) -> None:
    """Start a replica again with another environment."""
    hardware_of(cluster).plan(replica, environment=environment)
    restart(cluster, replica, down_s)


def bind_to_near_cpus(cluster: Cluster, replica: int, down_s: float) -> None:
    """Start a replica again with each process on its GPU's own NUMA node."""
    environment = replace(hardware_of(cluster).environment[replica], far_ranks=())
    set_environment(cluster, replica, environment, down_s)


def mend_links(cluster: Cluster, node: str) -> None:
    """Bring all NVLinks of a node up again."""
    hardware = hardware_of(cluster)
    hardware.links_down[node].clear()
    for replica, placement in enumerate(hardware.placement):
        if placement is not None and placement.node == node:
            restart(cluster, replica, 0.0)

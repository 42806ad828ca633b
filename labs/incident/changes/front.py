"""What stands in front of the engines: shedding, the gateway's limits, the router, another replica."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.incident.changes.gateway import GATEWAY_KINDS
from labs.incident.changes.kinds import Kind
from labs.simulator.router import RouterDelay

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labs.incident.state import Incident, Operation


def _shed(incident: Incident, operation: Operation) -> None:
    incident.world.cluster.shed(int(operation["percent"]) / 100)


def _unshed(incident: Incident, operation: Operation, left: Sequence[Operation]) -> None:
    del operation
    incident.world.cluster.shed(int(left[-1]["percent"]) / 100 if left else 0.0)


def _limit(incident: Incident, operation: Operation) -> None:
    incident.world.cluster.limit_max_tokens(int(operation["tokens"]))


def _unlimit(incident: Incident, operation: Operation, left: Sequence[Operation]) -> None:
    del operation
    incident.world.cluster.limit_max_tokens(int(left[-1]["tokens"]) if left else None)


def _add_replica(incident: Incident, operation: Operation) -> None:
    del operation
    fleet, cluster = incident.fleet, incident.world.cluster
    ready_s = cluster.now_s + incident.spec.fleet.replica_ready_after_s
    cluster.add_replica(ready_s, fleet.config, fleet.profile.cost_model(fp8_kv=fleet.fp8_kv))


def _no_second_standby(incident: Incident, operation: Operation) -> str:
    del operation
    if len(incident.world.cluster.engines) > incident.spec.fleet.replicas:
        return "add-replica: there is one standby box, and it is in use."
    return ""


def _restart_router(incident: Incident, operation: Operation) -> None:
    del operation
    fleet = incident.spec.fleet
    incident.world.cluster.set_router_delay(RouterDelay(fleet.router_median_s, fleet.router_p95_s))


KINDS = {
    **GATEWAY_KINDS,
    "shed": Kind(
        key="shed",
        target="router",
        apply=_shed,
        undo=_unshed,
        describe=lambda operation: (
            f"The router answers 429 to {operation['percent']} % of requests"
        ),
    ),
    "limit-max-tokens": Kind(
        key="shorter",
        target="gateway",
        apply=_limit,
        undo=_unlimit,
        describe=lambda operation: f"The gateway caps max_tokens at {operation['tokens']}",
    ),
    "add-replica": Kind(
        key="replica",
        target="fleet",
        apply=_add_replica,
        lasts="the replica serves people by now; this lab does not take it away again.",
        why_not=_no_second_standby,
        describe=lambda operation: (
            "The standby replica loads its weights; it serves in five minutes"
        ),
    ),
    "restart-router": Kind(
        key="router",
        target="router",
        apply=_restart_router,
        lasts="a restart with the same settings leaves nothing to take back.",
        describe=lambda operation: "The router was restarted",
    ),
}

"""Changes of the gateway: its checks, and what it makes of an engine's refusal."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labs.incident.changes.kinds import Kind
from labs.simulator.lifetime import AbortsMended

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labs.incident.state import Incident, Operation


def _check(incident: Incident, operation: Operation) -> None:
    front = incident.world.cluster.front
    checks = tuple(dict.fromkeys((*front.gateway.checks, operation["check"])))
    front.gateway = replace(front.gateway, checks=checks)


def _uncheck(incident: Incident, operation: Operation, left: Sequence[Operation]) -> None:
    front = incident.world.cluster.front
    if any(each["check"] == operation["check"] for each in left):
        return
    checks = tuple(each for each in front.gateway.checks if each != operation["check"])
    front.gateway = replace(front.gateway, checks=checks)


def _has_it(incident: Incident, operation: Operation) -> str:
    if operation["check"] in incident.world.cluster.front.gateway.checks:
        return f"gateway-check: {operation['check']} is on already."
    return ""


def _pass_refusals(incident: Incident, operation: Operation) -> None:
    del operation
    front = incident.world.cluster.front
    front.gateway = replace(front.gateway, wraps_refusals=False)


def _close_upstream(incident: Incident, operation: Operation) -> None:
    del operation
    cluster = incident.world.cluster
    for replica in range(len(cluster.engines)):
        AbortsMended(replica).strike(cluster, cluster.now_s)


def _retries(incident: Incident, operation: Operation) -> None:
    front = incident.world.cluster.front
    if front.clients is not None:
        front.set_clients(replace(front.clients, retries=int(operation["retries"])))


def _retries_back(incident: Incident, operation: Operation, left: Sequence[Operation]) -> None:
    del operation
    said = incident.spec.fleet.front
    if left:
        _retries(incident, left[-1])
    elif said is not None and said.clients is not None:
        _retries(incident, {"verb": "client-retries", "retries": str(said.clients.retries)})


def _no_clients(incident: Incident, operation: Operation) -> str:
    del operation
    if incident.world.cluster.front.clients is None:
        return "client-retries: the clients here do not send again."
    return ""


def _ready_after_warm_up(incident: Incident, operation: Operation) -> None:
    del operation
    front = incident.world.cluster.front
    if front.rollout is not None:
        start_up = replace(front.rollout.start_up, readiness="after_warm_up")
        front.rollout = replace(front.rollout, start_up=start_up)


def _workers(incident: Incident, operation: Operation) -> None:
    cluster = incident.world.cluster
    cluster.front.limit_users(int(operation["workers"]), cluster.now_s)


def _workers_back(incident: Incident, operation: Operation, left: Sequence[Operation]) -> None:
    del operation
    cluster = incident.world.cluster
    cluster.front.limit_users(int(left[-1]["workers"]) if left else None, cluster.now_s)


def _no_batch(incident: Incident, operation: Operation) -> str:
    del operation
    if incident.world.cluster.front.closed_loop is None:
        return "batch-workers: no batch job runs here."
    return ""


GATEWAY_KINDS = {
    "batch-workers": Kind(
        key="workers",
        target="batch",
        apply=_workers,
        undo=_workers_back,
        why_not=_no_batch,
        describe=lambda operation: (
            f"The batch job keeps {operation['workers']} requests open at most"
        ),
    ),
    "ready-after-warm-up": Kind(
        key="readiness",
        target="readiness",
        apply=_ready_after_warm_up,
        lasts="nobody wants cold replicas in rotation again.",
        describe=lambda operation: "The readiness probe of replicas waits for their warm-up",
    ),
    "client-retries": Kind(
        key="retries",
        target="clients",
        apply=_retries,
        undo=_retries_back,
        why_not=_no_clients,
        describe=lambda operation: (
            f"The clients' library sends again {operation['retries']} times at most"
        ),
    ),
    "close-upstream": Kind(
        key="close",
        target="gateway_streams",
        apply=_close_upstream,
        lasts="nobody wants answers computed that nobody reads.",
        describe=lambda operation: "The gateway closes the engine's connection when a client goes",
    ),
    "gateway-check": Kind(
        key="check",
        target="gateway_checks",
        apply=_check,
        undo=_uncheck,
        why_not=_has_it,
        describe=lambda operation: f"The gateway checks {operation['check']}",
    ),
    "pass-refusals": Kind(
        key="pass",
        target="gateway_errors",
        apply=_pass_refusals,
        lasts="nobody wants the engine's answers hidden again.",
        describe=lambda operation: "The gateway passes the engine's refusals on as they are",
    ),
}

"""Changes of how replicas are stopped and replaced, and of how long clients wait for them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labs.incident.changes.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from labs.incident.state import Incident, Operation

type Change = Callable[[Incident, Operation], None]


def _sets(**values: Callable[[Operation], object]) -> Change:
    """Return a change that sets these values of the turnover from an operation."""

    def apply(incident: Incident, operation: Operation) -> None:
        front = incident.world.cluster.front
        if front.turnover is not None:
            said = {name: read(operation) for name, read in values.items()}
            front.turnover = replace(front.turnover, **said)  # type: ignore[arg-type]

    return apply


def _no_turnover(incident: Incident, operation: Operation) -> str:
    if incident.world.cluster.front.turnover is None:
        return f"{operation['verb']}: nobody replaces replicas here."
    return ""


def _seconds(operation: Operation) -> float:
    return float(operation["seconds"])


def _release(incident: Incident, operation: Operation, left: Sequence[Operation]) -> None:
    del operation
    front = incident.world.cluster.front
    if front.turnover is not None and not left:
        front.turnover = replace(front.turnover, is_held=False)


def _patience(incident: Incident, operation: Operation) -> None:
    front = incident.world.cluster.front
    if front.clients is not None:
        front.set_clients(replace(front.clients, timeout_s=_seconds(operation)))


def _no_clients(incident: Incident, operation: Operation) -> str:
    del operation
    if incident.world.cluster.front.clients is None:
        return "client-timeout: the clients here wait for as long as it takes."
    return ""


KINDS: dict[str, Kind] = {
    "shutdown-timeout": Kind(
        key="finish",
        target="shutdown",
        apply=_sets(shutdown_timeout_s=_seconds),
        lasts="set it again; servers that were told to stop keep what they were given.",
        why_not=_no_turnover,
        describe=lambda operation: (
            f"Servers told to stop from now on get {operation['seconds']} s to finish what runs"
        ),
    ),
    "pre-stop": Kind(
        key="pre_stop",
        target="stop_delay",
        apply=_sets(pre_stop_s=_seconds),
        lasts="set it again; replicas that were picked keep what they were given.",
        why_not=_no_turnover,
        describe=lambda operation: (
            f"Replicas picked from now on are told to stop {operation['seconds']} s later"
        ),
    ),
    "router-refresh": Kind(
        key="refresh",
        target="rotation",
        apply=_sets(removal_s=_seconds),
        lasts="set it again: `router-refresh 60`.",
        why_not=_no_turnover,
        describe=lambda operation: (
            f"The router reads the list of replicas every {operation['seconds']} s"
        ),
    ),
    "hold-replicas": Kind(
        key="hold",
        target="turnover",
        apply=_sets(is_held=lambda operation: True),
        undo=_release,
        why_not=_no_turnover,
        describe=lambda operation: "No replica is replaced for an hour; after that they are again",
    ),
    "client-timeout": Kind(
        key="patience",
        target="clients",
        apply=_patience,
        lasts="set it again; calls that wait keep the time they were sent with.",
        why_not=_no_clients,
        describe=lambda operation: (
            f"The clients' library waits {operation['seconds']} s for a whole answer"
        ),
    ),
}

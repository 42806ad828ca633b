"""Changes of what is special within the engines."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labs.incident.changes import hardware
from labs.incident.changes.kinds import Kind
from labs.simulator.templates import TemplateIs
from labs.worlds import inside
from labs.worlds.draws import Draws

if TYPE_CHECKING:
    from labs.incident.state import Incident, Operation
    from labs.simulator.kernels import Kernels


def _freeze(incident: Incident, operation: Operation) -> None:
    """End the pauses that come by steps: with the heap frozen there is nothing for a collection to walk."""
    del operation
    for engine in incident.world.cluster.engines:
        engine.set_pauses(tuple(rule for rule in engine.pauses if rule.every_s is not None))


def _scrape_every(incident: Incident, operation: Operation) -> None:
    every_s = float(operation["seconds"])
    for engine in incident.world.cluster.engines:
        engine.set_pauses(
            tuple(
                rule if rule.every_s is None else replace(rule, every_s=every_s)
                for rule in engine.pauses
            )
        )


def _rollback(incident: Incident, operation: Operation) -> None:
    del operation
    world, spec = incident.world, incident.spec
    kind = inside.templated(spec, Draws(spec.slug, world.seed))
    now = next(k for k in world.cluster.workload.spec.classes if k.name == kind.name)
    if now.prefix_tokens != kind.prefix_tokens:
        TemplateIs(kind).strike(world.cluster, world.cluster.now_s)


def _choose_again(incident: Incident, kernels: Kernels) -> None:
    """Start every replica anew, with other kernels than before."""
    cluster, fleet = incident.world.cluster, incident.fleet
    cost = fleet.profile.cost_model(fp8_kv=fleet.fp8_kv)
    for replica in range(incident.spec.fleet.replicas):
        cluster.kernels[replica] = kernels
        cluster.restart_engine(replica, fleet.config, cost, float(incident.spec.fleet.restart_s))


def _rollback_image(incident: Incident, operation: Operation) -> None:
    """Bring the image back whose attention backend was the best; the environment stays as it is."""
    del operation
    now = incident.world.cluster.kernels.get(0, inside.BEST)
    _choose_again(incident, now if now.full_graphs else inside.BEST)


def _unset_env(incident: Incident, operation: Operation) -> None:
    """Roll the replicas without a variable: of the FP8 kernel's, or what the hardware's rooms know."""
    now = incident.world.cluster.kernels.get(0)
    if now is None or operation["name"] != inside.FORCED:
        hardware.KINDS["unset-env"].apply(incident, operation)
        return
    _choose_again(incident, inside.BEST if now.linear_unsupported else now)


KINDS: dict[str, Kind] = {
    "freeze-gc": Kind(
        key="freeze_gc",
        target="collector",
        apply=_freeze,
        lasts="a heap once frozen stays so until the next deploy.",
        describe=lambda operation: "The heap of every engine was frozen",
    ),
    "rollback-image": Kind(
        key="image",
        target="image",
        apply=_rollback_image,
        lasts="the newer image was taken back; its author has to bring it again.",
        describe=lambda operation: "The replicas were rolled back to the image before this one",
    ),
    "unset-env": replace(hardware.KINDS["unset-env"], apply=_unset_env),
    "rollback-template": Kind(
        key="template",
        target="template",
        apply=_rollback,
        lasts="the newer template is gone; its author has to bring it again.",
        describe=lambda operation: "Prompts are rendered with the template before this one",
    ),
    "scrape-every": Kind(
        key="scrape",
        target="exporter",
        apply=_scrape_every,
        lasts="set it again to another value.",
        describe=lambda operation: f"Metrics are scraped every {operation['seconds']} s",
    ),
}

"""From a lab, a world and a seed to a live incident: its engines started, its traffic on, its clock the wall's."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from labs import worlds
from labs.incident import Incident, advance, alarm_now, clock, promises
from labs.live import boxes, offering, servers
from labs.live.attached import AttachedReplica
from labs.live.changing import kinds_of
from labs.live.chats import CHAT, chat_body
from labs.live.clusters import LiveCluster
from labs.live.faults.of_worlds import BY_LOAD
from labs.live.iterations import FLAG
from labs.live.launching import launch_of, sharing
from labs.live.machines import faults_of, machine_of
from labs.live.readings import real_of
from labs.live.replicas import Replica
from labs.live.streams import completion
from labs.worlds import inside
from labs.worlds.draws import Draws

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from labs.live.boxes import Box
    from labs.live.launching import Launch
    from labs.live.offering import Played
    from labs.live.streams import Ask
    from labs.simulator.config import EngineConfig
    from labs.simulator.faults import Fault
    from labs.specs import LabSpec
    from labs.worlds import World

__all__ = ["NoIncident", "Replica", "at_now", "begin", "cluster_of", "come_to_page", "waking"]

READY_WITHIN_S = 300.0


class NoIncident(servers.EngineError):
    """The engines run, and the world is not the one that its lab tells of."""


def waking(
    spec: LabSpec,
    seed: int,
    box: Box,
    *,
    folder: Path,
    marks: Mapping[str, str] | None = None,
    ledger: Path | None = None,
    hypothesis: str | None = None,
    ready_within_s: float = READY_WITHIN_S,
) -> Incident:
    """Return the incident of a seed with no engine started yet, standing where its world begins.

    ``spec`` is a lab at the scale of the box; ``folder`` gets the engines' logs; ``marks`` are for the sweep and
    ``ledger`` is what an engine's guard undoes: a box with GPUs needs both. Whoever calls this calls
    ``cluster_of(incident).close()`` at the end, however it went. Raises NotServed for a world that the box cannot play.
    """
    needs = spec.live
    if needs is None:
        raise ValueError(f"{spec.slug} says nothing of real engines")
    name = hypothesis or worlds.hypothesis_of(spec, seed)
    if box.devices:
        if marks is None or ledger is None:
            raise ValueError("what is done to GPUs needs the marks of a lease, and its ledger")
        return _on_gpus(
            offering.play(offering.offer(spec, box), name, seed),
            folder=folder,
            marks=marks,
            ledger=ledger,
            ready_within_s=ready_within_s,
        )
    if box.url:
        offering.play(offering.offer(spec, box), name, seed)

    flags, env = sharing(box, spec.fleet.replicas)

    def launch(replica: int, config: EngineConfig) -> Launch:
        return launch_of(
            box,
            config,
            port=servers.free_port(),
            log_path=folder / f"engine-{replica}.log",
            env={**env, **(marks or {})},
            ledger=ledger,
            flags=[FLAG, *flags, *needs.flags],
        )

    kind = partial(
        LiveCluster,
        launch=launch,
        model=box.served_model_name,
        ready_within_s=ready_within_s,
        ask=_asks(spec, seed),
        made=partial(AttachedReplica, url=boxes.address(box)) if box.url else Replica,
    )
    return _live(spec, worlds.build(spec, name, seed, kind=kind), is_ours=not box.url)


def _on_gpus(
    played: Played,
    *,
    folder: Path,
    marks: Mapping[str, str],
    ledger: Path,
    ready_within_s: float,
) -> Incident:
    """Return the incident of a world whose faults are made on a box: what ``live LAB --on BOX --dry-run`` prints."""
    spec = played.offer.spec
    if spec.fleet.memory is not None:
        raise offering.NotServed("its ranks' memory is followed, and no real engine tells of it")
    machine = machine_of(played, folder=folder, marks=marks, ledger=ledger)
    acts = faults_of(played, machine)

    def kind(
        *args: Any, faults: Sequence[tuple[float, Fault]], hardware: object, **others: Any
    ) -> LiveCluster:
        del hardware  # It is there, and is looked at.
        load = [each for each in faults if type(each[1]).__name__ in BY_LOAD]
        return LiveCluster(
            *args,
            faults=(*load, *acts),
            launch=machine.launch,
            model=machine.box.served_model_name,
            ready_within_s=ready_within_s,
            ask=_asks(spec, played.seed),
            machine=machine,
            **others,
        )

    world = worlds.build(spec, played.hypothesis, played.seed, kind=kind)
    world.cluster.kernels.clear()  # The engines' logs tell which they chose.
    return _live(spec, world)


def _live(spec: LabSpec, world: World, *, is_ours: bool = True) -> Incident:
    incident = Incident(spec, world, world.fleet, clock_s=spec.timeline.starts_at_s)
    cluster = cluster_of(incident)
    try:
        incident.world = replace(world, real=real_of(spec, cluster, is_ours=is_ours))
        incident.kinds = kinds_of(cluster.machine, is_ours=is_ours)
    except BaseException:
        cluster.wire.close()  # Nobody has the incident yet to close it.
        raise
    return incident


def _asks(spec: LabSpec, seed: int) -> Ask:
    if spec.live is None or spec.live.asks == "completions":
        return completion
    shared = inside.templated(spec, Draws(spec.slug, seed)).prefix_tokens
    return lambda request, model: (CHAT, chat_body(request, model, shared))


def begin(incident: Incident, tell: Callable[[float, str], None]) -> None:
    """Start the engines, and let the traffic run to the page. Raises EngineError, or what ``tell`` raises."""
    cluster_of(incident).begin(tell)


def come_to_page(incident: Incident, tell: Callable[[float, str], None]) -> None:
    """Let the world run to the page, and see that its alarm is silent until the fault and rings at the page.

    Raises NoIncident if not: a page about what did not come about would teach what is not so. Else what ``tell``
    raises, and EngineError for a fault that could not be made.
    """
    spec = incident.spec
    start_s, fault_s = incident.clock_s, spec.timeline.fault_at_s
    until_fault = (fault_s - start_s) / -start_s

    def told(share: float) -> None:
        tell(
            share,
            f"The traffic before the page runs; the page comes in {clock(-start_s * (1 - share))}",
        )

    advance(incident, fault_s, lambda share, doing: told(until_fault * share))
    rang_early = spec.admission.alarm_was_silent and spec.alarm.rings(alarm_now(incident))
    advance(incident, 0, lambda share, doing: told(until_fault + (1 - until_fault) * share))
    is_healthy = spec.hypotheses[incident.world.hypothesis].answer.scope == "healthy"
    kept = all(each.held for each in promises(incident, -spec.windows.verify_s))
    if rang_early or (is_healthy and not kept):
        # One sentence for both, at one time: which it was would tell the world, and the attempt goes on with it.
        raise NoIncident(
            "The incident did not come about: the machine is slower or busier than the lab expects."
        )
    if not spec.alarm.rings(alarm_now(incident)):
        raise NoIncident(
            f"The incident did not come about: its alarm does not ring ({_alarm(incident)}). "
            "The machine is faster than the lab expects, or the fault did nothing to it."
        )


def _alarm(incident: Incident) -> str:
    """Return what the alarm reads now, and what it rings at."""
    alarm, unit, read = incident.spec.alarm, incident.spec.alarm_unit, alarm_now(incident)
    side = "above" if alarm.above is not None else "below"
    found = f"{read:.3g} {unit}".strip() if isinstance(read, float | int) else "not measured"
    limit = f"{alarm.target:g} {unit}".strip()
    return f"{incident.spec.alarm_title}: {found}; it rings {side} {limit}"


def at_now(incident: Incident) -> Incident:
    """Bring a live incident's clock to the wall's, and return it. It stops at the budget's end; the world goes on."""
    cluster = cluster_of(incident)
    cluster.keep_up()
    now_s = min(int(cluster.now_s), incident.spec.timeline.budget_s)
    incident.clock_s = max(incident.clock_s, now_s)
    return incident


def cluster_of(incident: Incident) -> LiveCluster:
    """Return the live cluster of an incident. Raises TypeError for a simulated one."""
    cluster = incident.world.cluster
    if not isinstance(cluster, LiveCluster):
        raise TypeError("this incident is simulated")
    return cluster

"""What became of a live world after "done", measured on its record: where a simulated one is run again, this one was watched."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labs import incident
from labs.instruments.registry import signal_values
from labs.instruments.signals import sent_between
from labs.marking import mitigation
from labs.twins import ToldTwin, lost_share, measure

if TYPE_CHECKING:
    from labs.atoms import Atom
    from labs.incident import Incident
    from labs.reruns import Reruns


def watched(record: Incident, done_s: int) -> bool:
    """Return whether a record goes on past "done" for as long as the lab's mark looks."""
    plan = record.spec.mitigation
    return record.clock_s >= done_s + plan.settle_s + plan.window_s


def told_twin(
    record: Incident,
    done_s: int,
    *,
    since_s: int | None,
    parameter: float | None,
    in_force: tuple[Atom, ...],
    users_hurt: int | None = None,
) -> ToldTwin:
    """Return what a record shows of the window after "done", in the words in which re-runs are told.

    A trigger that comes again is not replayed on a real engine: that the cause is gone is its state at the window's end.
    ``users_hurt`` is how many were by "done", as it was seen then: a record knows who was hurt later as well.
    """
    spec = record.spec
    from_s = done_s + spec.mitigation.settle_s
    to_s = from_s + spec.mitigation.window_s
    cluster = record.world.cluster
    at_end = replace(record, clock_s=to_s)
    predicates = spec.hypotheses[record.world.hypothesis].answer.cause_gone
    values = signal_values(at_end.view, [each.signal for each in predicates])
    lost_from_s = done_s if since_s is None else since_s
    return ToldTwin(
        fared=measure(record, from_s, to_s),
        cause_gone=all(each.holds(values[each.signal]) for each in predicates),
        lost_share=lost_share(sent_between(cluster, float(lost_from_s), float(to_s))),
        alarm=tuple(incident.alarm_series(at_end, from_s=spec.timeline.healthy_from_s)),
        users_hurt=incident.users_hurt(replace(record, clock_s=done_s), 0.0, float(done_s))
        if users_hurt is None
        else users_hurt,
        parameter=parameter,
        digest=cluster.digest(),
        in_force=in_force,
    )


def with_watched(runs: Reruns, now: ToldTwin) -> Reruns:
    """Return re-runs in which the world as it was left is not the one run again but the one that was watched."""
    restored = mitigation.mean_restored(now.fared, runs.nothing.fared, runs.reference.fared)
    return replace(runs, now=now, whole=mitigation.Rerun(now.passes, restored))

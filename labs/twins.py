"""Re-runs of one world: the same seed and arrivals, with other changes. Marking compares them.

A twin keeps some of the changes and leaves the others out; each operation keeps its own time.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labs import incident
from labs.atoms import atoms_in_force
from labs.instruments.experience import felt, is_final, is_lost
from labs.instruments.registry import signal_values
from labs.instruments.signals import sent_between
from labs.marking.mitigation import Fared, Objective, held

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labs.atoms import Atom, Timed
    from labs.incident import Incident, Progress
    from labs.simulator.request import Request
    from labs.specs import LabSpec

CHECK_S = 300
"""How long a healed world must hold after a replayed trigger, seconds."""

FOLLOW_STEP_S = 20
"""How often a re-run looks whether all that it measures has ended, seconds."""


@dataclass(frozen=True)
class Twin:
    """One re-run, measured over the window after "done"."""

    fared: Fared
    cause_gone: bool
    lost_share: float
    """Share of requests offered since the first change that were shed, failed or cut short."""

    @property
    def passes(self) -> bool:
        """Whether the cause is gone and every objective held in every third."""
        return self.cause_gone and all(each.throughout for each in self.fared.values())


@dataclass(frozen=True)
class ToldTwin(Twin):
    """A re-run with what the debrief tells of it beside its measures."""

    alarm: tuple[tuple[int, float | None], ...]
    """The alarm's signal over time from the healthy window on."""
    users_hurt: int
    """Requests since the page that missed an objective, until "done"."""
    parameter: float | None
    """The answer's parameter at the page: x₀; None if the answer asks for none."""
    digest: str
    """Of the world at "done"; empty unless it was asked for."""
    in_force: tuple[Atom, ...]
    """What was changed and not taken back, in order of first use."""


class Twins:
    """The re-runs of one world, each simulated once whatever asks for it."""

    def __init__(
        self,
        spec: LabSpec,
        hypothesis: str,
        seed: int,
        done_s: int,
        progress: Progress | None = None,
    ) -> None:
        """Bring the world to its page. ``done_s`` is the incident clock when the learner said done."""
        self._spec, self._hypothesis, self._done_s, self._progress = (
            spec,
            hypothesis,
            done_s,
            progress,
        )
        self._page = incident.page_bytes(spec, seed, hypothesis=hypothesis, progress=progress)
        self._before: dict[str, bytes] = {}
        self._known: dict[str, Twin] = {}
        self._told: dict[str, ToldTwin] = {}

    def page(self) -> Incident:
        """Return a fresh copy of the world at its page."""
        world: Incident = pickle.loads(self._page)  # noqa: S301  (our own bytes)
        return world

    def _begun(self, operations: Sequence[Timed], since_s: int | None) -> Incident:
        """Return a fresh copy of the world when the first change began, or at its page.

        Until then it is the same world in every re-run that was looked at in the same way.
        """
        before = [timed for timed in operations if since_s is not None and timed.at_s < since_s]
        if not since_s or any(timed.operation["verb"] != "slowdown" for timed in before):
            return self.page()
        key = repr((before, since_s))
        if key not in self._before:
            world = self.page()
            play(world, before, since_s, self._progress)
            self._before[key] = pickle.dumps(world, protocol=pickle.HIGHEST_PROTOCOL)
        begun: Incident = pickle.loads(self._before[key])  # noqa: S301  (our own bytes)
        return begun

    def run(self, operations: Sequence[Timed], *, since_s: int | None = None) -> Twin:
        """Return the twin in which these operations are done, each at its own time.

        ``since_s`` is when the learner's first change began: losses are counted from there.
        """
        key = repr((tuple(operations), since_s))
        if key in self._told:
            return self._told[key]
        if key not in self._known:
            world = self._begun(operations, since_s)
            play(world, operations, self._done_s, self._progress)
            self._known[key], _ = self._measured(world, since_s, tell=False)
        return self._known[key]

    def tell(
        self, operations: Sequence[Timed], *, since_s: int | None = None, digest: bool = False
    ) -> ToldTwin:
        """Return the twin with what a debrief tells of it, which costs a walk over all its requests.

        A ``digest`` costs another: whoever wants one asks before the same twin is told without.
        """
        key = repr((tuple(operations), since_s))
        if key not in self._told:
            parameter = self._parameter()
            world = self._begun(operations, since_s)
            play(world, operations, self._done_s, self._progress)
            at_done = world.world.cluster.digest() if digest else ""
            in_force = atoms_in_force(world)
            hurt = incident.users_hurt(world, 0.0, float(self._done_s))
            twin, alarm = self._measured(world, since_s, tell=True)
            self._told[key] = ToldTwin(
                fared=twin.fared,
                cause_gone=twin.cause_gone,
                lost_share=twin.lost_share,
                alarm=alarm,
                users_hurt=hurt,
                parameter=parameter,
                digest=at_done,
                in_force=in_force,
            )
        return self._told[key]

    def _measured(
        self, world: Incident, since_s: int | None, *, tell: bool
    ) -> tuple[Twin, tuple[tuple[int, float | None], ...]]:
        spec, done_s = self._spec, self._done_s
        relapses = spec.hypotheses[self._hypothesis].answer.relapse_replay
        at_done = pickle.dumps(world, protocol=pickle.HIGHEST_PROTOCOL) if relapses else b""
        plan = spec.mitigation
        from_s = done_s + plan.settle_s
        to_s = from_s + plan.window_s
        incident.advance(world, to_s, self._progress)
        gone = self._state_holds(world)
        healthy_s = spec.timeline.healthy_from_s
        alarm = tuple(incident.alarm_series(world, from_s=healthy_s)) if tell else ()
        lost_from_s = done_s if since_s is None else since_s
        self._follow(world, min(lost_from_s, from_s), to_s)
        fared = measure(world, from_s, to_s)
        lost = lost_share(sent_between(world.world.cluster, float(lost_from_s), float(to_s)))
        if gone and relapses and all(each.throughout for each in fared.values()):
            gone = self._heals(pickle.loads(at_done))  # noqa: S301  (our own bytes)
        return Twin(fared, gone, lost), alarm

    def _follow(self, world: Incident, from_s: int, to_s: int) -> None:
        """Let what was sent in the window end, for as long as the lab waits: what has ended is felt the same later."""
        until_s = to_s + self._spec.mitigation.follow_s
        left = sent_between(world.world.cluster, float(from_s), float(to_s))
        while left and world.clock_s < until_s:
            incident.advance(world, min(until_s, world.clock_s + FOLLOW_STEP_S), self._progress)
            left = [request for request in left if not is_final(request)]

    def _state_holds(self, world: Incident) -> bool:
        predicates = self._spec.hypotheses[self._hypothesis].answer.cause_gone
        view = world.view
        values = signal_values(view, [each.signal for each in predicates])
        return all(each.holds(values[each.signal]) for each in predicates)

    def _parameter(self) -> float | None:
        name = self._spec.hypotheses[self._hypothesis].answer.parameter
        value = None if name is None else signal_values(self.page().view, [name])[name]
        return value if isinstance(value, float | int) else None

    def _heals(self, world: Incident) -> bool:
        """Replay the trigger from "done" on and look whether the world gets over it in time."""
        spec, from_s = self._spec, self._done_s + self._spec.mitigation.settle_s
        incident.advance(world, from_s, self._progress)
        burst_to_s = from_s + world.world.burst_s
        world.world.cluster.inject_burst(world.world.burst_factor, float(from_s), burst_to_s)
        healed_by_s = round(burst_to_s) + spec.mitigation.heal_within_s
        incident.advance(world, healed_by_s + CHECK_S, self._progress)
        fared = measure(world, healed_by_s, healed_by_s + CHECK_S)
        return all(each.met >= each.target for each in fared.values())


def play(
    world: Incident, operations: Sequence[Timed], until_s: int, progress: Progress | None = None
) -> None:
    """Advance a world to ``until_s``, doing each operation at its own time; what is over is not done again."""
    events: list[tuple[int, int, Timed | None]] = []
    for position, timed in enumerate(operations):
        events.append((timed.at_s, 2 * position + 1, timed))
        if timed.operation["verb"] == "slowdown":
            events.append((timed.at_s + timed.operation["lasts_s"], 2 * position, None))
    begun_s = world.clock_s
    for at_s, _, event in sorted(events, key=lambda each: each[:2]):
        if at_s < begun_s:
            continue
        incident.advance(world, min(at_s, until_s), progress)
        if at_s > until_s:
            break
        if event is None:
            incident.apply(world, {"verb": "slowdown", "factor": 1.0})
        elif event.operation["verb"] == "slowdown":
            incident.apply(world, event.operation)
        elif not incident.why_not(world, event.operation):
            # With other changes left out, the engine may refuse what it took from the learner.
            incident.carry_out(world, event.operation, event.number)
    incident.advance(world, until_s, progress)


def measure(world: Incident, from_s: float, to_s: float) -> Fared:
    """Return how every objective fared for the requests offered in the window, by thirds of its time.

    Shed, failed or cut requests have no time at all; one that still waits has waited so far.
    """
    third = (to_s - from_s) / 3
    cluster = world.world.cluster
    parts = [sent_between(cluster, from_s + k * third, from_s + (k + 1) * third) for k in range(3)]
    now_s = float(world.clock_s)
    return {
        name: held(
            Objective(name, slo.limit, slo.target),
            [[felt(request, slo.measure, now_s) for request in part] for part in parts],
        )
        for name, slo in world.spec.slos.items()
    }


def lost_share(offered: Sequence[Request]) -> float:
    """Return the share of requests that were shed, failed or cut short; 0 if none was offered."""
    if not offered:
        return 0.0
    return sum(is_lost(request) for request in offered) / len(offered)

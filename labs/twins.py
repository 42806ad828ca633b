"""Re-runs of one world: the same seed and arrivals, with other changes. Marking compares them.

Changes are taken apart into **atoms** (target, kind): one for each flag of a restart, one for shedding, and so on. A
twin keeps some atoms and leaves the others out; each operation keeps its own time.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labs import incident
from labs.instruments.experience import felt, is_lost
from labs.instruments.registry import signal_values
from labs.instruments.signals import sent_between
from labs.marking.mitigation import Fared, Objective, held

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from labs.incident import Incident, Operation, Progress
    from labs.simulator.request import Request
    from labs.specs import LabSpec

type Atom = tuple[str, str]
"""Target and kind of a change: ("engine", "--max-num-seqs")."""

CHECK_S = 300
"""How long a healed world must hold after a replayed trigger, seconds."""


@dataclass(frozen=True)
class Timed:
    """An operation of the log, and when it began."""

    at_s: int
    number: int
    operation: Operation


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
    """Of the world at "done"."""
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
        self._known: dict[str, Twin] = {}
        self._told: dict[str, ToldTwin] = {}

    def page(self) -> Incident:
        """Return a fresh copy of the world at its page."""
        world: Incident = pickle.loads(self._page)  # noqa: S301  (our own bytes)
        return world

    def run(self, operations: Sequence[Timed], *, since_s: int | None = None) -> Twin:
        """Return the twin in which these operations are done, each at its own time.

        ``since_s`` is when the learner's first change began: losses are counted from there.
        """
        key = repr((tuple(operations), since_s))
        if key in self._told:
            return self._told[key]
        if key not in self._known:
            world = self.page()
            play(world, operations, self._done_s, self._progress)
            self._known[key], _ = self._measured(world, since_s, tell=False)
        return self._known[key]

    def tell(self, operations: Sequence[Timed], *, since_s: int | None = None) -> ToldTwin:
        """Return the twin with what a debrief tells of it, which costs a walk over all its requests."""
        key = repr((tuple(operations), since_s))
        if key not in self._told:
            world = self.page()
            parameter = self._parameter(world)
            play(world, operations, self._done_s, self._progress)
            digest, in_force = world.world.cluster.digest(), atoms_in_force(world)
            hurt = incident.users_hurt(world, 0.0, float(self._done_s))
            twin, alarm = self._measured(world, since_s, tell=True)
            self._told[key] = ToldTwin(
                fared=twin.fared,
                cause_gone=twin.cause_gone,
                lost_share=twin.lost_share,
                alarm=alarm,
                users_hurt=hurt,
                parameter=parameter,
                digest=digest,
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
        incident.advance(world, to_s + plan.follow_s, self._progress)
        fared = measure(world, from_s, to_s)
        lost = lost_share(
            sent_between(
                world.world.cluster, float(done_s if since_s is None else since_s), float(to_s)
            )
        )
        if gone and relapses and all(each.throughout for each in fared.values()):
            gone = self._heals(pickle.loads(at_done))  # noqa: S301  (our own bytes)
        return Twin(fared, gone, lost), alarm

    def _state_holds(self, world: Incident) -> bool:
        predicates = self._spec.hypotheses[self._hypothesis].answer.cause_gone
        view = world.view
        values = signal_values(view, [each.signal for each in predicates])
        return all(each.holds(values[each.signal]) for each in predicates)

    def _parameter(self, world: Incident) -> float | None:
        name = self._spec.hypotheses[self._hypothesis].answer.parameter
        value = None if name is None else signal_values(world.view, [name])[name]
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
    """Advance a world at its page to ``until_s``, doing each operation at its own time."""
    events: list[tuple[int, int, Timed | None]] = []
    for position, timed in enumerate(operations):
        events.append((timed.at_s, 2 * position + 1, timed))
        if timed.operation["verb"] == "slowdown":
            events.append((timed.at_s + timed.operation["lasts_s"], 2 * position, None))
    for at_s, _, event in sorted(events, key=lambda each: each[:2]):
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


def atoms_of(operation: Operation) -> tuple[Atom, ...]:
    """Return the (target, kind) pairs of an operation."""
    verb = operation["verb"]
    if verb == "undo":
        return atoms_of(operation["operation"])
    if verb == "restart":
        flags = sorted(_kind(key) for key in operation if key.startswith("--"))
        return tuple(("engine", flag) for flag in flags) or (("engine", "restart"),)
    return ((incident.target_of(verb), verb),)


def _kind(flag: str) -> str:
    return flag.replace("--no-", "--", 1)


def keeping(operations: Iterable[Timed], atoms: frozenset[Atom]) -> tuple[Timed, ...]:
    """Return the operations with only these atoms left in them; slowdowns stay, empty restarts go."""
    kept: list[Timed] = []
    for timed in operations:
        left = _keep(timed.operation, atoms)
        if left is not None:
            kept.append(Timed(timed.at_s, timed.number, left))
    return tuple(kept)


def _keep(operation: Operation, atoms: frozenset[Atom]) -> Operation | None:
    verb = operation["verb"]
    if verb == "slowdown":
        return operation
    if verb == "undo":
        inner = _keep(operation["operation"], atoms)
        return None if inner is None else {**operation, "operation": inner}
    present = atoms_of(operation)
    if not any(atom in atoms for atom in present):
        return None
    if verb != "restart":
        return operation
    return {
        key: value
        for key, value in operation.items()
        if not key.startswith("--") or ("engine", _kind(key)) in atoms
    }


def atoms_in_force(world: Incident) -> tuple[Atom, ...]:
    """Return the distinct atoms of changes that have not been taken back, in order of first use."""
    found: dict[Atom, None] = {}
    for change in world.changes:
        if not change.taken_back:
            found.update(dict.fromkeys(atoms_of(change.operation)))
    return tuple(found)

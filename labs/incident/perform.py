"""Bringing a world to its page, and carrying commands out on it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from labs import worlds
from labs.console import VERBS, Command
from labs.incident.changes import (
    CHANGE_VERBS,
    NotDone,
    apply,
    carry_out,
    cost_key,
    describe,
    operation_cost_s,
    why_not,
)
from labs.incident.gauges import alarm_now, promises
from labs.incident.state import Incident, Outcome, advance, clock
from labs.instruments import engine_state
from labs.instruments.take import (
    READING_VERBS,
    NotMeasured,
    check_engine,
    free_answer,
    instrument_of,
    take,
)

if TYPE_CHECKING:
    from labs.incident.state import Operation, Progress
    from labs.specs import LabSpec

THOUSAND = 1000
_OTHER_VERBS = {*CHANGE_VERBS, "wait", "verify", "flags", "help"}


def begin(
    spec: LabSpec, seed: int, *, hypothesis: str | None = None, progress: Progress | None = None
) -> Incident:
    """Return the incident of a seed at its page; the hypothesis is the seed's own unless given."""
    incident = waking(spec, seed, hypothesis=hypothesis)
    advance(incident, 0, progress)
    return incident


def waking(spec: LabSpec, seed: int, *, hypothesis: str | None = None) -> Incident:
    """Return the incident of a seed where its world begins, long before the page."""
    world = worlds.build(spec, hypothesis or worlds.hypothesis_of(spec, seed), seed)
    return Incident(spec, world, world.fleet, clock_s=spec.timeline.starts_at_s)


def perform(
    incident: Incident, command: Command, number: int, progress: Progress | None = None
) -> Outcome:
    """Carry one command out and return its outcome.

    A refused command costs nothing and leaves the world as it was. ``number`` is the command's place in the log.
    """
    clock_s = incident.clock_s
    try:
        cost_s = price(incident.spec, command)
    except NotMeasured as exc:
        return Outcome("refused", str(exc), clock_s)
    left_s = incident.spec.timeline.budget_s - clock_s
    if cost_s > left_s:
        return Outcome(
            "refused",
            f"That costs {clock(cost_s)} and {clock(left_s)} is left on the incident clock. Explain what you found, or take something shorter.",
            clock_s,
        )
    if command.verb in READING_VERBS or command.verb not in _OTHER_VERBS:
        return _read(incident, command, cost_s, progress)
    if command.verb == "wait":
        advance(incident, clock_s + cost_s, progress)
        return Outcome("wait", f"{clock(cost_s)} passed.", incident.clock_s, cost_s)
    if command.verb == "verify":
        return _verify(incident, cost_s, progress)
    if command.verb in CHANGE_VERBS:
        return _change(incident, command, number, progress)
    return Outcome("answer", _free_answer(incident, command), clock_s)


def price(spec: LabSpec, command: Command) -> int:
    """Return what a command costs, incident seconds. Raises NotMeasured for what no instrument measures."""
    check_engine(spec.fleet.engine, command)
    if command.verb == "metrics" and command.target:
        return 0
    if command.verb in READING_VERBS or command.verb not in _OTHER_VERBS:
        key = instrument_of(command)
        if key not in spec.instruments:
            raise NotMeasured(
                f"This lab has no such instrument ({key}); `help` lists those it has."
            )
        return spec.instruments[key].cost_s
    if command.verb == "wait":
        return int(command.options["seconds"])
    if command.verb == "verify":
        return spec.windows.verify_s
    if command.verb == "restart":
        return spec.fleet.restart_s
    if command.verb == "undo":
        return 0
    if command.verb in CHANGE_VERBS:
        key = cost_key(command.verb)
        if key not in spec.changes:
            raise NotMeasured(f"This lab has no such change ({key}); `help` lists those it has.")
        return spec.changes[key].cost_s
    return 0


def _read(incident: Incident, command: Command, cost_s: int, progress: Progress | None) -> Outcome:
    start_s = incident.clock_s
    try:  # What is refused is refused before anything is charged.
        if command.verb == "metrics" and command.target:
            return Outcome("answer", free_answer(incident.view, command), start_s)
        key = instrument_of(command)
        take(incident.view, command)
    except NotMeasured as exc:
        return Outcome("refused", str(exc), start_s)
    slowdown = incident.spec.instruments[key].slowdown
    operation: Operation | None = None
    if slowdown:
        operation = {"verb": "slowdown", "factor": 1.0 + slowdown, "lasts_s": cost_s}
        apply(incident, operation)
    advance(incident, start_s + cost_s, progress)
    if slowdown:
        apply(incident, {"verb": "slowdown", "factor": 1.0})
    try:
        shown = take(incident.view, command)
    except NotMeasured as exc:  # A real engine may have gone while its answer was waited for.
        return Outcome("refused", str(exc), incident.clock_s)
    drawn = None if shown.panel is None else asdict(shown.panel)
    # What the lab's table does not hold cannot be cited: the answer shows it all the same.
    seen = {k: value for k, value in shown.signals.items() if k in incident.spec.signals}
    return Outcome("reading", shown.text, incident.clock_s, cost_s, key, seen, operation, drawn)


def _verify(incident: Incident, cost_s: int, progress: Progress | None) -> Outcome:
    start_s = incident.clock_s
    advance(incident, start_s + cost_s, progress)
    spec = incident.spec
    alarm, value = spec.alarm, alarm_now(incident)
    fared = promises(incident, start_s)
    side = "at most" if alarm.above is not None else "at least"
    unit = f" {spec.alarm_unit}" if spec.alarm_unit else ""
    rows = [
        (
            alarm.held(value),
            spec.alarm_title,
            f"{_number(value)}{unit if value is not None else ''}, {side} {alarm.target:g}{unit}",
        )
    ]
    for each in fared:
        slo = spec.slos[each.name]
        said = f"{100 * (each.share or 0.0):.1f} % of {each.offered}" if each.offered else "nobody"
        said += f", at least {100 * slo.target:g} %"
        if slo.limit_s is not None and each.value is not None:
            said += f"; {100 * slo.target:g} % within {_number(each.value)} s"
        rows.append((each.held, slo.title, said))
    width = max(len(title) for _, title, _ in rows)
    lines = [f"window {clock(start_s)} to {clock(incident.clock_s)}, over all who sent in it"]
    # The verdict stands first: a narrow console cuts the end of a line.
    for held, title, said in rows:
        lines.append(f"{'held' if held else 'missed':6}  {title:{width}}  {said}")
    signals: dict[str, float | str | None] = {alarm.signal: value}
    signals |= {f"promise:{each.name}": each.share for each in fared}
    return Outcome("verification", "\n".join(lines), incident.clock_s, cost_s, "verify", signals)


def _number(value: float | str | None) -> str:
    if value is None or isinstance(value, str):
        return value or "nothing"
    return f"{value:,.0f}" if abs(value) >= THOUSAND else f"{value:.3g}"


def _change(
    incident: Incident, command: Command, number: int, progress: Progress | None
) -> Outcome:
    start_s = incident.clock_s
    operation: Operation = {"verb": command.verb, **command.options}
    if command.verb == "undo":
        undone = next(
            (
                c
                for c in incident.changes
                if c.number == int(command.options["number"]) and not c.taken_back
            ),
            None,
        )
        if undone is None:
            return Outcome(
                "refused", f"undo: {command.options['number']} is no change in force.", start_s
            )
        operation = {"verb": "undo", "of": undone.number, "operation": undone.operation}
    refusal = why_not(incident, operation)
    if refusal:
        return Outcome("refused", refusal, start_s)
    cost_s = operation_cost_s(incident.spec, operation)
    left_s = incident.spec.timeline.budget_s - start_s
    if cost_s > left_s:
        return Outcome(
            "refused",
            f"That costs {clock(cost_s)} and {clock(left_s)} is left on the incident clock.",
            start_s,
        )
    try:
        carry_out(incident, operation, number)
    except NotDone as exc:
        return Outcome("refused", str(exc), start_s)
    advance(incident, start_s + cost_s, progress)
    return Outcome("change", describe(operation), incident.clock_s, cost_s, operation=operation)


def _free_answer(incident: Incident, command: Command) -> str:
    if command.verb == "flags":
        return engine_state.flags(incident.fleet)
    if command.target and command.target in VERBS:
        return f"{command.target}: {VERBS[command.target]}"
    instruments = [
        f"  {item.command:88} {clock(item.cost_s):>5}"
        for item in incident.spec.instruments.values()
    ]
    changes = [
        f"  {item.command:88} {clock(item.cost_s):>5}" for item in incident.spec.changes.values()
    ]
    return "\n".join(
        [
            "To see, with its price:",
            *instruments,
            "To act:",
            *changes,
            "  verify                     " + clock(incident.spec.windows.verify_s),
            "  wait 5m, flags, undo N, help",
            "Behind a pipe: grep, head, tail, wc -l.",
        ]
    )

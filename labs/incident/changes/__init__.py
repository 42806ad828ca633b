"""Changes to a world: every verb's kind, and what holds for all of them: prices, refusals, atoms, taking back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labs.incident.changes import engine, front, hardware, inside, memory, turnover
from labs.incident.changes.engine import with_flags
from labs.incident.changes.kinds import NotDone
from labs.incident.state import Change

if TYPE_CHECKING:
    from labs.incident.changes.kinds import Kind
    from labs.incident.state import Incident, Operation
    from labs.specs import LabSpec

__all__ = [
    "CHANGE_VERBS",
    "KINDS",
    "NotDone",
    "apply",
    "carry_out",
    "cost_key",
    "describe",
    "operation_cost_s",
    "target_of",
    "why_not",
    "with_flags",
]

KINDS: dict[str, Kind] = {
    **engine.KINDS,
    **front.KINDS,
    **hardware.KINDS,
    **memory.KINDS,
    **inside.KINDS,
    **turnover.KINDS,
}
CHANGE_VERBS = {*KINDS, "undo"}


def cost_key(verb: str) -> str:
    """Return the entry of a lab's changes that has the price of a verb. Raises KeyError for no change."""
    return KINDS[verb].key


def target_of(verb: str) -> str:
    """Return what a verb changes. Raises KeyError for no change."""
    return KINDS[verb].target


def operation_cost_s(spec: LabSpec, operation: Operation) -> int:
    """Return what an operation costs, incident seconds: what is taken back costs what it cost to do."""
    inner = operation["operation"] if operation["verb"] == "undo" else operation
    if inner["verb"] == "restart":
        return spec.fleet.restart_s
    return spec.changes[cost_key(inner["verb"])].cost_s


def why_not(incident: Incident, operation: Operation) -> str:
    """Return why the world refuses a change, or ''."""
    if operation["verb"] != "undo":
        return _kind(incident, operation).why_not(incident, operation)
    inner = operation["operation"]
    kind = _kind(incident, inner)
    if kind.undo is None:
        return f"undo: {kind.lasts}"
    if kind.why_not_undone is None:
        return ""
    problem = kind.why_not_undone(incident, inner, _left(incident, operation))
    return f"undo: {problem}" if problem else ""


def carry_out(incident: Incident, operation: Operation, number: int) -> None:
    """Do a change to the world at its present time, and note it among the changes in force."""
    apply(incident, operation)
    if operation["verb"] == "undo":
        undone = operation["of"]
        incident.changes = [
            replace(c, taken_back=True) if c.number == undone else c for c in incident.changes
        ]
    else:
        incident.changes.append(Change(number, incident.clock_s, operation))


def apply(incident: Incident, operation: Operation) -> None:
    """Do an operation to the world at its present time: a change, one taken back, or an instrument's slowdown.

    Takes no time itself; a restart's engine is down for its own. Raises KeyError for a verb that is none of them, and
    NotDone for what a real world does not take.
    """
    verb = operation["verb"]
    if verb == "slowdown":
        for each in incident.world.cluster.engines[: incident.spec.fleet.replicas]:
            each.slowdown = operation["factor"]
    elif verb == "undo":
        inner = operation["operation"]
        undo = _kind(incident, inner).undo
        if undo is None:
            raise ValueError(f"{inner['verb']} cannot be taken back")
        undo(incident, inner, _left(incident, operation))
    else:
        _kind(incident, operation).apply(incident, operation)


def _kind(incident: Incident, operation: Operation) -> Kind:
    kinds = KINDS if incident.kinds is None else incident.kinds
    return kinds[operation["verb"]]


def _left(incident: Incident, operation: Operation) -> list[Operation]:
    """Return the operations of the undone one's verb that stay in force, in order."""
    verb = operation["operation"]["verb"]
    return [
        change.operation
        for change in incident.changes
        if change.number != operation["of"]
        and not change.taken_back
        and change.operation["verb"] == verb
    ]


def describe(operation: Operation) -> str:
    """Return a change in a few words, as logs and the debrief show it."""
    if operation["verb"] == "undo":
        return f"Taken back: {describe(operation['operation'])}"
    return KINDS[operation["verb"]].describe(operation)

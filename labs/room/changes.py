"""The changes of a lab: which are in force and what taking them back costs, and which can still be made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labs import console, incident

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labs.models import Action
    from labs.room.log import Log
    from labs.specs import ChangeSpec, LabSpec

type Operation = tuple[tuple[str, str], ...]
"""What a change does, in a form that can be compared."""

AGAIN = {"restart"}
"""Changes that can be made while they are in force."""


@dataclass(frozen=True)
class InForce:
    """A change in force, and what taking it back costs; an empty cost cannot be taken back."""

    number: int
    title: str
    since: str
    cost: str


def in_force(spec: LabSpec, log: Log) -> list[InForce]:
    """Return the changes that were made and not taken back, in order."""
    titles = {_operation_of(each.command): each.title for each in spec.changes.values()}
    found: list[InForce] = []
    for each in _standing(log):
        outcome = each.outcome or {}
        operation = outcome["operation"]
        leaves_nothing = (
            operation["verb"] in {"add-replica", "restart-router"} or len(operation) == 1
        )
        found.append(
            InForce(
                int(outcome["number"]),
                titles.get(_operation(operation), str(outcome["text"])),
                incident.clock(each.at_s or 0),
                "" if leaves_nothing else incident.clock(each.cost_s),
            )
        )
    return found


def offered(spec: LabSpec, log: Log) -> dict[str, ChangeSpec]:
    """Return the changes that can be made: those that are not in force."""
    standing = {_operation((each.outcome or {})["operation"]) for each in _standing(log)}
    return {
        key: each
        for key, each in spec.changes.items()
        if key in AGAIN or _operation_of(each.command) not in standing
    }


def _standing(log: Log) -> list[Action]:
    undone = {
        each.outcome["operation"]["of"]
        for each in log.changes
        if each.outcome and _verb(each) == "undo"
    }
    return [
        each
        for each in log.changes
        if each.outcome and _verb(each) != "undo" and each.outcome["number"] not in undone
    ]


def _verb(change: Action) -> str:
    return str(((change.outcome or {}).get("operation") or {}).get("verb"))


def _operation(found: Mapping[str, Any]) -> Operation:
    return tuple(sorted((str(key), str(value)) for key, value in found.items()))


def _operation_of(line: str) -> Operation:
    """Return a change's command as the operation that it would be."""
    parsed = console.parse(line)
    if not isinstance(parsed, console.Command):
        return ()
    return _operation({"verb": parsed.verb, **parsed.options})

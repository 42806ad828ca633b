"""Changes taken apart into **atoms** (target, kind): one for each flag of a restart, one for shedding, and so on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labs import incident

if TYPE_CHECKING:
    from collections.abc import Iterable

    from labs.incident import Incident, Operation

type Atom = tuple[str, str]
"""Target and kind of a change: ("engine", "--max-num-seqs")."""


@dataclass(frozen=True)
class Timed:
    """An operation of the log, and when it began."""

    at_s: int
    number: int
    operation: Operation


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

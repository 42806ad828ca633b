"""A mark in which people gave points to some parts by hand: the rest stays the rule's, and the sum follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labs.marking import total
from labs.marking.constants import WEIGHTS
from labs.marking.parts import CouldNotBeGraded, Part, half_up

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Given:
    """What a person gave one part, and why."""

    points: float
    """0 to the part's weight, one decimal."""
    reason: str


def overridden(mark: Mapping[str, Any], given: Mapping[str, Given]) -> dict[str, Any]:
    """Return a mark, as JSON values, with these points in place of the rule's.

    ``mark`` may hold earlier overrides: they are left out first. A part that the rules could not grade may be given
    points too; a mark is graded once all six have some. Raises ValueError for an unknown part, or points beyond it.
    """
    for name, points in ((name, each.points) for name, each in given.items()):
        if name not in WEIGHTS:
            raise ValueError(f"no such part: {name!r}")
        if not 0 <= points <= WEIGHTS[name]:
            raise ValueError(f"{name} earns 0 to {WEIGHTS[name]} points, not {points:g}")
    rule = by_rule(mark)
    if not given:
        return rule
    known = {part["name"]: part for part in rule["parts"]}
    parts: list[dict[str, Any]] = []
    counted: list[Part | CouldNotBeGraded] = []
    for name, weight in WEIGHTS.items():
        part, each = known.get(name), given.get(name)
        if each is not None:
            earned = half_up(each.points)
            own = part or {"name": name, "weight": weight, "reason": rule["reason"], "details": {}}
            by_the_rule = None if part is None else part["earned"]
            part = {**own, "earned": earned, "by_rule": by_the_rule, "given_because": each.reason}
        if part is None:
            counted.append(CouldNotBeGraded(name, rule["reason"]))
        else:
            parts.append(part)
            counted.append(Part(name, part["earned"], weight, part["reason"]))
    found = total.mark(counted)
    graded = isinstance(found, total.Mark)
    return {
        **rule,
        "graded": graded,
        "total": found.total if isinstance(found, total.Mark) else None,
        "passed": isinstance(found, total.Mark) and found.passed,
        "reason": found.reason,
        "parts": parts,
        "by_rule": {key: rule[key] for key in ("graded", "total", "passed", "reason")},
    }


def by_rule(mark: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mark as the rules gave it, without what people gave."""
    if "by_rule" not in mark:
        return dict(mark)
    parts: list[dict[str, Any]] = []
    for part in mark["parts"]:
        if "given_because" not in part:
            parts.append(part)
        elif part["by_rule"] is not None:
            kept = {key: part[key] for key in part if key not in {"by_rule", "given_because"}}
            parts.append({**kept, "earned": part["by_rule"]})
    rest = {key: value for key, value in mark.items() if key != "by_rule"}
    return {**rest, **mark["by_rule"], "parts": parts}

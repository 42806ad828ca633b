"""Healthy controls: what silence earns must have been looked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from labs.marking.constants import HEALTHY_CHANGE_SHARE, LOOKED_ENOUGH, WEIGHTS
from labs.marking.mitigation import collateral_share
from labs.marking.parts import Part, counted_noun, half_up, made_part

type ChangesMade = Literal["none", "reverted", "left", "more"]


def looked_share(told_rivals: float) -> float:
    """Return Λ = min(1, R / 0.8), which multiplies scope, localisation and mitigation."""
    return min(1.0, told_rivals / LOOKED_ENOUGH)


def changes_made(distinct: int, still_in_force: int) -> ChangesMade:
    """Return which row of the rule holds: no change, one reverted, one left, or more."""
    if distinct == 0:
        return "none"
    if distinct > 1:
        return "more"
    return "left" if still_in_force else "reverted"


def looked_for(part: Part, looked: float) -> Part:
    """Return a scope part of a healthy control, multiplied by Λ, with the reason amended."""
    if looked >= 1 or part.earned == 0:
        return part
    reason = f"{part.reason} You looked at {looked:.0%} of what that claim needs."
    points = part.earned * looked
    return Part(part.name, half_up(points), part.weight, reason, {**part.details, "looked": looked})


def healthy_mitigation_part(
    looked: float, made: ChangesMade, collateral: Mapping[str, float]
) -> Part:
    """Return 20 · Λ · C · {no change 1; one, reverted ½; one left ¼; more 0}.

    ``collateral`` maps each kind to its excess over the allowance. Changes here are not false
    fixes too.
    """
    spared = collateral_share(collateral)
    share = looked * spared * HEALTHY_CHANGE_SHARE[made]
    reason = {
        "none": "There was nothing to repair, and you changed nothing.",
        "reverted": "There was nothing to repair; you made 1 change and took it back.",
        "left": "There was nothing to repair; you made 1 change and left it.",
        "more": "There was nothing to repair; you made more than 1 change.",
    }[made]
    if looked < 1:
        reason += f" You looked at {looked:.0%} of what that claim needs."
    if spared < 1:
        hurt = counted_noun(sum(1 for excess in collateral.values() if excess > 0), "harm")
        reason += f" {hurt} beyond the allowance left {spared:.0%}."
    details = {"looked": looked, "C": spared, "changes": made, "collateral": dict(collateral)}
    return made_part("mitigation", WEIGHTS["mitigation"] * share, reason, details)

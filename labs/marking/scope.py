"""Scope (10 points): is there a fault, and which objectives does it hurt."""

from __future__ import annotations

from collections.abc import Iterable

from labs.marking.constants import SCOPE_RIGHT, SCOPE_SLOS
from labs.marking.parts import Part, listed, made_part


def jaccard(named: frozenset[str], true: frozenset[str]) -> float:
    """Return |named ∩ true| / |named ∪ true|; 1 if both are empty."""
    union = named | true
    return len(named & true) / len(union) if union else 1.0


def scope_points(
    *, says_fault: bool, is_fault: bool, named: frozenset[str], hurt: frozenset[str]
) -> float:
    """Return 0 if fault or healthy is wrong; 10 for healthy; else 6 + 4 · Jaccard."""
    if says_fault != is_fault:
        return 0.0
    if not is_fault:
        return float(SCOPE_RIGHT + SCOPE_SLOS)
    return SCOPE_RIGHT + SCOPE_SLOS * jaccard(named, hurt)


def scope_part(
    *, says_fault: bool, is_fault: bool, named: Iterable[str], hurt: Iterable[str]
) -> Part:
    """Return the scope part. ``named`` and ``hurt`` are names of objectives."""
    said, true = frozenset(named), frozenset(hurt)
    points = scope_points(says_fault=says_fault, is_fault=is_fault, named=said, hurt=true)
    if says_fault != is_fault:
        reason = (
            "You said that nothing is wrong; there is a fault."
            if is_fault
            else "You said that there is a fault; nothing is wrong."
        )
    elif not is_fault:
        reason = "Nothing is wrong, and you said so."
    else:
        reason = (
            f"There is a fault, and you said so. It hurts {listed(true)}; you named {listed(said)}."
        )
    details = {
        "says_fault": says_fault,
        "named": sorted(said),
        "hurt": sorted(true),
        "jaccard": jaccard(said, true),
    }
    return made_part("scope", points, reason, details)

"""What a drill gives points for: the first measurement, what was struck out, the mechanism, the fix. Pure.

Twenty points. The first measurement earns its value per minute over the best one's. A suspect is rightly struck out if
what was read leaves it unlikely, and rightly left if not: guessing right without having read so earns nothing. Each hint that was open when a decision was
made takes a point from it, down to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from labs.marking.constants import LARGEST_SET
from labs.marking.information import best_information, posterior
from lessons.drills.tables import AT_S, table_of, worth

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from labs.marking.table import Value
    from lessons.drills.spec import DrillSpec

FIRST, STRUCK, MECHANISM, FIX = 6.0, 6.0, 4.0, 4.0
HINT = 1.0
RULED_OUT = 0.05
"""A suspect that the readings leave less likely than this is ruled out."""


@dataclass(frozen=True)
class Part:
    """Points for one decision, and why."""

    name: str
    earned: float
    weight: float
    reason: str


@dataclass(frozen=True)
class Decisions:
    """What a learner decided, in order."""

    taken: Sequence[str]
    """Measurements, the committed one first."""
    struck: Collection[str]
    mechanism: str
    fix: str
    hints: Mapping[str, int] = field(default_factory=dict)
    """How many were open at each decision: measure, strike, mechanism, fix."""


def left(spec: DrillSpec, read: Mapping[str, Value], taken: Sequence[str]) -> dict[str, float]:
    """Return how likely what was read leaves each suspect."""
    table = table_of(spec.key)
    known = dict.fromkeys((name for key in taken for name in spec.measurements[key].signals), AT_S)
    best = best_information(table, known)
    columns = best.columns[:LARGEST_SET]
    return posterior(table, {column: read[column[0]] for column in columns})


def mark(
    spec: DrillSpec, world: str, read: Mapping[str, Value], decisions: Decisions
) -> tuple[Part, ...]:
    """Return the parts of a drill's mark; they sum to 20 at most."""
    suspect = spec.suspects[world]
    parts = (
        _first(spec, decisions.taken[0]),
        _struck(spec, left(spec, read, decisions.taken), decisions.struck),
        _chosen("mechanism", MECHANISM, decisions.mechanism, suspect.mechanism),
        _chosen("fix", FIX, decisions.fix, suspect.fix),
    )
    asked = [decisions.hints.get(name, 0) for name in ("measure", "strike", "mechanism", "fix")]
    return tuple(_paid(part, hints) for part, hints in zip(parts, asked, strict=True))


def _paid(part: Part, hints: int) -> Part:
    if not hints:
        return part
    word = "a hint" if hints == 1 else f"{hints} hints"
    earned = round(max(0.0, part.earned - HINT * hints), 1)
    return replace(part, earned=earned, reason=f"{part.reason} With {word}: {HINT * hints:g} less.")


def _first(spec: DrillSpec, key: str) -> Part:
    known = worth(spec)
    best = max(known.values(), key=lambda each: each.value)
    mine = known[key].value
    share = min(1.0, mine / best.value) if best.value else 0.0
    title = spec.measurements[best.instruments[0]].title
    reason = f"It was worth {mine:.2f} bits a minute; the best, “{title}”, {best.value:.2f}."
    return Part("first measurement", round(FIRST * share, 1), FIRST, reason)


def _struck(spec: DrillSpec, likely: Mapping[str, float], struck: Collection[str]) -> Part:
    right = [key for key in spec.suspects if (key in struck) == (likely[key] < RULED_OUT)]
    wrong = [key for key in spec.suspects if key not in right]
    told = (
        "What you read says the same of every suspect."
        if not wrong
        else " ".join(
            f"You {'struck out' if key in struck else 'kept'} “{spec.suspects[key].title}”, which your readings leave at {100 * likely[key]:.0f} %."
            for key in wrong
        )
    )
    return Part("struck out", round(STRUCK * len(right) / len(spec.suspects), 1), STRUCK, told)


def _chosen(name: str, weight: float, chosen: str, right: str) -> Part:
    good = chosen == right
    return Part(name, weight if good else 0.0, weight, "Right." if good else "Not in this world.")

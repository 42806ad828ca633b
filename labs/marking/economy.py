"""Economy (10 points): the value of the questions asked, thrift, and false fixes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from labs.marking.constants import (
    BUDGET_FACTOR,
    FALSE_FIX_SHARE,
    NEAR_BEST,
    TOLD_SHARE,
    WEIGHTS,
)
from labs.marking.information import (
    best_information,
    told,
)
from labs.marking.parts import Part, counted_noun, made_part, minutes
from labs.marking.values import value_per_minute

if TYPE_CHECKING:
    from labs.marking.table import Table, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingTaken:
    """One reading of the diagnostic phase, in the order of the log."""

    number: int
    """Its number in the attempt: what a citation names."""
    instrument: str
    values: Mapping[str, Value]
    """Signal -> what it read, None where it was absent; every signal that was shown."""
    derived: Mapping[str, Value] = field(default_factory=dict)
    """Derived signals whose last input it was -> their values; they cost no attention."""
    at_s: float
    """Incident time of the reading."""
    cost_s: float
    """Seconds charged for it."""
    disturbance_s: float = 0
    """Extra SLO-missing user-seconds ÷ those per second of the untouched world."""
    waited_s: float = 0
    """Seconds that were waited since the reading before it."""
    orientation: bool = False
    """Whether it is the first look at the alarm's own instrument."""
    spoilt: bool = False
    """Whether it lies in a shadow or after a change: it informs nothing and proves nothing."""


@dataclass(frozen=True, slots=True)
class Economy:
    """The factors of the economy part."""

    rate: float
    """F, 0 to 1: how soon a good rate of information was reached."""
    told_rivals: float
    """R, 0 to 1: whether these readings could tell the truth from its rivals."""
    thrift: float
    """Share of the spend that the budget covers, at most 1."""
    false_fixes: int
    points: float
    """E, before rounding."""
    details: Mapping[str, float] = field(default_factory=dict)


def default_budget_s(reference_costs_s: Sequence[float]) -> float:
    """Return the budget of a lab that states none: 3 × the dearest reference, in seconds."""
    return BUDGET_FACTOR * max(reference_costs_s)


def spend_s(readings: Sequence[ReadingTaken]) -> float:
    """Return the seconds that readings and the waits before them charged to the clock."""
    return math.fsum(each.cost_s + each.waited_s for each in readings)


def known_signals(table: Table, readings: Sequence[ReadingTaken]) -> dict[str, int]:
    """Return signal -> the grid time at which it counts: that of its last unspoilt reading."""
    known: dict[str, int] = {}
    for each in sorted(readings, key=lambda each: (each.at_s, each.number)):
        grid = table.grid_time(each.at_s)
        if each.spoilt or grid is None:
            continue
        known |= {name: grid for name in each.values if table.has(name)}
    return known


def rates(readings: Sequence[ReadingTaken], information: Sequence[float]) -> list[float]:
    """Return V(P_k) in bits per minute for every k.

    ``readings`` are those of the phase without the orientation; ``information[k-1]`` is I*,
    in bits, of the first k of them. A wait counts between readings, not before the first.
    """
    reached, seconds = [], 0.0
    shown: set[str] = set()
    for position, (each, bits) in enumerate(zip(readings, information, strict=True)):
        seconds += each.cost_s + each.disturbance_s + (each.waited_s if position else 0)
        shown |= set(each.values)
        reached.append(value_per_minute(bits, seconds, len(shown)))
    return reached


def rate_share(reached: Sequence[float], best_value: float) -> float:
    """Return F = min(1, max_k V(P_k) / (0.8 · V*)); 0 if nothing was read.

    Raises ValueError if V* is not above 0: such a lab asks what nothing can answer.
    """
    if not best_value > 0:
        raise ValueError(f"no instrument of this lab tells anything: V* = {best_value}")
    return min(1.0, max(reached, default=0.0) / (NEAR_BEST * best_value))


def told_share(
    table: Table,
    readings: Sequence[ReadingTaken],
    *,
    truth: str,
    reference: Mapping[str, int],
) -> float:
    """Return R = Σ π_r · min(1, told(S; h,r) / (0.9 · told(S_ref; h,r))) / Σ π_r, over rivals r.

    ``reference`` maps each signal that the reference play reads to its grid time. Rivals that
    it cannot tell from the truth are skipped. A reading that replaces an earlier one of the
    same signal by a less telling one does not take back what was known: each rival counts at
    the best moment of the phase, so one more reading never lowers R.
    """
    if truth not in table.hypotheses:
        raise ValueError(f"the truth {truth!r} is not among the hypotheses {table.hypotheses}")
    moments: list[dict[str, int]] = []
    for count in range(1, len(readings) + 1):
        known = known_signals(table, readings[:count])
        if known and known not in moments:
            moments.append(known)
    if not moments:
        return 0.0
    earned, possible = 0.0, 0.0
    for rival in sorted(set(table.hypotheses) - {truth}):
        wanted = told(table, reference, truth, rival)
        if wanted <= 0 or table.priors[rival] <= 0:
            continue
        reached = max(told(table, known, truth, rival) for known in moments)
        earned += table.priors[rival] * min(1.0, reached / (TOLD_SHARE * wanted))
        possible += table.priors[rival]
    return min(1.0, earned / possible) if possible > 0 else 1.0


def thrift_share(budget_s: float, spent_s: float) -> float:
    """Return min(1, budget / spend); 1 if nothing was spent. Both in seconds."""
    return min(1.0, budget_s / spent_s) if spent_s > 0 else 1.0


def economy_points(rate: float, told_rivals: float, thrift: float, false_fixes: int) -> float:
    """Return E = 10 · max(0, F/2 + R·thrift/2 − n_false/4)."""
    share = rate / 2 + told_rivals * thrift / 2 - FALSE_FIX_SHARE * false_fixes
    return WEIGHTS["economy"] * max(0.0, share)


def economy(
    table: Table,
    readings: Sequence[ReadingTaken],
    *,
    truth: str,
    reference: Mapping[str, int],
    best_value: float,
    budget_s: float,
    spent_s: float | None = None,
    false_fixes: int = 0,
) -> Economy:
    """Return the economy of a diagnostic phase.

    ``best_value`` is V* in bits per minute. ``spent_s``, the seconds charged in the phase,
    defaults to those of its readings and waits. The first look at the alarm's instrument
    costs no rate, yet what it showed is known.
    """
    ordered = sorted(readings, key=lambda each: each.number)
    asked = [each for each in ordered if not each.orientation]
    bits = [
        best_information(table, known_signals(table, asked[:count])).counted
        for count in range(1, len(asked) + 1)
    ]
    reached = rates(asked, bits)
    spent = spend_s(ordered) if spent_s is None else spent_s
    rate = rate_share(reached, best_value)
    rivals = told_share(table, ordered, truth=truth, reference=reference)
    thrift = thrift_share(budget_s, spent)
    details = {
        "readings": len(ordered),
        "best_rate": max(reached, default=0.0),
        "best_value": best_value,
        "information": bits[-1] if bits else 0.0,
        "spend_s": spent,
        "budget_s": budget_s,
    }
    points = economy_points(rate, rivals, thrift, false_fixes)
    return Economy(rate, rivals, thrift, false_fixes, points, details)


def economy_part(found: Economy) -> Part:
    """Return the economy part with its reason."""
    facts = found.details
    reason = _economy_reason(found)
    return made_part(
        "economy",
        found.points,
        reason,
        {
            "F": found.rate,
            "R": found.told_rivals,
            "thrift": found.thrift,
            "false_fixes": found.false_fixes,
            **facts,
        },
    )


def _economy_reason(found: Economy) -> str:
    facts = found.details
    if not facts.get("readings"):
        said = "You read nothing before you committed or changed anything."
    else:
        said = (
            f"Your best rate was {facts['best_rate']:.2f} bits a minute; the best available gives "
            f"{facts['best_value']:.2f}. Your readings could tell {found.told_rivals:.0%} of what "
            f"sets this world apart. You spent {minutes(facts['spend_s'])} of a budget of "
            f"{minutes(facts['budget_s'])} on readings and waits before you committed or changed "
            f"anything."
        )
    if found.false_fixes:
        fixes = counted_noun(found.false_fixes, "change")
        said += f" {fixes} moved nothing: {FALSE_FIX_SHARE * WEIGHTS['economy']:.1f} points each."
    return said

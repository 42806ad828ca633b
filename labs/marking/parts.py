"""One part of a mark: the points, the weight, and the reason that the learner reads."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from labs.marking.constants import WEIGHTS


@dataclass(frozen=True, slots=True)
class Part:
    """A marked part."""

    name: str
    earned: float
    """Points, rounded half-up to 0.1."""
    weight: int
    """Most points that the part can earn."""
    reason: str
    """What the learner reads: short, with the numbers."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """The factors behind the points, as JSON values, for the debrief."""


@dataclass(frozen=True, slots=True)
class CouldNotBeGraded:
    """A part whose run, twin, table or engine was lost. It is never a zero."""

    name: str
    reason: str


def half_up(number: float, decimals: int = 1) -> float:
    """Return a number rounded half-up, so that 0.05 gives 0.1 and float noise gives nothing.

    Nine decimals come first: 2.675 held as 2.67499999999999982236431605997495353221893310546875
    is a half. Raises ValueError for a number that is not finite.
    """
    if not math.isfinite(number):
        raise ValueError(f"only a finite number can be rounded: {number}")
    exact = Decimal(repr(round(float(number), 9)))
    rounded = float(exact.quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_UP))
    return rounded + 0.0


def made_part(name: str, points: float, reason: str, details: Mapping[str, Any]) -> Part:
    """Return a part of the specification's weight with its points rounded.

    Raises ValueError for an unknown part or points outside 0 to its weight.
    """
    if name not in WEIGHTS:
        raise ValueError(f"no such part: {name!r}")
    weight = WEIGHTS[name]
    earned = half_up(points)
    if not 0 <= earned <= weight:
        raise ValueError(f"{name}: {points} points are not between 0 and {weight}")
    return Part(name, earned, weight, reason, dict(details))


def uncommitted(name: str) -> Part:
    """Return a part of the diagnosis when none was committed: no points, and no word about what was not said."""
    return made_part(name, 0, "You committed no diagnosis.", {"committed": False})


def minutes(seconds: float) -> str:
    """Return a duration as ``m:ss``."""
    whole = round(seconds)
    return f"{whole // 60}:{whole % 60:02d}"


def counted_noun(count: int, noun: str) -> str:
    """Return "1 reading", "2 readings": a count with its regular noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(names: Mapping[str, Any] | set[str] | frozenset[str] | tuple[str, ...]) -> str:
    """Return names by name as "a, b and c"; "nothing" if there are none."""
    ordered = sorted(names)
    if not ordered:
        return "nothing"
    *rest, last = ordered
    return f"{', '.join(rest)} and {last}" if rest else last

"""The mark of an attempt, whether it passes, and what is kept over several attempts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from labs.marking.constants import ATTEMPT_WEIGHTS, PASS_HALVES, PASS_TOTAL, WEIGHTS
from labs.marking.parts import CouldNotBeGraded, Part, half_up, listed


@dataclass(frozen=True, slots=True)
class Mark:
    """A graded attempt."""

    parts: tuple[Part, ...]
    """In the order of the page."""
    total: float
    """Sum of the rounded parts, 0 to 100."""
    passed: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Provisional:
    """An attempt that could not be graded: what is known, and what was lost."""

    parts: tuple[Part, ...]
    lost: tuple[CouldNotBeGraded, ...]

    @property
    def reason(self) -> str:
        """What the learner reads."""
        return " ".join(each.reason for each in self.lost)


def mark(parts: Iterable[Part | CouldNotBeGraded]) -> Mark | Provisional:
    """Return the mark of the six parts, or what is known of it if one could not be graded.

    Raises ValueError unless each part of the specification is there once.
    """
    given = list(parts)
    if sorted(each.name for each in given) != sorted(WEIGHTS):
        raise ValueError(f"a mark needs each part once: {sorted(each.name for each in given)}")
    order = list(WEIGHTS)
    given.sort(key=lambda each: order.index(each.name))
    known = tuple(each for each in given if isinstance(each, Part))
    lost = tuple(each for each in given if isinstance(each, CouldNotBeGraded))
    if lost:
        return Provisional(known, lost)
    total = half_up(math.fsum(part.earned for part in known))
    short = tuple(
        part.name for part in known if part.name in PASS_HALVES and part.earned < part.weight / 2
    )
    passed = total >= PASS_TOTAL and not short
    return Mark(known, total, passed, _reason(total, short, passed=passed))


def _reason(total: float, short: tuple[str, ...], *, passed: bool) -> str:
    if passed:
        return f"{total:.1f} of 100: this attempt passes."
    if total < PASS_TOTAL:
        return f"{total:.1f} of 100; a pass needs {PASS_TOTAL}."
    return f"{total:.1f} of 100; a pass also needs half of {listed(short)}."


def attempt_weight(number: int) -> float:
    """Return what an improvement is worth at an attempt, counted from 1: 1, .9, .8, then .7."""
    if number < 1:
        raise ValueError(f"attempts are counted from 1: {number}")
    return ATTEMPT_WEIGHTS[min(number, len(ATTEMPT_WEIGHTS)) - 1]


def kept_score(scores: Sequence[float]) -> float:
    """Return Σ w_k · max(0, s_k − best before), two decimals, over the attempts in order.

    An attempt that was given back is not among them. 0 without attempts.
    """
    kept, best = 0.0, 0.0
    for number, score in enumerate(scores, start=1):
        kept += attempt_weight(number) * max(0.0, score - best)
        best = max(best, score)
    return half_up(kept, decimals=2)

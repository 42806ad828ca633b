"""What counts of a person's attempts at an assigned lab: the marks' own weights, and the cohort's dates. Pure.

With the same lateness throughout, four things hold of every list of attempts; property tests hold them:

1. Trying again never takes points away.
2. Whoever beats their best score gains, as long as work is still worth something.
3. The same gain counts less the more attempts came before it, and from the fourth attempt on no more.
4. No attempt beyond the allowed number counts, whenever it was made.

The idea is PrairieLearn's for exams (its documentation of assessments, "Question scoring details for Exam"), which
takes the weights from a list that an author writes for each question, and ends the list where attempts end. Ours
differ in three ways. The weights are the course's (1, 0.9, 0.8, then 0.7 for ever), so attempts may be unlimited and
the third statement is weak from the fourth attempt on. A gain is multiplied by what its moment is worth: a gain after
late work has ended, or at a late credit of 0 %, is 0. And an attempt that is made early and on time may add to what
a late one counts, since its part of the score was earned at full worth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from courseware.cohorts.policy import FULL_CREDIT_PERCENT, Policy, credit_percent
from labs.marking.total import attempt_weight

_CENTS = 100


@dataclass(frozen=True, slots=True)
class Scored:
    """An attempt that was marked: when it ended, and its 0 to 100 points. What was given back is not among them."""

    finished_at: datetime
    score: float


@dataclass(frozen=True, slots=True)
class Line:
    """What one attempt added."""

    score: float
    weight: float
    """Of the attempt's number, 1 to 0.7."""
    worth_percent: int
    """Of the moment it ended."""
    gain: float
    """Points over the best before; 0 if none."""
    counted: float
    """gain × weight × worth, not rounded."""


@dataclass(frozen=True, slots=True)
class Credit:
    """What counts, 0 to 100 in hundredths, and how it came about."""

    total: float
    lines: tuple[Line, ...]


def credit(policy: Policy, attempts: Sequence[Scored]) -> Credit:
    """Return what counts of attempts in the order of their ends; those beyond the allowed number are left out."""
    ordered = sorted(attempts, key=lambda each: each.finished_at)
    most = policy.terms.most_attempts
    best, lines = 0.0, []
    for number, each in enumerate(ordered[:most], start=1):
        weight, worth = attempt_weight(number), credit_percent(policy, each.finished_at)
        gain = max(0.0, each.score - best)
        counted = gain * weight * worth / FULL_CREDIT_PERCENT
        lines.append(Line(each.score, weight, worth, gain, counted))
        best = max(best, each.score)
    exact = math.fsum(line.counted for line in lines)
    return Credit(math.floor(exact * _CENTS + 0.5 + 1e-9) / _CENTS, tuple(lines))

"""A lab's proof: the statements that must hold before it is served, each with value, threshold, slack and verdict.

The numbers are those of the marking specification, section 9.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median, quantiles
from typing import TYPE_CHECKING

from labs import worlds
from labs.judgement import graph_of
from labs.marking.information import alarm_upper_bound, best_information, entropy, told_best
from labs.marking.localisation import localisation_share
from labs.table_runs import rare_first

if TYPE_CHECKING:
    from labs.marking.table import Table
    from labs.specs import LabSpec

AMBER = 0.1
ALARMING, FULL_MARKS = 37 / 40, 37 / 40
EFFECT, ALARM_SHARE, DISCRIMINATES, PAIR_BITS = 1.0, 0.35, 0.6, 0.5
FREE_ANSWER, BUDGET_OVER_REFERENCE, ALL_OVER_BUDGET, LASTS = 0.5, 2.0, 1.5, 0.9


@dataclass(frozen=True)
class Line:
    """One statement, measured."""

    number: int
    says: str
    value: float
    threshold: float
    at_most: bool = False
    """Whether the value must not exceed the threshold; else it must reach it."""
    note: str = ""
    exact: bool = False
    """Whether it holds or fails, with nothing in between."""

    @property
    def slack(self) -> float:
        """How far the value is on the right side, as a share of the threshold (or of 1, if that is 0)."""
        over = (self.value - self.threshold) / (abs(self.threshold) or 1.0)
        return (-over if self.at_most else over) + 0.0

    @property
    def verdict(self) -> str:
        """Return green, amber (it holds narrowly) or red."""
        if self.slack < 0:
            return "red"
        return "green" if self.exact or self.slack >= AMBER else "amber"

    def __str__(self) -> str:
        sign = "≤" if self.at_most else "≥"
        note = f"; {self.note}" if self.note else ""
        return f"{self.number} {self.says} {self.value:.2f} {sign} {self.threshold:.2f}, slack {100 * self.slack:.0f} %{note}: {self.verdict}"


def admission(spec: LabSpec, refused: Mapping[str, int], kept: int) -> Line:
    """Statement 1: every fault world alarms, and healthy is silent, before admission.

    A seed is tried in one world after the other, so each world's rate is among the seeds that came to it.
    """
    left = kept + sum(refused.values())
    rates: dict[str, float] = {}
    for name in rare_first(spec):
        rates[name] = 1 - refused.get(name, 0) / left
        left -= refused.get(name, 0)
    worst = min(rates, key=lambda name: rates[name])
    note = ", ".join(f"{name} {rate:.2f}" for name, rate in rates.items())
    return Line(1, f"alarms as it should, least in {worst}", rates[worst], ALARMING, note=note)


def effect(spec: LabSpec, table: Table) -> Iterator[Line]:
    """Statement 2: the alarm's own signal is far from healthy, seed by seed.

    An alarm that rings in a healthy cluster as well has no effect to show, and no such line. A value nearer to 0
    than an eighth of the target counts as that eighth: a rate of 0 has no logarithm.
    """
    if not spec.admission.alarm_was_silent:
        return
    column = (spec.alarm.signal, table.grid_s[0])
    healthy = table.values(worlds.HEALTHY, column)
    sign, least_value = (1 if spec.alarm.above is not None else -1), abs(spec.alarm.target) / 8
    medians: dict[str, float] = {}
    lowest: dict[str, float] = {}
    for name in table.hypotheses:
        ratios = [
            sign * math.log2(max(least_value, float(fault)) / max(least_value, float(calm)))
            for fault, calm in zip(table.values(name, column), healthy, strict=True)
            if isinstance(fault, float | int) and isinstance(calm, float | int)
        ]
        medians[name], lowest[name] = median(ratios), quantiles(ratios, n=10)[0]
    least = min(medians, key=lambda name: medians[name])
    yield Line(2, f"effect, median log2, least in {least}", medians[least], EFFECT)
    least = min(lowest, key=lambda name: lowest[name])
    yield Line(2, f"effect, 10th percentile, least in {least}", lowest[least], 0.0)


def alarm(spec: LabSpec, table: Table) -> Line:
    """Statement 3: the alarm gives nothing away."""
    upper = alarm_upper_bound(table, [(spec.alarm.signal, table.grid_s[0])])
    share = upper / entropy(table.priors.values())
    return Line(3, "alarm tells, of H", share, ALARM_SHARE, at_most=True)


def discrimination(spec: LabSpec, table: Table, known: Mapping[str, int]) -> Iterator[Line]:
    """Statement 4: the reference's readings discriminate, over all worlds and between any two with other answers."""
    lower = best_information(table, known).lower / entropy(table.priors.values())
    yield Line(4, "discriminates, of H", lower, DISCRIMINATES)
    pairs = {
        (one, other): told_best(table, known, one, other).lower
        for one, other in combinations(table.hypotheses, 2)
        if spec.hypotheses[one].answer != spec.hypotheses[other].answer
        and (spec.hypotheses[one].served or spec.hypotheses[other].served)
    }
    one, other = min(pairs, key=lambda pair: pairs[pair])
    yield Line(4, f"worst pair {one}/{other}, bits", pairs[one, other], PAIR_BITS)


def full_marks(became: Mapping[str, Mapping[str, int]]) -> Iterator[Line]:
    """Statement 5: the reference play earns 100.0 in the worlds that stay hurt.

    ``became`` counts, for each served world, the seeds that were unfit, and those at which the reference was
    refused, late, short of full marks, or full.
    """
    for name in sorted(became):
        counts = became[name]
        tried = sum(counts.values()) - counts.get("unfit", 0)
        full = counts.get("full", 0)
        rest = ", ".join(f"{n} {fate}" for fate, n in sorted(counts.items()) if fate != "full")
        note = f"{full} of {tried}" + (f"; {rest}" if rest else "")
        yield Line(5, f"reference earns 100.0, {name}", full / max(1, tried), FULL_MARKS, note=note)


def ceilings(
    totals: Mapping[str, Sequence[float]], allowed: Mapping[str, float], why: Mapping[str, str]
) -> Iterator[Line]:
    """Statement 6: each counterexample and each cheat stays at or below its ceiling wherever it was played."""
    for name, earned in totals.items():
        note = f"{min(earned):.1f} to {max(earned):.1f} on {len(earned)} seeds"
        if name in why:
            note += f"; {why[name]}"
        yield Line(6, f"{name} earns at most", max(earned), allowed[name], at_most=True, note=note)


def never_passes(passed: Mapping[str, int]) -> Iterator[Line]:
    """Statement 6: plays that must not pass do not, wherever they were played."""
    for name, count in passed.items():
        yield Line(6, f"{name} passes, times", float(count), 0.0, at_most=True, exact=True)


def tempting(full: Mapping[str, tuple[int, int]]) -> Iterator[Line]:
    """Statement 6: a tempting fix earns full mitigation on none of its seeds (full, played)."""
    for name, (count, played) in full.items():
        says = f"{name} mends it, of {played} seeds"
        yield Line(6, says, float(count), 0.0, at_most=True, exact=True)


def free_answers(spec: LabSpec) -> Iterator[Line]:
    """Statement 7: no constant answer is right too often."""
    graph, priors = graph_of(spec), spec.priors
    named = [key for key, node in spec.nodes.items() if node.nameable]
    scores = {
        chosen: sum(
            prior
            * max(
                localisation_share(graph, frozenset(chosen), frozenset(accepted))
                # In a healthy control nothing is to be named.
                for accepted in spec.hypotheses[name].answer.components or ((),)
            )
            for name, prior in priors.items()
        )
        for size in (1, 2, 3)
        for chosen in combinations(named, size)
    }
    best = max(scores, key=lambda chosen: scores[chosen])
    says = f"best constant nodes, {'+'.join(best)}"
    yield Line(7, says, scores[best], FREE_ANSWER, at_most=True)
    credit = dict.fromkeys(spec.mechanisms, 0.0)
    for name, prior in priors.items():
        for each in spec.hypotheses[name].answer.mechanisms:
            credit[each.mechanism] += prior * each.credit
    mechanism = max(credit, key=lambda key: credit[key])
    says = f"best constant mechanism, {mechanism}"
    yield Line(7, says, credit[mechanism], FREE_ANSWER, at_most=True)


def budget(spec: LabSpec, reference_s: Mapping[str, float]) -> Iterator[Line]:
    """Statement 8: the budget leaves room, and does not pay for everything."""
    dearest = max(reference_s, key=lambda name: reference_s[name])
    room = spec.diagnosis_budget_s / reference_s[dearest]
    yield Line(8, f"budget over reference, {dearest}", room, BUDGET_OVER_REFERENCE)
    everything = sum(each.cost_s for each in spec.instruments.values() if not each.is_panel)
    over = everything / spec.diagnosis_budget_s
    yield Line(8, "everything over budget", over, ALL_OVER_BUDGET)


def lasts(spec: LabSpec, table: Table) -> Line:
    """Statement 9: the untouched world misses its alarm at the table's grid times."""
    name = spec.alarm.signal
    rings = [
        spec.alarm.rings(value)
        for world in table.hypotheses
        for at_s in table.grid_s
        for value in table.values(world, (name, at_s))
    ]
    return Line(9, "grid times missed, untouched", sum(rings) / len(rings), LASTS)


def same_twice(digests: Mapping[str, tuple[str, str]]) -> Line:
    """Statement 9: two runs of a world have one digest."""
    same = sum(one == other for one, other in digests.values())
    return Line(9, "two runs, one digest", same / len(digests), 1.0, exact=True)

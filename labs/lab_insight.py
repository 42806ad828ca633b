"""What a class did in one lab: first measurements beside their worth, fixes that did not help, marks and time. Pure.

One learner counts once, with their first marked attempt at a version of the lab: a second attempt is made by somebody who
has read the debrief. Below LEAST learners nothing is said. Intervals are 90 %: Wilson's for shares, Student's for means.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, quantiles, stdev

from labs.marking.predictions import wilson
from labs.marking.quantiles import t_quantile

LEAST = 10
"""So many learners must have been marked before anything is shown."""
LEAST_OF_GROUP = 5
"""And so many of them must be in a group before it gets numbers of its own."""
_QUANTILE_90 = 0.95
"""Of Student's t behind a two-sided 90 % interval."""

type Interval = tuple[float, float]


@dataclass(frozen=True)
class Worth:
    """One instrument as a first measurement."""

    instrument: str
    title: str
    bits: float
    seconds: float
    value: float
    """Bits a minute."""


@dataclass(frozen=True)
class Changed:
    """One change that was made: what it was, and whether it helped in the world of that attempt."""

    key: str
    title: str
    helped: bool


@dataclass(frozen=True)
class Diagnosed:
    """The last diagnosis: how sure, and whether it was right."""

    confidence: int
    """Per cent."""
    right: bool
    said: str
    """The mechanism that it names, or that nothing is wrong, in words."""


@dataclass(frozen=True)
class Handled:
    """One marked attempt."""

    learner: int
    world: str
    """The hypothesis that was the world's own."""
    total: float
    passed: bool
    parts: Mapping[str, tuple[float, float]]
    """By name: points, and the most that there are."""
    first: str | None
    """The first measurement, by instrument; None if nothing but the alarm was read."""
    worths: tuple[Worth, ...]
    clock_s: int
    worked_s: float
    """Wall time, pauses left out."""
    changes: tuple[Changed, ...] = ()
    diagnosed: Diagnosed | None = None


# ------------------------------------------------------------------------------------------- results


@dataclass(frozen=True)
class Share:
    """A share of people, with its interval."""

    count: int
    n: int
    interval: Interval

    @property
    def share(self) -> float:
        return self.count / self.n


@dataclass(frozen=True)
class Mean:
    """A mean, with its interval."""

    n: int
    value: float
    interval: Interval | None
    """None below LEAST_OF_GROUP."""


@dataclass(frozen=True)
class Quartiles:
    low: float
    middle: float
    high: float


@dataclass(frozen=True)
class First:
    """One instrument, what it is worth, and who measured it first."""

    worth: Worth
    chosen: Share
    is_best: bool


@dataclass(frozen=True)
class Fix:
    """One change, by whom it was made, and by whom in vain."""

    title: str
    made: int
    in_vain: int
    helps_in: tuple[str, ...]
    """Worlds in which it helped somebody."""
    vain_in: tuple[str, ...]
    """Worlds in which it did not."""


@dataclass(frozen=True)
class Level:
    """Everybody who was as sure as this."""

    percent: int
    n: int
    right: Share | None
    """None below LEAST_OF_GROUP."""


@dataclass(frozen=True)
class World:
    """Everybody who met one world."""

    key: str
    n: int
    mark: Mean | None
    passed: Share | None
    """Both None below LEAST_OF_GROUP."""


@dataclass(frozen=True)
class Insight:
    """What a class did in one version of a lab."""

    n: int
    mark: Mean
    passed: Share
    firsts: tuple[First, ...]
    """The worthiest first."""
    none_first: int
    """Learners who diagnosed without a measurement."""
    of_best: float
    """Mean worth of first measurements over the best one's, 0 to 1; of nothing it is 0."""
    fixes: tuple[Fix, ...]
    """Those made in vain by most first."""
    changed_in_vain: Share
    """Learners who made at least one change that did not help."""
    parts: tuple[tuple[str, Mean, float], ...]
    """Each part: its name, its mean points, and the most that there are."""
    clock: Quartiles
    """Seconds."""
    worked: Quartiles
    """Seconds."""
    worlds: tuple[World, ...]
    levels: tuple[Level, ...]
    wrong: tuple[tuple[str, int], ...]
    """What wrong diagnoses said, the commonest first."""


def insight_of(attempts: Iterable[Handled]) -> Insight | None:
    """Return what a class did; None below LEAST learners. ``attempts``: the first marked one of each."""
    rows = list(attempts)
    if len({row.learner for row in rows}) < LEAST:
        return None
    firsts = _firsts(rows)
    best = max((each.worth.value for each in firsts), default=0.0)
    rates = [each.worth.value for each in firsts for _ in range(each.chosen.count)]
    return Insight(
        n=len(rows),
        mark=mean_of([row.total for row in rows]),
        passed=share_of(sum(row.passed for row in rows), len(rows)),
        firsts=firsts,
        none_first=sum(row.first is None for row in rows),
        of_best=math.fsum(rates) / best / len(rows) if best else 0.0,
        fixes=_fixes(rows),
        changed_in_vain=share_of(
            sum(any(not each.helped for each in row.changes) for row in rows), len(rows)
        ),
        parts=_parts(rows),
        clock=quartiles_of([float(row.clock_s) for row in rows]),
        worked=quartiles_of([row.worked_s for row in rows]),
        worlds=tuple(_world(key, group) for key, group in _by(rows, lambda row: row.world)),
        levels=_levels(rows),
        wrong=tuple(
            Counter(
                row.diagnosed.said for row in rows if row.diagnosed and not row.diagnosed.right
            ).most_common()
        ),
    )


def share_of(count: int, n: int) -> Share:
    """Return a share of ``n`` people, of whom there must be some."""
    return Share(count, n, wilson(count, n))


def mean_of(values: Sequence[float]) -> Mean:
    """Return the mean of values, of which there must be some, with Student's interval."""
    n, middle = len(values), mean(values)
    if n < LEAST_OF_GROUP:
        return Mean(n, middle, None)
    half = t_quantile(_QUANTILE_90, n - 1) * stdev(values) / math.sqrt(n)
    return Mean(n, middle, (middle - half, middle + half))


def quartiles_of(values: Sequence[float]) -> Quartiles:
    """Return the quartiles of two values or more."""
    return Quartiles(*quantiles(values, n=4, method="inclusive"))


def _by[T](rows: Iterable[T], key: Callable[[T], str]) -> list[tuple[str, list[T]]]:
    groups: dict[str, list[T]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return sorted(groups.items())


def _firsts(rows: Sequence[Handled]) -> tuple[First, ...]:
    worths = {each.instrument: each for row in rows for each in row.worths}
    best = max((each.value for each in worths.values()), default=0.0)
    chosen = Counter(row.first for row in rows)
    ordered = sorted(worths.values(), key=lambda each: (-each.value, each.title))
    return tuple(
        First(each, share_of(chosen[each.instrument], len(rows)), is_best=each.value == best)
        for each in ordered
    )


def _fixes(rows: Sequence[Handled]) -> tuple[Fix, ...]:
    made: dict[str, list[tuple[str, Changed]]] = defaultdict(list)
    for row in rows:
        for each in row.changes:
            made[each.key].append((row.world, each))
    found = [
        Fix(
            title=uses[0][1].title,
            made=len(uses),
            in_vain=sum(not each.helped for _, each in uses),
            helps_in=tuple(sorted({world for world, each in uses if each.helped})),
            vain_in=tuple(sorted({world for world, each in uses if not each.helped})),
        )
        for uses in made.values()
    ]
    return tuple(sorted(found, key=lambda each: (-each.in_vain, -each.made, each.title)))


def _parts(rows: Sequence[Handled]) -> tuple[tuple[str, Mean, float], ...]:
    names = dict.fromkeys(name for row in rows for name in row.parts)
    return tuple(
        (
            name,
            mean_of([row.parts[name][0] for row in rows if name in row.parts]),
            next(row.parts[name][1] for row in rows if name in row.parts),
        )
        for name in names
    )


def _world(key: str, rows: Sequence[Handled]) -> World:
    if len(rows) < LEAST_OF_GROUP:
        return World(key, len(rows), None, None)
    marks = mean_of([row.total for row in rows])
    return World(key, len(rows), marks, share_of(sum(row.passed for row in rows), len(rows)))


def _levels(rows: Sequence[Handled]) -> tuple[Level, ...]:
    said = [row.diagnosed for row in rows if row.diagnosed is not None]
    found = []
    for percent in sorted({each.confidence for each in said}):
        here = [each for each in said if each.confidence == percent]
        count = sum(each.right for each in here)
        right = share_of(count, len(here)) if len(here) >= LEAST_OF_GROUP else None
        found.append(Level(percent, len(here), right))
    return tuple(found)

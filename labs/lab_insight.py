"""What a class did in one lab: first measurements beside their worth, fixes that did not help, where people stop. Pure.

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
PHASES = ("Brief", "Predict", "Investigate", "Diagnose", "Change", "Verify", "Explain")
"""How far an attempt may have come, in the order of the room's ruler."""

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


@dataclass(frozen=True)
class Stopped:
    """One attempt that was given up, or left open."""

    reached: str
    """One of PHASES."""
    clock_s: int
    given_up: bool


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
        passed=share_of(rows, lambda row: row.passed),
        firsts=firsts,
        none_first=sum(row.first is None for row in rows),
        of_best=math.fsum(rates) / best / len(rows) if best else 0.0,
        fixes=_fixes(rows),
        changed_in_vain=share_of(rows, lambda row: any(not each.helped for each in row.changes)),
        parts=_parts(rows),
        clock=_quartiles([float(row.clock_s) for row in rows]),
        worked=_quartiles([row.worked_s for row in rows]),
        worlds=tuple(_world(key, group) for key, group in _by(rows, lambda row: row.world)),
        levels=_levels(rows),
        wrong=tuple(
            Counter(
                row.diagnosed.said for row in rows if row.diagnosed and not row.diagnosed.right
            ).most_common()
        ),
    )


def share_of[T](rows: Sequence[T], holds: Callable[[T], bool]) -> Share:
    """Return the share of rows of which something holds. There must be some."""
    count = sum(map(holds, rows))
    return Share(count, len(rows), wilson(count, len(rows)))


def mean_of(values: Sequence[float]) -> Mean:
    """Return the mean of values, of which there must be some, with Student's interval."""
    n, middle = len(values), mean(values)
    if n < LEAST_OF_GROUP:
        return Mean(n, middle, None)
    half = t_quantile(_QUANTILE_90, n - 1) * stdev(values) / math.sqrt(n)
    return Mean(n, middle, (middle - half, middle + half))


def _quartiles(values: Sequence[float]) -> Quartiles:
    return Quartiles(*quantiles(values, n=4, method="inclusive"))


def _by[T](rows: Iterable[T], key: Callable[[T], str]) -> list[tuple[str, list[T]]]:
    groups: dict[str, list[T]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return sorted(groups.items())


def _firsts(rows: Sequence[Handled]) -> tuple[First, ...]:
    worths = {each.instrument: each for row in rows for each in row.worths}
    best = max((each.value for each in worths.values()), default=0.0)
    ordered = sorted(worths.values(), key=lambda each: (-each.value, each.title))
    return tuple(
        First(
            each,
            share_of(rows, lambda row, key=each.instrument: row.first == key),  # type: ignore[misc]
            is_best=each.value == best,
        )
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
    return World(key, len(rows), marks, share_of(rows, lambda row: row.passed))


def _levels(rows: Sequence[Handled]) -> tuple[Level, ...]:
    said = [row.diagnosed for row in rows if row.diagnosed is not None]
    found = []
    for percent in sorted({each.confidence for each in said}):
        here = [each for each in said if each.confidence == percent]
        right = share_of(here, lambda each: each.right) if len(here) >= LEAST_OF_GROUP else None
        found.append(Level(percent, len(here), right))
    return tuple(found)


# ------------------------------------------------------------------------------------ where people stop


@dataclass(frozen=True)
class Stops:
    """Attempts that came to no mark, by the phase that they had reached."""

    begun: int
    given_up: int
    left: int
    """Open, with nothing done for days."""
    phases: tuple[tuple[str, int], ...]
    """Each of PHASES with how many stopped there."""
    clock: Quartiles | None
    """Incident seconds at the stop; None below LEAST_OF_GROUP."""


def stops_of(stopped: Sequence[Stopped], *, begun: int) -> Stops:
    """Return where people stopped, of all attempts that learners began."""
    counts = Counter(each.reached for each in stopped)
    clocks = [float(each.clock_s) for each in stopped]
    return Stops(
        begun=begun,
        given_up=sum(each.given_up for each in stopped),
        left=sum(not each.given_up for each in stopped),
        phases=tuple((phase, counts[phase]) for phase in PHASES),
        clock=_quartiles(clocks) if len(clocks) >= LEAST_OF_GROUP else None,
    )

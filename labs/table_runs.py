"""Runs the worlds that a lab's information table and its pool of seeds are made of.

Three disjoint streams of seeds: the table's, the pool's, and (inside a twin) none of its own. A seed enters the table
only if every world does what its hypothesis says at it; a pool seed only if its own world does and the reference
play earns every point there.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from labs import incident, worlds
from labs.instruments.registry import signal_values
from labs.marking.table import Signal, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from labs.incident import Incident
    from labs.instruments.registry import Value
    from labs.specs import Bound, LabSpec

TABLE_FROM = 1_000_000
POOL_FROM = 2_000_000
MOST_TRIED = 5_000
HEALTHY_EVERY_S = 60
HURT_EVERY_S = 300

type Row = dict[str, Value]


def rows_of(spec: LabSpec, hypothesis: str, seed: int) -> list[Row] | None:
    """Return every signal at every grid time of one world, or None if it does not do what it says."""
    world = started(spec, hypothesis, seed)
    if world is None:
        return None
    rows: list[Row] = []
    for at_s in spec.timeline.grid_s:
        incident.advance(world, at_s)
        row: Row = dict(signal_values(world.view, sorted(spec.signals)))
        if not _alarm_does_as_it_should(spec, hypothesis, row[spec.alarm.signal]):
            return None
        rows.append(row)
    return rows


def _alarm_does_as_it_should(spec: LabSpec, hypothesis: str, value: Value) -> bool:
    if hypothesis == worlds.HEALTHY and not spec.admission.alarm_was_silent:
        return True
    return spec.alarm.rings(value) == (hypothesis != worlds.HEALTHY)


def started(spec: LabSpec, hypothesis: str, seed: int) -> Incident | None:
    """Return a world at its page, or None if it was not healthy before the fault.

    While healthy the alarm is silent, unless it is one that always rings, and the admission's own bounds hold.
    """
    line, rule = spec.timeline, spec.admission
    world = incident.waking(spec, seed, hypothesis=hypothesis)
    names = {bound.signal for bound in (*rule.healthy, *rule.healthy_mean)} | {spec.alarm.signal}
    seen: list[Mapping[str, Value]] = []
    for at_s in range(line.healthy_from_s, line.fault_at_s + 1, HEALTHY_EVERY_S):
        incident.advance(world, at_s)
        values = signal_values(world.view, names)
        if rule.alarm_was_silent and spec.alarm.rings(values[spec.alarm.signal]):
            return None
        if not _hold(rule.healthy, values):
            return None
        seen.append(values)
    if not _hold(rule.healthy_mean, _means(seen, rule.healthy_mean)):
        return None
    incident.advance(world, 0)
    return world


def _hold(bounds: Iterable[Bound], values: Mapping[str, Value]) -> bool:
    return all(bound.holds(values[bound.signal]) for bound in bounds)


def _means(seen: Sequence[Mapping[str, Value]], bounds: Iterable[Bound]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for bound in bounds:
        values = [row[bound.signal] for row in seen]
        numbers = [value for value in values if isinstance(value, float | int)]
        found[bound.signal] = fmean(numbers) if numbers else None
    return found


def stays_hurt(spec: LabSpec, hypothesis: str, seed: int) -> bool:
    """Tell whether the untouched world is what the brief says for as long as a mark can look at it.

    A fault shows its symptom at the page, and misses its alarm every five minutes; a healthy control only has to
    ring, as it does in its table.
    """
    world = started(spec, hypothesis, seed)
    if world is None:
        return False
    rule, plan = spec.admission, spec.mitigation
    is_fault = spec.hypotheses[hypothesis].answer.scope == "fault"
    if is_fault and not _holds_now(world, rule.page):
        return False
    last_s = spec.timeline.budget_s + plan.settle_s + plan.window_s if is_fault else 0
    for at_s in range(0, last_s + 1, HURT_EVERY_S):
        incident.advance(world, at_s)
        if not spec.alarm.rings(incident.alarm_now(world)):
            return False
        if is_fault and not _holds_now(world, rule.hurt):
            return False
    return True


def _holds_now(world: Incident, bounds: Iterable[Bound]) -> bool:
    bounds = tuple(bounds)
    return _hold(bounds, signal_values(world.view, {bound.signal for bound in bounds}))


def rare_first(spec: LabSpec) -> tuple[str, ...]:
    """Return the worlds of a table in the order in which a seed is tried: a burst turns most away, so it goes first."""
    faults = sorted(spec.hypotheses, key=lambda key: spec.hypotheses[key].world.burst is None)
    return (*faults, worlds.HEALTHY)


def seed_rows(spec: LabSpec, seed: int) -> dict[str, list[Row]] | str:
    """Return every world's rows at a table seed, or the first world that does not do what it says at it."""
    found: dict[str, list[Row]] = {}
    for name in rare_first(spec):
        rows = rows_of(spec, name, seed)
        if rows is None:
            return name
        found[name] = rows
    return found


def table_of(spec: LabSpec, found: Sequence[Mapping[str, list[Row]]]) -> Table:
    """Return the information table of what qualified seeds read, one entry a seed."""
    names = tuple(dict.fromkeys((*spec.hypotheses, worlds.HEALTHY)))
    return Table(
        hypotheses=tuple(spec.hypotheses),
        priors=spec.priors,
        grid_s=spec.timeline.grid_s,
        signals=tuple(
            Signal(
                name=key,
                unit=each.unit,
                transform=each.transform,
                resolution=each.resolution,
                kind=each.kind,
            )
            for key, each in spec.signals.items()
        ),
        runs={
            (name, at_s): tuple(rows[name][position] for rows in found)
            for name in names
            for position, at_s in enumerate(spec.timeline.grid_s)
        },
    )


@dataclass(frozen=True)
class Made:
    """A table, the seeds that it is made of, and how many seeds each world turned away."""

    table: Table
    seeds: tuple[int, ...]
    refused: Mapping[str, int]


def make_table(
    spec: LabSpec,
    seeds: int,
    told: Callable[[str], None],
    each: Callable[[Iterable[int]], Iterable[dict[str, list[Row]] | str]] | None = None,
) -> Made:
    """Return the information table over the first ``seeds`` seeds at which every world qualifies.

    ``each`` gives the rows of seeds in their order, where they are computed side by side.
    Raises RuntimeError if too few of the first MOST_TRIED seeds qualify.
    """
    refused: dict[str, int] = {}
    found: dict[int, dict[str, list[Row]]] = {}
    stream = range(TABLE_FROM, TABLE_FROM + MOST_TRIED)
    results = (seed_rows(spec, seed) for seed in stream) if each is None else each(stream)
    for seed, rows in zip(stream, results, strict=False):
        if isinstance(rows, str):
            refused[rows] = refused.get(rows, 0) + 1
            continue
        found[seed] = rows
        told(f"table: {len(found)} of {seeds} seeds, {seed - TABLE_FROM + 1} tried")
        if len(found) == seeds:
            return Made(table_of(spec, tuple(found.values())), tuple(found), refused)
    raise RuntimeError(
        f"{spec.slug}: only {len(found)} of {seeds} seeds qualify; turned away by {refused}"
    )


def pool_seeds(spec: LabSpec, wanted: Callable[[str], bool]) -> Iterator[tuple[int, str]]:
    """Return the pool seeds whose worlds stay hurt, and their hypotheses, in order.

    Seeds of a hypothesis that is no longer ``wanted`` are passed over.
    """
    for seed in range(POOL_FROM, POOL_FROM + MOST_TRIED):
        hypothesis = worlds.hypothesis_of(spec, seed)
        if wanted(hypothesis) and stays_hurt(spec, hypothesis, seed):
            yield seed, hypothesis

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
from labs.instruments.signals import signal_values, ttft_p95_at
from labs.marking.table import Signal, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from labs.incident import Incident
    from labs.marking.table import Value
    from labs.simulator.telemetry import Sample
    from labs.specs import LabSpec

TABLE_FROM = 1_000_000
POOL_FROM = 2_000_000
MOST_TRIED = 5_000
HEALTHY_TTFT_P95_S = 0.6
"""While healthy, p95 TTFT stays at or below this at every point of the panel."""
HEALTHY_KV = (0.45, 0.65)
"""While healthy, KV usage lies here on average."""
HEALTHY_PREEMPTIONS = 5
HURT_KV, HURT_PREEMPTIONS = 0.94, 100
"""In a served world the five minutes before the page hold more of both, on average and in all."""

type Row = dict[str, Value]


def rows_of(spec: LabSpec, hypothesis: str, seed: int) -> list[Row] | None:
    """Return every signal at every grid time of one world, or None if it does not do what it says."""
    world = incident.begin(spec, seed, hypothesis=hypothesis)
    if not was_healthy(world):
        return None
    rows: list[Row] = []
    alarm_s = spec.alarm.ttft_p95_above_s
    for at_s in spec.timeline.grid_s:
        incident.advance(world, at_s)
        row: Row = dict(signal_values(world.view, sorted(spec.signals)))
        ttft = row["ttft_p95_s"]
        rings = isinstance(ttft, float) and ttft > alarm_s
        if rings == (hypothesis == worlds.HEALTHY):
            return None
        rows.append(row)
    return rows


def was_healthy(world: Incident) -> bool:
    """Tell whether the ten minutes and more before the fault were healthy.

    p95 TTFT stays under the alarm, and next to nothing is preempted.
    """
    timeline = world.spec.timeline
    points = incident.ttft_series(world, from_s=timeline.healthy_from_s)
    before = [value for at_s, value in points if at_s <= timeline.fault_at_s and value is not None]
    samples = _samples(world, timeline.healthy_from_s, timeline.fault_at_s)
    preempted = samples[-1].preemptions - samples[0].preemptions if samples else 0
    return (
        bool(before)
        and max(before) <= HEALTHY_TTFT_P95_S
        and preempted <= HEALTHY_PREEMPTIONS
        and HEALTHY_KV[0] <= _mean_kv(samples) <= HEALTHY_KV[1]
    )


def shows_symptom(world: Incident) -> bool:
    """Tell whether a world at its page shows what the brief says: a full pool, and preemptions that climb."""
    samples = _samples(world, -300, 0)
    preempted = samples[-1].preemptions_reported - samples[0].preemptions_reported
    return _mean_kv(samples) >= HURT_KV and preempted >= HURT_PREEMPTIONS


def _samples(world: Incident, from_s: int, to_s: int) -> list[Sample]:
    return [s for s in world.world.cluster.engines[0].samples if from_s <= s.t_s <= to_s]


def _mean_kv(samples: Sequence[Sample]) -> float:
    return fmean(sample.kv_cache_usage_perc for sample in samples)


def stays_hurt(spec: LabSpec, hypothesis: str, seed: int) -> bool:
    """Tell whether the untouched world misses its alarm for as long as a mark can look at it, every five minutes."""
    world = incident.begin(spec, seed, hypothesis=hypothesis)
    if not (was_healthy(world) and shows_symptom(world)):
        return False
    plan = spec.mitigation
    last_s = spec.timeline.budget_s + plan.settle_s + plan.window_s
    for at_s in range(0, last_s + 1, 300):
        incident.advance(world, at_s)
        ttft = ttft_p95_at(world.world.cluster, float(at_s))
        if ttft is None or ttft <= 2 * spec.alarm.ttft_p95_above_s:
            return False
    return True


def rare_first(spec: LabSpec) -> tuple[str, ...]:
    """Return the worlds of a table in the order in which a seed is tried: the rarest turns most away, so it goes first."""
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
    names = (*spec.hypotheses, worlds.HEALTHY)
    return Table(
        hypotheses=tuple(spec.hypotheses),
        priors=spec.priors,
        grid_s=spec.timeline.grid_s,
        signals=tuple(
            Signal(name=key, unit=each.unit, transform=each.transform, resolution=each.resolution)
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


def make_table(spec: LabSpec, seeds: int, told: Callable[[str], None]) -> Made:
    """Return the information table over the first ``seeds`` seeds at which every world qualifies.

    Raises RuntimeError if too few of the first MOST_TRIED seeds qualify.
    """
    refused: dict[str, int] = {}
    found: dict[int, dict[str, list[Row]]] = {}
    for seed in range(TABLE_FROM, TABLE_FROM + MOST_TRIED):
        rows = seed_rows(spec, seed)
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

"""A drill's information table: what every signal reads in every world, over many seeds. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from courseware.served import remembered
from labs.marking import values
from labs.marking.table import Signal, Table
from lessons.drills.evidence import evidence_of
from lessons.drills.spec import drill

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from labs.marking.table import Value
    from lessons.drills.spec import DrillSpec

SEEDS = 24
"""Of the table; learners are served others."""
POOL_FROM = 1000
AT_S = 0


@remembered
def table_of(key: str) -> Table:
    """Return a drill's table. Computed once a process: 24 seeds of each world, well under a second."""
    spec = drill(key)
    return made(spec, range(1, SEEDS + 1))


def made(spec: DrillSpec, seeds: Iterable[int]) -> Table:
    """Return the table of these seeds."""
    evidence = evidence_of(spec.evidence)
    chosen = list(seeds)
    return Table(
        hypotheses=tuple(spec.suspects),
        priors=spec.priors,
        grid_s=(AT_S,),
        signals=tuple(
            Signal(name, each.unit, each.transform, each.resolution, kind=each.kind)
            for name, each in spec.signals.items()
        ),
        runs={
            (world, AT_S): tuple(
                _row(spec, evidence.observe(world, seed).values) for seed in chosen
            )
            for world in spec.suspects
        },
    )


def _row(spec: DrillSpec, read: Mapping[str, Value]) -> dict[str, Value]:
    return {name: read[name] for name in spec.signals}


def instruments_of(spec: DrillSpec) -> list[values.Instrument]:
    """Return the measurements as marking values them."""
    return [
        values.Instrument(key, each.signals, each.cost_s) for key, each in spec.measurements.items()
    ]


def worth(spec: DrillSpec) -> dict[str, values.Valued]:
    """Return what each measurement is worth as the first, by its key: bits, and bits a minute."""
    listed = values.valued_instruments(table_of(spec.key), instruments_of(spec), AT_S)
    return {each.instruments[0]: each for each in listed}

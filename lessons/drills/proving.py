"""What a drill must show of itself: the symptom in every world, a measurement that separates, a fix that is the right one."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

from labs.marking.information import alarm_upper_bound, best_information, entropy, told_best
from labs.proof import Line
from lessons.drills.evidence import evidence_of
from lessons.drills.spec import drills
from lessons.drills.tables import AT_S, POOL_FROM, made, worth

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labs.marking.table import Table
    from lessons.drills.spec import DrillSpec

SEEDS = 40
ALARM_TELLS, DISCRIMINATES, PAIR_BITS, FIRST_BEST = 0.35, 0.60, 0.50, 1.0


@dataclass
class DrillProof:
    """What a drill showed of itself."""

    number: str
    lines: list[Line]
    best: str
    """The measurement that is worth most as the first."""
    values: dict[str, float] = field(default_factory=dict)
    """Measurement -> bits a minute."""

    @property
    def holds(self) -> bool:
        return all(line.verdict != "red" for line in self.lines)


def prove(number: str) -> DrillProof:
    """Compute a drill's proof over forty seeds, none of which is the table's own."""
    spec = drills()[number]
    table = made(spec, range(POOL_FROM, POOL_FROM + SEEDS))
    known = worth(spec)
    best = max(known.values(), key=lambda each: each.value)
    return DrillProof(
        number,
        list(_lines(spec, table)),
        best.instruments[0],
        {key: round(each.value, 3) for key, each in known.items()},
    )


def _lines(spec: DrillSpec, table: Table) -> Iterator[Line]:
    rang = {
        world: sum(_reads(row[spec.symptom.signal]) >= spec.symptom.shows for row in rows)
        for (world, _), rows in table.runs.items()
    }
    least = min(rang, key=lambda world: rang[world])
    yield Line(
        1, "every world shows the symptom, least", rang[least] / SEEDS, 1.0, note=least, exact=True
    )
    bits = entropy(table.priors.values())
    tells = alarm_upper_bound(table, [(spec.symptom.signal, AT_S)]) / bits
    yield Line(2, "the symptom alone tells, of H", tells, ALARM_TELLS, at_most=True)
    asked = {name: AT_S for each in spec.measurements.values() for name in each.signals}
    yield Line(
        3,
        "measurements separate, lower bound of H",
        best_information(table, asked).lower / bits,
        DISCRIMINATES,
    )
    pairs = {
        (one, other): told_best(table, asked, one, other).lower
        for one, other in combinations(spec.suspects, 2)
        if spec.suspects[one].served or spec.suspects[other].served
    }
    worst = min(pairs, key=lambda pair: pairs[pair])
    yield Line(4, "worst pair, bits, lower bound", pairs[worst], PAIR_BITS, note=" / ".join(worst))
    yield from _fixes(spec)


def _fixes(spec: DrillSpec) -> Iterator[Line]:
    evidence, name = evidence_of(spec.evidence), spec.symptom.signal
    held = wrong = right = tried = 0
    for seed in range(POOL_FROM, POOL_FROM + SEEDS):
        for world, suspect in spec.suspects.items():
            for fix in spec.fixes:
                after = _reads(evidence.observe(world, seed, fix).values[name])
                holds = after <= spec.symptom.held
                if fix == suspect.fix:
                    right, held = right + 1, held + holds
                else:
                    tried, wrong = tried + 1, wrong + holds
    yield Line(5, "the right fix ends the symptom", held / right, 1.0, exact=True)
    yield Line(6, "another fix ends it", wrong / max(1, tried), 0.0, at_most=True, exact=True)


def _reads(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0

"""What the debrief shows of the questions asked, and never marks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from labs.marking.constants import WASTE_SHARE
from labs.marking.economy import ReadingTaken, known_signals, spend_s
from labs.marking.information import (
    best_information,
    counted_sets,
    known_with_derived,
    posterior,
)

if TYPE_CHECKING:
    from labs.marking.table import Table, Value


def waste_s(table: Table, readings: Sequence[ReadingTaken], spent_s: float | None = None) -> float:
    """Return spend − the cheapest readings with at least 95 % of the information, in seconds.

    Shown, never marked: thrift charges it already.
    """
    spent = spend_s(readings) if spent_s is None else spent_s
    known = known_signals(table, readings)
    best = best_information(table, known)
    if best.counted <= 0:
        return spent
    full = known_with_derived(table, known)
    cheapest = math.inf
    seen: set[frozenset[str]] = set()
    for needed, bits in _needs(table, full):
        if bits >= WASTE_SHARE * best.counted - 1e-12 and needed not in seen:
            seen.add(needed)
            cheapest = min(cheapest, _cheapest_cover(table, readings, known, needed))
    return max(0.0, spent - cheapest)


def _needs(table: Table, full: Mapping[str, int]) -> list[tuple[frozenset[str], float]]:
    """Return, for each set of known signals, what must be read for it and what it tells."""
    return [
        (frozenset().union(*(_read_for(table, name) for name, _ in columns)), bits)
        for columns, bits in counted_sets(table, full)
    ]


def _read_for(table: Table, name: str) -> frozenset[str]:
    inputs = table.signal(name).inputs
    return (
        frozenset().union(*(_read_for(table, each) for each in inputs))
        if inputs
        else (frozenset({name}))
    )


def _cheapest_cover(
    table: Table,
    readings: Sequence[ReadingTaken],
    known: Mapping[str, int],
    needed: frozenset[str],
) -> float:
    """Return the least seconds of readings that show all of ``needed`` where they count."""
    costs: dict[frozenset[str], float] = {frozenset(): 0.0}
    for each in readings:
        grid = table.grid_time(each.at_s)
        if each.spoilt or grid is None:
            continue
        gives = frozenset(name for name in each.values if known.get(name) == grid) & needed
        for have, cost in list(costs.items()):
            more = have | gives
            costs[more] = min(costs.get(more, math.inf), cost + each.cost_s)
    return costs.get(needed, math.inf)


def posterior_after(
    table: Table,
    readings: Sequence[ReadingTaken],
) -> dict[str, float]:
    """Return q on the most telling three signals that were read. Shown, never marked.

    Raises ValueError if a derived signal is among them and no reading brought its value.
    """
    last: dict[str, Value] = {}
    for each in sorted(readings, key=lambda each: (each.at_s, each.number)):
        if not each.spoilt and table.grid_time(each.at_s) is not None:
            last |= {**each.derived, **each.values}
    columns = best_information(table, known_signals(table, readings)).columns
    if missing := sorted(name for name, _ in columns if name not in last):
        raise ValueError(f"the posterior needs the values of {missing}")
    return posterior(table, {column: last[column[0]] for column in columns})

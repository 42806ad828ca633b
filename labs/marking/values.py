"""What instruments are worth: information per minute, alone and in sets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from labs.marking.constants import ATTENTION_S, LARGEST_SET
from labs.marking.information import counted_sets, known_with_derived

if TYPE_CHECKING:
    from labs.marking.table import Column, Table


@dataclass(frozen=True, slots=True)
class Instrument:
    """Something that shows signals for a price."""

    name: str
    signals: tuple[str, ...]
    cost_s: float
    """Seconds that a reading takes."""
    disturbance_s: float = 0
    """Extra SLO-missing user-seconds it causes ÷ those per second of the untouched world."""


@dataclass(frozen=True, slots=True)
class Valued:
    """What a set of instruments is worth at one grid time."""

    instruments: tuple[str, ...]
    information: float
    """I*, bits."""
    columns: tuple[Column, ...]
    """The signals that tell it."""
    seconds: float
    """Cost and disturbance, without attention."""
    value: float
    """V: bits per minute."""


def value_per_minute(information: float, seconds: float, signals_shown: int) -> float:
    """Return V in bits per minute: 60 · I* / (seconds + 15 s · signals shown).

    ``seconds`` are cost, disturbance and waits. Nothing shown for nothing is worth 0.
    """
    price_s = seconds + ATTENTION_S * signals_shown
    return 60 * information / price_s if price_s > 0 else 0.0


def _valued_sets(
    table: Table,
    instruments: Sequence[Instrument],
    grid_s: int,
    largest: int,
    priors: Mapping[str, float] | None,
) -> list[Valued]:
    """Return every set of up to ``largest`` instruments with its worth."""
    shown = {name for instrument in instruments for name in instrument.signals}
    rated = [
        (bits, frozenset(name for name, _ in columns), columns)
        for columns, bits in counted_sets(table, dict.fromkeys(shown, grid_s), priors=priors)
    ]
    rated.sort(key=lambda each: -each[0])
    worth = []
    ordered = sorted(instruments, key=lambda each: each.name)
    for size in range(1, largest + 1):
        for chosen_set in combinations(ordered, size):
            seen = {name for instrument in chosen_set for name in instrument.signals}
            known = set(known_with_derived(table, dict.fromkeys(seen, grid_s)))
            bits, _, columns = next(
                (each for each in rated if each[1] <= known), (0.0, frozenset[str](), ())
            )
            seconds = math.fsum(each.cost_s + each.disturbance_s for each in chosen_set)
            value = value_per_minute(bits, seconds, len(seen))
            called = tuple(each.name for each in chosen_set)
            worth.append(Valued(called, bits, columns, seconds, value))
    return worth


def valued_instruments(
    table: Table,
    instruments: Sequence[Instrument],
    grid_s: int,
    *,
    priors: Mapping[str, float] | None = None,
) -> tuple[Valued, ...]:
    """Return each instrument's I*, seconds and V at a grid time, the best V first."""
    worth = _valued_sets(table, instruments, grid_s, 1, priors)
    return tuple(sorted(worth, key=lambda each: (-each.value, each.instruments)))


def value_left(
    table: Table,
    instruments: Sequence[Instrument],
    grid_s: int,
    after: Mapping[str, float],
) -> tuple[Valued, ...]:
    """Return what each instrument is still worth once ``after`` is the posterior."""
    return valued_instruments(table, instruments, grid_s, priors=after)


def best_value(
    table: Table,
    instruments: Sequence[Instrument],
    grid_s: int,
    *,
    priors: Mapping[str, float] | None = None,
) -> Valued:
    """Return the set of at most three instruments with the highest V; its value is V*.

    Raises ValueError without instruments.
    """
    if not instruments:
        raise ValueError("a lab without instruments has no best value")
    worth = _valued_sets(table, instruments, grid_s, LARGEST_SET, priors)
    return min(worth, key=lambda each: (-each.value, len(each.instruments), each.instruments))

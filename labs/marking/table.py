"""A lab's information table: what every signal read in every world, over the table's seeds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from labs.marking.constants import HEALTHY, HEALTHY_PRIOR

_CLOSE = 1e-9

type Value = float | int | str | None
"""What a signal read: a number, a category, or None where it was absent."""

type Column = tuple[str, int]
"""A signal's name and the grid time, in seconds after the page, at which it was read."""

type Transform = Literal["id", "ln", "ln1p", "logit"]
type Kind = Literal["number", "category"]


@dataclass(frozen=True, slots=True)
class Signal:
    """One number or category that instruments show."""

    name: str
    unit: str
    """Unit of the raw value, for the page."""
    transform: Transform
    """Scale on which two readings are compared."""
    resolution: float
    """Difference in transformed units that a reader could not act on; above 0."""
    inputs: tuple[str, ...] = ()
    """Signals that a derived signal is computed from; empty for one that is read."""
    kind: Kind = "number"

    def __post_init__(self) -> None:
        if not self.resolution > 0 or not math.isfinite(self.resolution):
            raise ValueError(f"signal {self.name}: resolution must be above 0: {self.resolution}")
        if self.transform not in ("id", "ln", "ln1p", "logit"):
            raise ValueError(f"signal {self.name}: unknown transform {self.transform!r}")
        if self.kind not in ("number", "category"):
            raise ValueError(f"signal {self.name}: unknown kind {self.kind!r}")
        object.__setattr__(self, "inputs", tuple(sorted(self.inputs)))


def transformed(signal: Signal, value: Value) -> float | None:
    """Return a reading on its signal's scale, or None where it has no place there.

    Without a place are: an absent value, a category, and a number outside the transform's
    domain, as a rate of 0 under ``ln``. Those are compared for equality.
    """
    if value is None or signal.kind == "category":
        return None
    number = float(value)
    match signal.transform:
        case "id":
            return number
        case "ln":
            return math.log(number) if number > 0 else None
        case "ln1p":
            return math.log1p(number) if number > -1 else None
        case "logit":
            return math.log(number / (1 - number)) if 0 < number < 1 else None


def default_priors(hypotheses: Iterable[str]) -> dict[str, float]:
    """Return the prior of an author who states none: healthy 0.2, the rest equal.

    Raises ValueError without hypotheses.
    """
    names = tuple(hypotheses)
    faults = [name for name in names if name != HEALTHY]
    if not faults:
        raise ValueError("a lab needs at least one hypothesis that is a fault")
    share = (1 - HEALTHY_PRIOR) / len(faults) if HEALTHY in names else 1 / len(faults)
    return {name: HEALTHY_PRIOR if name == HEALTHY else share for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """What the table runs read. Seed s is the same draw of nuisances in every world."""

    hypotheses: tuple[str, ...]
    """The lab's worlds that could be the truth, in the author's order."""
    priors: Mapping[str, float]
    """Probability of each hypothesis given brief and alarm; sums to 1."""
    grid_s: tuple[int, ...]
    """Ascending incident times at which every signal was read."""
    signals: tuple[Signal, ...]
    runs: Mapping[tuple[str, int], tuple[Mapping[str, Value], ...]]
    """(world, grid time) -> for each seed, signal -> value. Also holds the healthy world."""
    memo: dict[object, Any] = field(default_factory=dict, init=False, compare=False, repr=False)
    """Estimates already made from this table. Not part of its value; never stored."""

    def __post_init__(self) -> None:
        """Raise ValueError, naming the place, if the table could not be marked from."""
        if len(self.hypotheses) <= 1 or len(set(self.hypotheses)) != len(self.hypotheses):
            raise ValueError(f"a table needs two distinct hypotheses or more: {self.hypotheses}")
        if set(self.priors) != set(self.hypotheses):
            raise ValueError(f"priors must name the hypotheses: {sorted(self.priors)}")
        if min(self.priors.values()) < 0 or abs(math.fsum(self.priors.values()) - 1) > _CLOSE:
            raise ValueError(f"priors must be at least 0 and sum to 1: {dict(self.priors)}")
        if not self.grid_s or list(self.grid_s) != sorted(set(self.grid_s)):
            raise ValueError(f"grid times must ascend: {self.grid_s}")
        names = [signal.name for signal in self.signals]
        if len(set(names)) != len(names):
            raise ValueError(f"a signal is declared twice: {sorted(names)}")
        for signal in self.signals:
            if missing := set(signal.inputs) - set(names):
                raise ValueError(f"signal {signal.name} needs unknown inputs {sorted(missing)}")
        self._check_runs(set(names))

    def _check_runs(self, names: set[str]) -> None:
        worlds = {world for world, _ in self.runs}
        if missing := set(self.hypotheses) - worlds:
            raise ValueError(f"no runs of {sorted(missing)}")
        wanted = {(world, at_s) for world in worlds for at_s in self.grid_s}
        if set(self.runs) != wanted:
            raise ValueError(f"runs missing or surplus: {sorted(wanted ^ set(self.runs))}")
        seeds = self.seeds
        if seeds <= 1:
            raise ValueError(f"a table needs two seeds or more: {seeds}")
        kinds = {signal.name: signal.kind for signal in self.signals}
        for (world, at_s), rows in self.runs.items():
            if len(rows) != seeds:
                raise ValueError(f"{world} at {at_s} s has {len(rows)} seeds, others {seeds}")
            for row in rows:
                if set(row) != names:
                    odd = sorted(set(row) ^ names)
                    raise ValueError(f"{world} at {at_s} s: signals missing or unknown: {odd}")
                for name, value in row.items():
                    if not _fits(kinds[name], value):
                        raise ValueError(f"{world} at {at_s} s: {name} cannot be {value!r}")

    @property
    def seeds(self) -> int:
        """n, the number of seeds that every world has."""
        return len(self.runs[self.hypotheses[0], self.grid_s[0]])

    @property
    def worlds(self) -> tuple[str, ...]:
        """The hypotheses, then any other world of the table by name."""
        others = {world for world, _ in self.runs} - set(self.hypotheses)
        return self.hypotheses + tuple(sorted(others))

    def signal(self, name: str) -> Signal:
        """Return the signal of that name. Raises ValueError if the table has none."""
        for signal in self.signals:
            if signal.name == name:
                return signal
        raise ValueError(f"the table has no signal {name!r}")

    def has(self, name: str) -> bool:
        """Whether the table has a signal of that name."""
        return any(signal.name == name for signal in self.signals)

    def grid_time(self, at_s: float) -> int | None:
        """Return the latest grid time at or before a reading; None if it came before all."""
        return max((grid for grid in self.grid_s if grid <= at_s), default=None)

    def values(self, world: str, column: Column) -> tuple[Value, ...]:
        """Return what a signal read in a world, seed by seed.

        Raises ValueError if the table has no such world, signal or grid time.
        """
        name, at_s = column
        if (world, at_s) not in self.runs:
            raise ValueError(f"the table has no {world!r} at {at_s} s")
        self.signal(name)
        return tuple(row[name] for row in self.runs[world, at_s])


def _fits(kind: Kind, value: Value) -> bool:
    if value is None:
        return True
    if kind == "category":
        return isinstance(value, str)
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def dump_table(table: Table) -> dict[str, Any]:
    """Return the table as plain lists, dicts, strings and numbers, ready for JSON."""
    return {
        "hypotheses": list(table.hypotheses),
        "priors": {name: table.priors[name] for name in table.hypotheses},
        "grid_s": list(table.grid_s),
        "signals": [
            {
                "name": signal.name,
                "unit": signal.unit,
                "kind": signal.kind,
                "transform": signal.transform,
                "resolution": signal.resolution,
                "inputs": list(signal.inputs),
            }
            for signal in table.signals
        ],
        "runs": {
            world: {
                str(at_s): {
                    signal.name: list(table.values(world, (signal.name, at_s)))
                    for signal in table.signals
                }
                for at_s in table.grid_s
            }
            for world in table.worlds
        },
    }


def load_table(data: Mapping[str, Any]) -> Table:
    """Return the table that ``dump_table`` wrote.

    Raises ValueError if a key is missing or the content does not hold together.
    """
    try:
        runs: dict[tuple[str, int], tuple[Mapping[str, Value], ...]] = {}
        for world, by_time in data["runs"].items():
            for at_s, by_signal in by_time.items():
                seeds = zip(*by_signal.values(), strict=True)
                runs[world, int(at_s)] = tuple(
                    dict(zip(by_signal, row, strict=True)) for row in seeds
                )
        return Table(
            hypotheses=tuple(data["hypotheses"]),
            priors=dict(data["priors"]),
            grid_s=tuple(data["grid_s"]),
            signals=tuple(
                Signal(
                    name=signal["name"],
                    unit=signal["unit"],
                    kind=cast("Kind", signal["kind"]),
                    transform=cast("Transform", signal["transform"]),
                    resolution=signal["resolution"],
                    inputs=tuple(signal["inputs"]),
                )
                for signal in data["signals"]
            ),
            runs=runs,
        )
    except KeyError as missing:
        raise ValueError(f"the table lacks {missing}") from missing

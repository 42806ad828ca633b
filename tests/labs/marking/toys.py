"""Small information tables that tests mark from."""

import random

from labs.marking.economy import ReadingTaken
from labs.marking.table import Signal, Table, default_priors


def shifted(offsets, resolution=0.1):
    """The specification's toy: ten runs 0, 0.1 … 0.9, shifted by each world's offset."""
    worlds = [f"w{number}" for number in range(len(offsets))]
    return Table(
        hypotheses=tuple(worlds),
        priors=dict.fromkeys(worlds, 1 / len(worlds)),
        grid_s=(0,),
        signals=(Signal("x", "", "id", resolution),),
        runs={
            (world, 0): tuple({"x": step / 10 + offset} for step in range(10))
            for world, offset in zip(worlds, offsets, strict=True)
        },
    )


def drawn(means, *, seeds=40, seed=1, grid_s=(0,), worlds=None, signals=None, resolution=0.1):
    """Normal signals of unit spread: ``means[signal][world]``, the same at every grid time."""
    rng = random.Random(f"toy:{seed}")
    count = len(means[0])
    names = tuple(worlds or (f"w{number}" for number in range(count)))
    called = signals or [f"s{number:02}" for number in range(len(means))]
    return Table(
        hypotheses=names,
        priors=default_priors(names),
        grid_s=grid_s,
        signals=tuple(Signal(name, "", "id", resolution) for name in called),
        runs={
            (world, at_s): tuple(
                {name: rng.gauss(row[place], 1) for name, row in zip(called, means, strict=True)}
                for _ in range(seeds)
            )
            for place, world in enumerate(names)
            for at_s in grid_s
        },
    )


def reading(number, *signals, cost_s=10, at_s=None, **more):
    """A reading of some signals; by default at its number in seconds."""
    return ReadingTaken(
        number=number,
        instrument=more.pop("instrument", f"i{'-'.join(signals)}"),
        values=more.pop("values", dict.fromkeys(signals, 0.0)),
        at_s=number if at_s is None else at_s,
        cost_s=cost_s,
        **more,
    )

"""What a set of signals tells of the hypotheses, in bits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from labs.marking.constants import (
    CONFIDENCE_QUANTILE,
    COUNTED_BITS,
    LARGEST_SET,
    PRIOR_MIX,
)
from labs.marking.kernels import Kernels, reading_votes, run_votes
from labs.marking.quantiles import t_quantile

if TYPE_CHECKING:
    from labs.marking.table import Column, Table, Value


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one set of signals tells, in bits."""

    value: float
    """Î: estimated information; slightly below 0 for noise."""
    half: float
    """Half width of its 95 % interval over seeds."""
    lower: float
    """Lower bound, with one more seed misread."""
    counted: float
    """Î if it is at least 0.10 and above its half width, else 0."""

    @property
    def upper(self) -> float:
        """Upper bound, Î + half."""
        return self.value + self.half


@dataclass(frozen=True, slots=True)
class Best:
    """I* of what is known: the most that any set of three signals or fewer tells."""

    counted: float
    """Bits; 0 if no set counts."""
    columns: tuple[Column, ...]
    """The set that tells it, by name; empty if no set counts."""
    lower: float
    """Lower bound of that set's information; 0 if no set counts."""


def entropy(priors: Iterable[float]) -> float:
    """Return H(π) in bits."""
    return -math.fsum(p * math.log2(p) for p in priors if p > 0)


@dataclass(frozen=True, slots=True)
class _Asked:
    """Which worlds are to be told apart, and what is already known about it."""

    worlds: tuple[str, ...]
    priors: tuple[float, ...]
    """In the order of the worlds."""
    memo: dict[object, Any]
    kernels: Kernels


def _asked(
    table: Table, worlds: Sequence[str] | None, priors: Mapping[str, float] | None
) -> _Asked:
    """Return the question: by default the lab's hypotheses under the lab's priors.

    A choice of worlds without priors is taken as equally likely, and sorted, so that naming two
    worlds in either order is one question. Estimates are kept with the table unless the priors
    are someone's own: each posterior is another prior, and they would grow with every attempt.
    """
    if worlds is None:
        names = table.hypotheses
        given = table.priors if priors is None else priors
    else:
        names = tuple(sorted(worlds))
        given = dict.fromkeys(names, 1 / len(names)) if priors is None else priors
    if len(names) <= 1 or len(set(names)) != len(names):
        raise ValueError(f"information needs two distinct worlds or more: {names}")
    memo = table.memo if priors is None else {}
    return _Asked(names, tuple(given[name] for name in names), memo, {})


def _estimated(table: Table, columns: tuple[Column, ...], asked: _Asked) -> Estimate:
    key = ("estimate", columns, asked.worlds, asked.priors)
    if key in asked.memo:
        found: Estimate = asked.memo[key]
        return found
    priors = asked.priors
    votes = run_votes(table, columns, asked.worlds, asked.kernels)
    weights = np.array(priors)
    weighted = votes * weights
    totals = weighted.sum(axis=2, keepdims=True)
    # Where not one run votes, all kernels underflow, the reading says nothing.
    shares = np.where(totals > 0, weighted / np.where(totals > 0, totals, 1.0), weights)
    own = np.einsum("hsh->hs", (1 - PRIOR_MIX) * shares + PRIOR_MIX * weights)
    losses = np.where(weights[:, None] > 0, -np.log2(np.where(own > 0, own, 1.0)), 0.0)
    per_seed = weights @ losses
    seeds = table.seeds
    value = entropy(priors) - float(per_seed.mean())
    spread = float(per_seed.std(ddof=1)) / math.sqrt(seeds)
    half = t_quantile(CONFIDENCE_QUANTILE, seeds - 1) * spread
    misread = max(p * math.log2(1 / (PRIOR_MIX * p)) for p in priors if p > 0) / (seeds + 1)
    counted = value if value >= COUNTED_BITS and value > half else 0.0
    made = Estimate(value=value, half=half, lower=value - half - misread, counted=counted)
    asked.memo[key] = made
    return made


def estimate(
    table: Table,
    columns: Iterable[Column],
    *,
    worlds: Sequence[str] | None = None,
    priors: Mapping[str, float] | None = None,
) -> Estimate:
    """Return what a set of one to three columns tells of the worlds, in bits.

    ℓ_s = Σ π_h · (−log2 q(h | x_{h,s})) is one number a seed, and Î = H(π) − mean ℓ. Worlds
    default to the hypotheses under their priors; chosen worlds to equal priors.

    Raises ValueError for no column, more than three, or one that the table does not hold.
    """
    ordered = tuple(sorted(set(columns)))
    if not 1 <= len(ordered) <= LARGEST_SET:
        raise ValueError(f"a set holds one to {LARGEST_SET} signals: {ordered}")
    return _estimated(table, ordered, _asked(table, worlds, priors))


def known_with_derived(table: Table, known: Mapping[str, int]) -> dict[str, int]:
    """Return what is known, signal -> grid time, with every derived signal that follows.

    A derived signal is known once all its inputs are, at the latest of their times. Signals
    that the table does not hold tell nothing and are left out.
    """
    full = {name: at_s for name, at_s in known.items() if table.has(name)}
    derived = [signal for signal in table.signals if signal.inputs]
    for _ in derived:
        for signal in derived:
            if signal.name not in full and all(name in full for name in signal.inputs):
                full[signal.name] = max(full[name] for name in signal.inputs)
    return full


def _sets(names: Iterable[str]) -> Iterable[tuple[str, ...]]:
    ordered = sorted(names)
    for size in range(1, LARGEST_SET + 1):
        yield from combinations(ordered, size)


def _estimated_sets(
    table: Table, full: Mapping[str, int], asked: _Asked
) -> Iterable[tuple[tuple[Column, ...], Estimate]]:
    for chosen in _sets(full):
        columns = tuple((name, full[name]) for name in chosen)
        yield columns, _estimated(table, columns, asked)


def counted_sets(
    table: Table,
    known: Mapping[str, int],
    *,
    priors: Mapping[str, float] | None = None,
) -> list[tuple[tuple[Column, ...], float]]:
    """Return every set of three known signals or fewer that counts, with its bits."""
    full = known_with_derived(table, known)
    made = _estimated_sets(table, full, _asked(table, None, priors))
    return [(columns, each.counted) for columns, each in made if each.counted > 0]


def best_information(
    table: Table,
    known: Mapping[str, int],
    *,
    worlds: Sequence[str] | None = None,
    priors: Mapping[str, float] | None = None,
) -> Best:
    """Return I* of what is known: the most that counts over its sets of three or fewer.

    ``known`` maps a signal to the grid time at which it counts; derived signals are added.
    Of equal sets the smaller, then the first by name, is the one returned.
    """
    asked = _asked(table, worlds, priors)
    full = known_with_derived(table, known)
    key = ("best", tuple(sorted(full.items())), asked.worlds, asked.priors)
    if key in asked.memo:
        found: Best = asked.memo[key]
        return found
    best = Best(0.0, (), 0.0)
    for columns, made in _estimated_sets(table, full, asked):
        if made.counted > best.counted + 1e-12:
            best = Best(made.counted, columns, made.lower)
    asked.memo[key] = best
    return best


def told_best(table: Table, known: Mapping[str, int], one: str, other: str) -> Best:
    """Return I* on two worlds alone, equally likely, with its set and lower bound."""
    return best_information(table, known, worlds=(one, other))


def told(table: Table, known: Mapping[str, int], one: str, other: str) -> float:
    """Return how far what is known separates two worlds, in bits."""
    return told_best(table, known, one, other).counted


def alarm_upper_bound(table: Table, columns: Iterable[Column]) -> float:
    """Return the upper bound, in bits, of what the alarm's own signals give away."""
    return estimate(table, columns).upper


def posterior(
    table: Table,
    values: Mapping[Column, Value],
    *,
    priors: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Return q(j | x) for a reading of at most three columns; the prior if it is empty.

    Raises ValueError for more than three columns or one that the table does not hold.
    """
    asked = _asked(table, None, priors)
    names, weights = asked.worlds, asked.priors
    if not values:
        return dict(zip(names, weights, strict=True))
    if len(values) > LARGEST_SET:
        raise ValueError(f"a set holds at most {LARGEST_SET} signals: {sorted(values)}")
    votes = reading_votes(table, values, names, table.hypotheses)
    weighted = [float(v) * p for v, p in zip(votes, weights, strict=True)]
    total = math.fsum(weighted)
    shares = [part / total if total > 0 else p for part, p in zip(weighted, weights, strict=True)]
    return {
        name: (1 - PRIOR_MIX) * share + PRIOR_MIX * p
        for name, share, p in zip(names, shares, weights, strict=True)
    }

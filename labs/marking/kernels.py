"""How alike two readings are, and how each simulated run votes for its world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from labs.marking.constants import BANDWIDTH_FACTOR, UNEQUAL_KERNEL
from labs.marking.table import Column, Signal, Table, Value, transformed

type Floats = NDArray[np.float64]
type Kernels = dict[tuple[Column, tuple[str, ...], int], Floats]
"""Kernel matrices already made: they are shared by all the sets that hold a column."""

_NUMBER = -1


def _coded(
    signal: Signal, values: Sequence[Value], codes: dict[Value, int]
) -> tuple[Floats, NDArray[np.int64]]:
    """Return readings on their scale, and the code of each one that has no place there."""
    numbers = np.zeros(len(values))
    marks = np.full(len(values), _NUMBER, dtype=np.int64)
    for position, value in enumerate(values):
        number = transformed(signal, value)
        if number is None:
            marks[position] = codes.setdefault(value, len(codes))
        else:
            numbers[position] = number
    return numbers, marks


def _columns_of(
    table: Table, column: Column, worlds: tuple[str, ...]
) -> tuple[Floats, NDArray[np.int64], dict[Value, int]]:
    codes: dict[Value, int] = {}
    values = [value for world in worlds for value in table.values(world, column)]
    numbers, marks = _coded(table.signal(column[0]), values, codes)
    return numbers, marks, codes


def _bandwidth_squared(
    signal: Signal, numbers: Floats, marks: NDArray[np.int64], seeds: int, size: int
) -> float:
    """Return b² = (1.06 · s · n^(-1/(4+|A|)))² + δ², in squared transformed units.

    s is the pooled within-world standard deviation over the runs that have a number, its
    divisor their count less one for each world: K(n-1) where none is absent.
    """
    squares, divisor = 0.0, 0
    for start in range(0, len(numbers), seeds):
        block = numbers[start : start + seeds]
        present = block[marks[start : start + seeds] == _NUMBER]
        if len(present) > 1:
            squares += float(np.square(present - present.mean()).sum())
            divisor += len(present) - 1
    variance = squares / divisor if divisor else 0.0
    shrink = BANDWIDTH_FACTOR * seeds ** (-1 / (4 + size))
    return float(variance * shrink**2 + signal.resolution**2)


def _kernel(
    left: tuple[Floats, NDArray[np.int64]],
    right: tuple[Floats, NDArray[np.int64]],
    bandwidth_squared: float,
) -> Floats:
    """Return k = (1 + (Δ/b)²/4)^(-5/2) for each pair; 1 or 0.05 where one has no number."""
    (x, x_marks), (y, y_marks) = left, right
    with np.errstate(over="ignore"):
        base = 1 + np.square(x[:, None] - y[None, :]) / (4 * bandwidth_squared)
        kernel: Floats = 1 / (np.square(base) * np.sqrt(base))
    x_number, y_number = x_marks == _NUMBER, y_marks == _NUMBER
    if x_number.all() and y_number.all():
        return kernel
    equal = np.where(x_marks[:, None] == y_marks[None, :], 1.0, UNEQUAL_KERNEL)
    return np.where(x_number[:, None] & y_number[None, :], kernel, equal)


def _run_kernel(table: Table, column: Column, worlds: tuple[str, ...], size: int) -> Floats:
    """Return k between every two runs of the worlds, world by world and seed by seed."""
    numbers, marks, _ = _columns_of(table, column, worlds)
    squared = _bandwidth_squared(table.signal(column[0]), numbers, marks, table.seeds, size)
    return _kernel((numbers, marks), (numbers, marks), squared)


def run_votes(
    table: Table, columns: Sequence[Column], worlds: tuple[str, ...], kernels: Kernels
) -> Floats:
    """Return v[h, s, j]: the mean vote of world j's runs for run (h, s), its own left out."""
    product: Floats | None = None
    for column in columns:
        key = (column, worlds, len(columns))
        if key not in kernels:
            kernels[key] = _run_kernel(table, column, worlds, len(columns))
        product = kernels[key] if product is None else product * kernels[key]
    if product is None:
        raise ValueError("a set of signals needs at least one")
    count, seeds = len(worlds), table.seeds
    sums: Floats = product.reshape(count, seeds, count, seeds).sum(axis=3)
    divisors = np.full((count, 1, count), float(seeds))
    for world in range(count):
        # A run is exactly as alike itself as can be: its own vote is 1 in every kernel.
        sums[world, :, world] -= 1
        divisors[world, 0, world] = seeds - 1
    votes: Floats = np.maximum(sums, 0.0) / divisors
    return votes


def reading_votes(
    table: Table,
    values: Mapping[Column, Value],
    worlds: tuple[str, ...],
    pool: tuple[str, ...],
) -> Floats:
    """Return v[j]: the mean vote of each of ``worlds`` for a reading that is not in the table.

    The bandwidth is pooled over ``pool``, the lab's hypotheses.
    """
    if not values:
        raise ValueError("a reading needs at least one signal")
    product = np.ones(len(worlds) * table.seeds)
    for column in sorted(values):
        signal = table.signal(column[0])
        pooled, pooled_marks, _ = _columns_of(table, column, pool)
        squared = _bandwidth_squared(signal, pooled, pooled_marks, table.seeds, len(values))
        numbers, marks, codes = _columns_of(table, column, worlds)
        reading = _coded(signal, [values[column]], codes)
        product = product * _kernel(reading, (numbers, marks), squared)[0]
    means: Floats = product.reshape(len(worlds), table.seeds).mean(axis=1)
    return means

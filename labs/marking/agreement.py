"""Agreement of two graders, or of a grader and the rule."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

from labs.marking.constants import BAND_TOPS


def band(points: float) -> int:
    """Return the band of a mark, 0 to 4: to 39, 54, 69, 84 and 100, rounded half-up.

    Raises ValueError for a mark outside 0 to 100.
    """
    if not 0 <= points <= BAND_TOPS[-1]:
        raise ValueError(f"a mark lies between 0 and 100: {points}")
    return bisect_left(BAND_TOPS, int(points + 0.5))


def weighted_kappa(one: Sequence[int], other: Sequence[int]) -> float:
    """Return κ_w = 1 − Σ(i−j)²O_ij / Σ(i−j)²E_ij, with E from the margins.

    1 if both put everything into one and the same band. Raises ValueError for lists that are
    empty or of different lengths.
    """
    if not one or len(one) != len(other):
        raise ValueError(f"two lists of one length are needed: {len(one)} and {len(other)}")
    observed = sum((i - j) ** 2 for i, j in zip(one, other, strict=True))
    ours, theirs = Counter(one), Counter(other)
    expected = sum((i - j) ** 2 * ours[i] * theirs[j] for i in ours for j in theirs) / len(one)
    return 1 - observed / expected if expected else 1.0

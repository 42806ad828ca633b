"""Two readers' points: how far apart, their mean, and which attempts are read twice. Pure."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

type Given = Mapping[str, float | None]
"""Points by rubric item; None is an item that was not in the rubric when it was read."""

_PERCENT_PLACES = 16**8 / 100


def is_drawn(public_id: UUID, percent: int) -> bool:
    """Whether an attempt is among the ``percent`` of all that are read twice. Its id decides, so nobody chooses."""
    drawn = hashlib.sha256(f"second reading:{public_id}".encode()).hexdigest()[:8]
    return int(drawn, 16) < percent * _PERCENT_PLACES


def difference(one: Given, other: Given) -> float:
    """Return how many points lie between two readings, item by item: too many here and too few there do not cancel."""
    return sum(abs((one.get(key) or 0) - (other.get(key) or 0)) for key in {**one, **other})


def mean(one: Given, other: Given) -> dict[str, float | None]:
    """Return the mean of two readings for each item: exact, in halves. An item that only one of them had is theirs."""
    return {key: _middle(one.get(key), other.get(key)) for key in {**one, **other}}


def _middle(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return other if one is None else one
    middle = (one + other) / 2
    return int(middle) if middle == int(middle) else middle


def mean_off(pairs: Sequence[tuple[Given, Given]]) -> float:
    """Return the points between what was given and the reference, on average over every item that both have.

    0 if there is none.
    """
    off = [
        abs(given - right)
        for one, reference in pairs
        for key, right in reference.items()
        if right is not None and (given := one.get(key)) is not None
    ]
    return sum(off) / len(off) if off else 0.0

"""What each signal reads when all is well, from the lab's information table."""

from __future__ import annotations

from functools import lru_cache
from statistics import median

from labs import pool
from labs.digest import world_digest
from labs.marking.constants import HEALTHY


def healthy_medians(key: str) -> dict[str, float]:
    """Return what each signal reads in the median healthy world at the page; empty while the lab is unproved."""
    return _healthy_medians(key, world_digest(key))


@lru_cache(maxsize=32)
def _healthy_medians(key: str, _digest: str) -> dict[str, float]:
    try:
        table = pool.table(key)
    except pool.NotProved:
        return {}
    found: dict[str, float] = {}
    for signal in table.signals:
        values = table.values(HEALTHY, (signal.name, table.grid_s[0]))
        numbers = [float(value) for value in values if isinstance(value, int | float)]
        if numbers:
            found[signal.name] = median(numbers)
    return found

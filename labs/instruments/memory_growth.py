"""How fast a process grows, and by what torch has reserved beyond what it has allocated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.simulator.memory.ledger import MIB

if TYPE_CHECKING:
    from collections.abc import Callable

    from labs.simulator.memory.state import Memory

HOUR_S = 3600.0
GROWTH_WINDOW_S = 6 * HOUR_S
"""Slopes are over this, or over the life of the process if that is shorter."""
SHORTEST_SLOPE_S = 10.0


def slope_mib_per_h(
    memory: Memory, now_s: float, measure: Callable[[Memory, float], float]
) -> float | None:
    """Return by how much ``measure`` (bytes at a time) of the present process grows, MiB per hour; None if it is new."""
    life = memory.life_at(now_s)
    if life is None or life.ready_s is None:
        return None
    from_s = max(life.ready_s, now_s - GROWTH_WINDOW_S)
    if now_s - from_s < SHORTEST_SLOPE_S:
        return None
    grown = measure(memory, now_s) - measure(memory, from_s)
    return round(grown / MIB / ((now_s - from_s) / HOUR_S), 1)


def gap_bytes(memory: Memory, at_s: float) -> float:
    """Return what torch has reserved and nobody holds, on each rank at a time."""
    return memory.reserved_bytes(at_s) - memory.allocated_bytes(at_s)

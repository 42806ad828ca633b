"""Where people stop in a lab: attempts that came to no mark, by the phase that they had reached. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from labs.lab_insight import LEAST_OF_GROUP, Quartiles, quartiles_of

PHASES = ("Brief", "Predict", "Investigate", "Diagnose", "Change", "Verify", "Explain")
"""How far an attempt may have come, in the order of the room's ruler."""


@dataclass(frozen=True)
class Stopped:
    """One attempt that was given up, or left open."""

    reached: str
    """One of PHASES."""
    clock_s: int
    given_up: bool


@dataclass(frozen=True)
class Stops:
    """Attempts that came to no mark, by the phase that they had reached."""

    begun: int
    given_up: int
    left: int
    """Open, with nothing done for days."""
    phases: tuple[tuple[str, int], ...]
    """Each of PHASES with how many stopped there."""
    clock: Quartiles | None
    """Incident seconds at the stop; None below LEAST_OF_GROUP."""


def stops_of(stopped: Sequence[Stopped], *, begun: int) -> Stops:
    """Return where people stopped, of all attempts that learners began."""
    counts = Counter(each.reached for each in stopped)
    clocks = [float(each.clock_s) for each in stopped]
    return Stops(
        begun=begun,
        given_up=sum(each.given_up for each in stopped),
        left=sum(not each.given_up for each in stopped),
        phases=tuple((phase, counts[phase]) for phase in PHASES),
        clock=quartiles_of(clocks) if len(clocks) >= LEAST_OF_GROUP else None,
    )

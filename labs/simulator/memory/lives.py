"""The processes that an engine has been, who else held its GPUs, and what was there for one step."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labs.simulator.memory.growth import ALL

if TYPE_CHECKING:
    from labs.simulator.memory.growth import Counts, Growth
    from labs.simulator.memory.ledger import MemoryFlags
    from labs.simulator.memory.phases import StartUp
    from labs.simulator.memory.workspaces import Workspaces


@dataclass(slots=True)
class Life:
    """One process of the engine, from its start to its end."""

    index: int
    start_s: float
    flags: MemoryFlags
    startup: StartUp
    points: list[tuple[float, dict[str, float]]]
    """(time, requests since the start by class), in order of time; linear between."""
    growths: tuple[Growth, ...] = ()
    """What grows in it: of the code that it was started with, and what began while it ran."""
    ended_s: float | None = None
    ended_by: str = ""
    """The error that ended it; empty for an ordered stop."""
    workspaces: Workspaces | None = None

    @property
    def ready_s(self) -> float | None:
        """When it could serve; None if its start failed."""
        after_s = self.startup.ready_after_s
        return None if after_s is None else self.start_s + after_s

    def counts_at(self, at_s: float) -> Counts:
        """Return the requests since the start by class at ``at_s``."""
        place = bisect_right(self.points, at_s, key=lambda point: point[0])
        if place == 0:
            return {}
        from_s, before = self.points[place - 1]
        if place == len(self.points):
            return before
        to_s, after = self.points[place]
        share = (at_s - from_s) / (to_s - from_s)
        return {
            name: before.get(name, 0.0) + share * (count - before.get(name, 0.0))
            for name, count in after.items()
        }

    def time_of(self, requests: float) -> float | None:
        """Return when the process had had ``requests`` requests; None if it has not."""
        place = bisect_left(self.points, requests, key=lambda point: point[1].get(ALL, 0.0))
        if place == len(self.points):
            return None
        to_s, after = self.points[place]
        if place == 0:
            return to_s
        from_s, before = self.points[place - 1]
        low, high = before.get(ALL, 0.0), after[ALL]
        return from_s + (to_s - from_s) * (requests - low) / (high - low)

    def state(self) -> tuple[object, ...]:
        """Return it in plain values."""
        points = [(at_s, sorted(counts.items())) for at_s, counts in self.points]
        return (
            self.index, self.start_s, self.flags, self.startup.ready_after_s, self.startup.failure, points,
            self.growths, self.ended_s, self.ended_by, None if self.workspaces is None else self.workspaces.state(),
        )  # fmt: skip


@dataclass(slots=True, frozen=True)
class Tenant:
    """Another process on a GPU, from a time on; a later entry of the same pid takes its place."""

    from_s: float
    rank: int
    pid: int
    name: str
    n_bytes: int
    wanted_bytes: int
    """What it takes once there is room."""


@dataclass(slots=True, frozen=True)
class Transient:
    """A workspace that was there for one step."""

    at_s: float
    n_bytes: int
    request_id: str
    failed: bool
    kind: str = ""
    """Which kind of request takes such a workspace: ``Spike.kind``."""

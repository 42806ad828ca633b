"""Periodic pauses of an engine: time that is lost between two of its steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labs.simulator.request import to_ps

if TYPE_CHECKING:
    from labs.simulator.cluster import Cluster

NEVER = 2**62
"""Later than anything, picoseconds or steps: 53 days."""


@dataclass(slots=True, frozen=True)
class Pause:
    """A pause that comes again, by steps (a collector: it follows allocations) or by seconds (a scrape).

    By steps, it is due before every ``every_steps``-th step from when it was set. By seconds, it is due at
    multiples of ``every_s``; if a step is under way then, it comes when that step ends; an engine that
    stands idle pauses unseen.
    """

    pause_s: float
    every_s: float | None = None
    every_steps: int | None = None
    times: int | None = None
    """After how many it is over; None: never."""

    def __post_init__(self) -> None:
        """Refuse what is not a pause, and one that leaves no time between itself and the next."""
        if (self.every_s is None) == (self.every_steps is None):
            raise ValueError(f"a pause comes by seconds or by steps: {self}")
        if self.pause_s <= 0 or (self.every_s is not None and self.every_s <= self.pause_s):
            raise ValueError(f"a pause must be shorter than its period: {self}")
        if self.every_steps is not None and self.every_steps < 1:
            raise ValueError(f"every_steps must be at least 1: {self}")


class PauseClock:
    """When the pauses of one engine are due."""

    __slots__ = ("_due", "_left", "rules")

    def __init__(self, rules: tuple[Pause, ...], now_ps: int, steps: int) -> None:
        """Begin to count at ``now_ps``, after ``steps`` steps."""
        self.rules = rules
        self._left = [NEVER if rule.times is None else rule.times for rule in rules]
        self._due = [
            steps + rule.every_steps - 1 if rule.every_s is None and rule.every_steps else
            _next_multiple(now_ps - 1, to_ps(rule.every_s or 0.0))
            for rule in rules
        ]  # fmt: skip

    @property
    def next_step(self) -> int:
        """How many steps there will have been when the next pause by steps is due."""
        return self._next(by_steps=True)

    @property
    def next_ps(self) -> int:
        """When the next pause by seconds is due, picoseconds."""
        return self._next(by_steps=False)

    def _next(self, *, by_steps: bool) -> int:
        return min(
            (
                due
                for rule, due, left in zip(self.rules, self._due, self._left, strict=True)
                if (rule.every_s is None) is by_steps and left
            ),
            default=NEVER,
        )

    def lost_ps(self, now_ps: int, busy_until_ps: int, steps: int) -> int:
        """Return what is lost before the step that would begin at ``now_ps``, and wait for the next.

        ``busy_until_ps`` is when the last step ended, ``steps`` how many there were.
        """
        lost_ps = 0
        for i, rule in enumerate(self.rules):
            pause_ps = to_ps(rule.pause_s)
            if not self._left[i] or self._due[i] > (steps if rule.every_s is None else now_ps):
                continue
            if rule.every_s is None:
                lost_ps += pause_ps
                self._due[i] = steps + (rule.every_steps or 1)
            else:
                every_ps = to_ps(rule.every_s)
                latest_ps = now_ps // every_ps * every_ps
                # What fell into idle time is over, or nearly.
                was_busy = self._due[i] <= busy_until_ps == now_ps
                lost_ps += pause_ps if was_busy else max(0, latest_ps + pause_ps - now_ps)
                self._due[i] = latest_ps + every_ps
            self._left[i] -= 1
        return lost_ps

    def state(self) -> tuple[object, ...]:
        """Return rules and what is due, in plain values."""
        return self.rules, tuple(self._due), tuple(self._left)


def _next_multiple(after_ps: int, every_ps: int) -> int:
    return (after_ps // every_ps + 1) * every_ps


@dataclass(slots=True, frozen=True)
class Pauses:
    """From now on one replica pauses so; an empty tuple ends all its pauses (``gc.freeze``, no more scrapes)."""

    replica: int
    pauses: tuple[Pause, ...]

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Set the pauses of the engine."""
        del at_s
        cluster.engines[self.replica].set_pauses(self.pauses)

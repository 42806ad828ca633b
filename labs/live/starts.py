"""The starts of a replica whose engine is real: what it was told is known at once, how it went its log says afterwards."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from labs.live import startup_logs
from labs.simulator.memory.growth import ALL
from labs.simulator.memory.ledger import DEVICES, H100_SXM, SHAPES, MemoryFlags, ledger
from labs.simulator.memory.lives import Life
from labs.simulator.memory.phases import Failure, Phase, StartUp
from labs.simulator.memory.state import Memory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labs.simulator.memory.ledger import Ledger

TICK_S = 1e-6


class RealStarts(Memory):
    """What a world follows of a replica with a real engine: its starts. Of its memory nobody tells.

    The process that it was before the world began is the lab's; every one after it is a real one.
    """

    __slots__ = ()

    def begin(self, at_s: float) -> StartUp:
        """Note that a process starts at ``at_s`` with the flags as they are; return it as under way."""
        if not self.lives:
            return super().begin(at_s)
        sums = ledger(self.shape, self.flags, self.device)
        startup = StartUp(sums, (Phase("device init", 0.0, math.inf),), (), None, None)
        points = [(at_s, {ALL: 0.0})]
        self.lives.append(Life(len(self.lives), at_s, self.flags, startup, points))
        return startup

    @property
    def is_under_way(self) -> bool:
        """Whether nobody has said yet how the latest start went."""
        return self.life.ended_s is None and math.isinf(self.life.startup.took_s)

    def came_up(self, at_s: float, log: str) -> None:
        """Note that the latest start was through at ``at_s``; ``log`` is what it wrote."""
        took_s = self._took_s(at_s)
        phases = (Phase("warm-up", 0.0, took_s),)
        self.life.startup = replace(self._told(log), phases=phases, ready_after_s=took_s)
        self.failed_starts = 0

    def failed(self, at_s: float, log: str, why: str) -> None:
        """Note that the latest start had failed by ``at_s``; ``log`` is what it wrote, ``why`` one sentence."""
        took_s = self._took_s(at_s)
        phase = startup_logs.phase_of(log)
        failure = Failure(phase, 0, "", why, took_s)
        phases = (Phase(phase, 0.0, took_s),)
        self.life.startup = replace(self._told(log), phases=phases, failure=failure)
        self.end(at_s, why)

    def _took_s(self, at_s: float) -> float:
        """Return how long the latest start took; it is over at ``at_s``, however the sum of both is rounded."""
        return max(0.0, at_s - self.life.start_s - TICK_S)

    def _told(self, log: str) -> StartUp:
        """Return the latest start with the pool that its log names."""
        startup, pool_tokens = self.life.startup, startup_logs.pool_of(log)
        if pool_tokens is None:
            return startup
        return replace(startup, ledger=_with_pool(startup.ledger, pool_tokens))


def _with_pool(sums: Ledger, pool_tokens: int) -> Ledger:
    return replace(sums, kv_cache=pool_tokens * sums.kv_bytes_per_token)


# ------------------------------------------------------------------------------------ on record


def dump(memory: Memory) -> dict[str, Any]:
    """Return the starts of a replica in plain values."""
    return {"shape": memory.shape.name, "lives": [_row(each) for each in memory.lives]}


def _row(life: Life) -> dict[str, Any]:
    startup, failure = life.startup, life.startup.failure
    return {
        "start_s": life.start_s,
        "flags": asdict(life.flags),
        "pool_tokens": startup.ledger.kv_tokens,
        "took_s": None if math.isinf(startup.took_s) else startup.took_s,
        "ready_after_s": startup.ready_after_s,
        "failure": None if failure is None else asdict(failure),
        "ended_s": life.ended_s,
        "ended_by": life.ended_by,
    }


def of_record(data: Mapping[str, Any]) -> RealStarts:
    """Return the starts that a record tells of."""
    shape = SHAPES[data["shape"]]
    device = DEVICES.get(shape.name, H100_SXM)
    lives = []
    for index, row in enumerate(data["lives"]):
        flags = MemoryFlags(**row["flags"])
        failure = None if row["failure"] is None else Failure(**row["failure"])
        took_s = math.inf if row["took_s"] is None else row["took_s"]
        last = Phase("warm-up" if failure is None else failure.phase, 0.0, took_s)
        startup = StartUp(
            _with_pool(ledger(shape, flags, device), row["pool_tokens"]),
            (last,),
            (),
            row["ready_after_s"],
            failure,
        )
        points = [(row["start_s"], {ALL: 0.0})]
        life = Life(index, row["start_s"], flags, startup, points)
        life.ended_s, life.ended_by = row["ended_s"], row["ended_by"]
        lives.append(life)
    return RealStarts(shape, lives[-1].flags, device, start_s=lives[0].start_s, lives=lives)

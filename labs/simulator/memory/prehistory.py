"""The days before an incident: a replica's memory lived through in closed form, no step simulated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from labs.simulator.memory.faults import LOOK_EVERY_S, Watch
from labs.simulator.memory.growth import ALL
from labs.simulator.memory.supervise import BACK_OFF_S, last_growth_bytes, oom_message

if TYPE_CHECKING:
    from labs.simulator.cluster import Cluster
    from labs.simulator.memory.state import Memory

HALVINGS = 40
"""Of a stretch of constant rate, to find when memory runs out: 1 s of a day after 17, well below that after 40."""


def live_through(
    memory: Memory,
    rates: Sequence[tuple[float, float]],
    until_s: float,
    *,
    shares: Sequence[tuple[str, float]] = (),
) -> None:
    """Let a replica's memory live from the start of its first process until ``until_s``, seconds.

    ``rates`` are (from_s, requests per second at this replica), in order of time, ``shares`` the part of each
    class in them. Processes that run out of memory die with torch's message and are started again, as in a
    world that is simulated; requests come evenly between two edges of the rate.

    Raises ValueError without a rate.
    """
    if not rates:
        raise ValueError("a past needs a rate")
    at_s = _ready(memory, until_s)
    while at_s < until_s:
        rate = next((rate for from_s, rate in reversed(rates) if from_s <= at_s), rates[0][1])
        to_s = min([until_s, *(from_s for from_s, _ in rates if from_s > at_s)])
        _count(memory, at_s, to_s, rate, shares)
        if _fits(memory, to_s):
            at_s = to_s
            continue
        out_s = _runs_out(memory, at_s, to_s)
        memory.life.points.pop()
        _count(memory, at_s, out_s, rate, shares)
        memory.end(out_s, oom_message(memory, out_s, tried=last_growth_bytes(memory, out_s)))
        memory.begin(out_s)
        at_s = _ready(memory, until_s)


def follow(
    cluster: Cluster, replica: int, memory: Memory, *, every_s: float = LOOK_EVERY_S
) -> None:
    """Let a cluster follow a replica's memory from its present time on; an engine that is starting stays down until then."""
    cluster.memory[replica] = memory
    engine, now_s = cluster.engines[replica], cluster.now_s
    ready_s = memory.life.ready_s
    if ready_s is not None and ready_s > now_s:
        engine.restart(engine.config, engine.cost, down_s=ready_s - now_s)
    memory.seen = len(engine.requests)
    cluster.schedule(now_s, Watch(replica, every_s))


def _ready(memory: Memory, until_s: float) -> float:
    """Start processes until one is ready, or the time is over; return when."""
    while memory.life.ready_s is None:
        again_s = memory.life.start_s + memory.life.startup.took_s + BACK_OFF_S
        if again_s >= until_s:
            return until_s
        memory.begin(again_s)
    memory.count(memory.life.ready_s, {})
    return memory.life.ready_s


def _count(
    memory: Memory, from_s: float, to_s: float, rate: float, shares: Sequence[tuple[str, float]]
) -> None:
    requests = rate * (to_s - from_s)
    memory.count(to_s, {ALL: requests, **{name: share * requests for name, share in shares}})


def _fits(memory: Memory, at_s: float) -> bool:
    return min(memory.free_bytes(rank, at_s) for rank in memory.ranks) >= 0


def _runs_out(memory: Memory, from_s: float, to_s: float) -> float:
    """Return a time at which memory has just run out, within a stretch at whose end it has."""
    for _ in range(HALVINGS):
        middle = (from_s + to_s) / 2
        if _fits(memory, middle):
            from_s = middle
        else:
            to_s = middle
    return to_s

"""Open and closed loops: what a load generator records, and what users would have felt, around a stall.

An open loop sends at times that do not depend on answers, as the public does. A closed loop has so many clients;
each sends, waits for the answer, thinks, and sends again, so that a stalled server is asked less. A paced tool wants
to send at a rate but waits for answers in between: timed from when it really sent, it leaves out the
wait of those that it could not send (coordinated omission, as Gil Tene named it).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lessons.exact.draws import generator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lessons.exact.queueing import Floats, Service


@dataclass(frozen=True)
class Stall:
    """A time in which the server does nothing; what it was doing goes on afterwards."""

    from_s: float
    to_s: float

    def __post_init__(self) -> None:
        """Refuse a stall that ends before it begins."""
        if self.to_s < self.from_s:
            raise ValueError(f"a stall from {self.from_s} s to {self.to_s} s")


@dataclass(frozen=True)
class Server:
    """``slots`` equal places, one queue, first come first served, and at most one stall."""

    served: Service
    slots: int = 1
    stall: Stall | None = None

    def __post_init__(self) -> None:
        """Refuse a server without a place."""
        if self.slots < 1:
            raise ValueError(f"a server has at least one slot, not {self.slots}")

    def end_s(self, start_s: float, takes_s: float) -> float:
        """Return when work of ``takes_s`` that may start at ``start_s`` is done, seconds."""
        stall = self.stall
        if stall is None or start_s >= stall.to_s or start_s + takes_s <= stall.from_s:
            return start_s + takes_s
        return takes_s + stall.to_s - max(0.0, stall.from_s - start_s)


@dataclass(frozen=True)
class Answers:
    """All requests of a run by the time they were sent, seconds; arrays of shape (requests,)."""

    intended_s: Floats
    """When it should have been sent: by the tool's schedule, or by the user's own will."""
    sent_s: Floats
    done_s: Floats

    @property
    def recorded_s(self) -> Floats:
        """Latency from the moment of sending: what most tools write down."""
        return self.done_s - self.sent_s

    @property
    def experienced_s(self) -> Floats:
        """Latency from the moment at which it should have been sent."""
        return self.done_s - self.intended_s


type _Row = tuple[float, float, float]
"""Intended, sent, done."""


def open_loop(
    server: Server, *, rate_rps: float, duration_s: float, seed: int, poisson: bool = True
) -> Answers:
    """Return the answers to requests that come at ``rate_rps``, at random or in even gaps, for ``duration_s``.

    A page uses up to 20,000 requests (0.05 s).
    """
    count = round(rate_rps * duration_s * 1.5) + 100
    if poisson:
        gaps_s = generator("open loop", seed).standard_exponential(count) / rate_rps
        times_s = np.cumsum(gaps_s)
    else:
        times_s = np.arange(count) / rate_rps
    times_s = times_s[times_s < duration_s]
    takes_s = server.served.draw(len(times_s), generator("open loop service", seed)).tolist()
    free = [0.0] * server.slots
    rows = []
    for sent_s, took_s in zip(times_s.tolist(), takes_s, strict=True):
        end_s = server.end_s(max(sent_s, free[0]), took_s)
        heapq.heapreplace(free, end_s)
        rows.append((sent_s, sent_s, end_s))
    return _answers(rows)


def closed_loop(
    server: Server, *, clients: int, think_s: float, duration_s: float, seed: int
) -> Answers:
    """Return the answers to ``clients`` who think for exponential times of mean ``think_s`` after each answer.

    They start apart, by one thinking time or, without one, within one mean service. A page uses up to 20,000 requests.
    """
    rng = generator("closed loop", seed)
    thinks_s = _scaled(rng, think_s)
    spread_s = server.served.mean_s
    starts_s = [next(thinks_s) if think_s else spread_s * rng.random() for _ in range(clients)]

    def follows(place: int, row: _Row) -> tuple[float, float]:
        del place
        at_s = row[2] + next(thinks_s)
        return at_s, at_s

    return _driven(server, [(at_s, at_s) for at_s in starts_s], follows, duration_s, seed)


def paced_loop(
    server: Server, *, connections: int, rate_rps: float, duration_s: float, seed: int
) -> Answers:
    """Return the answers to a tool of so many connections that shares a schedule of ``rate_rps`` between them.

    A connection sends when its next time has come and its last answer is there: late, if that was late. What was
    due meanwhile keeps its intended time, so ``experienced_s`` is what an open loop would have recorded.
    """
    turns = list(range(connections))
    starts = [(turn / rate_rps, turn / rate_rps) for turn in turns]

    def follows(place: int, row: _Row) -> tuple[float, float]:
        turns[place] += connections
        due_s = turns[place] / rate_rps
        return due_s, max(due_s, row[2])

    return _driven(server, starts, follows, duration_s, seed)


def _driven(
    server: Server,
    starts: list[tuple[float, float]],
    follows: Callable[[int, _Row], tuple[float, float]],
    duration_s: float,
    seed: int,
) -> Answers:
    """Run a loop in which each answer brings the next (intended, sent); those due after ``duration_s`` are not sent."""
    rng = generator("loop service", seed)
    # By the time of sending; a request that is sent is served before any that is sent later.
    queue = [(sent_s, place, due_s) for place, (due_s, sent_s) in enumerate(starts)]
    heapq.heapify(queue)
    free = [0.0] * server.slots
    takes_s = _services(server, rng)
    rows: list[_Row] = []
    while queue:
        sent_s, place, due_s = heapq.heappop(queue)
        if due_s >= duration_s:
            continue
        end_s = server.end_s(max(sent_s, free[0]), next(takes_s))
        heapq.heapreplace(free, end_s)
        row = (due_s, sent_s, end_s)
        rows.append(row)
        due_s, sent_s = follows(place, row)
        heapq.heappush(queue, (sent_s, place, due_s))
    return _answers(rows)


def _services(server: Server, rng: np.random.Generator) -> Iterator[float]:
    while True:
        yield from server.served.draw(1024, rng).tolist()


def _scaled(rng: np.random.Generator, mean_s: float) -> Iterator[float]:
    while True:
        yield from (mean_s * rng.standard_exponential(1024)).tolist()


def _answers(rows: list[_Row]) -> Answers:
    table = np.array(rows, dtype=np.float64).reshape(len(rows), 3)
    return Answers(table[:, 0], table[:, 1], table[:, 2])


def closed_loop_rps(*, clients: int, think_s: float, service_s: float) -> float:
    """Return the throughput of a closed loop with one exponential server, requests a second, exactly.

    Mean value analysis: R(n) = S (1 + Q(n - 1)), X(n) = n / (R(n) + Z), Q(n) = X(n) R(n).
    Raises ValueError for no client. Source: Reiser and Lavenberg 1980.
    """
    if clients < 1:
        raise ValueError("a closed loop has at least one client")
    in_system = rate_rps = 0.0
    for number in range(1, clients + 1):
        response_s = service_s * (1 + in_system)
        rate_rps = number / (response_s + think_s)
        in_system = rate_rps * response_s
    return rate_rps

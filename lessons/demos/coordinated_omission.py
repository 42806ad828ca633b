"""One stall, timed twice: from when a tool really sent, and from when its schedule said it should.

The tool has one connection, so it sends nothing while it waits (``lessons.exact.loops.paced_loop``). The server has places for
all: what piled up is answered at once when the stall ends, so that the wait of a request due in it is what was left of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lessons.demos.demo import Demo, Number, Readout, Shown
from lessons.demos.numbers import plain, split_time, time
from lessons.demos.plots import Series, lines
from lessons.exact.loops import Answers, Server, Stall, open_loop, paced_loop
from lessons.exact.queueing import Service
from lessons.figures import Table

if TYPE_CHECKING:
    from lessons.figures import Plot

TEST_S = 120
STALL_FROM_S = 40.0
_SHARES = (0.5, 0.9, 0.99, 0.999, 1.0)
_LATE = 2.0
"""A request is late from this many services on."""
_PLACES = 2_000
"""More than are ever due."""


def run(*, stall_s: float, interval_ms: int, service_ms: int) -> tuple[Answers, Answers]:
    """Return what a tool of one connection and an open loop meet on one schedule: two minutes with one stall."""
    stall = Stall(STALL_FROM_S, STALL_FROM_S + stall_s)
    server = Server(Service(service_ms / 1e3, 0, "deterministic"), slots=_PLACES, stall=stall)
    rate_rps = 1e3 / interval_ms
    return (
        paced_loop(server, connections=1, rate_rps=rate_rps, duration_s=TEST_S, seed=1),
        open_loop(server, rate_rps=rate_rps, duration_s=TEST_S, seed=1, poisson=False),
    )


def computed(*, stall_s: float, interval_ms: int, service_ms: int) -> Shown:
    """Return the percentiles of both clocks."""
    paced, opened = run(stall_s=stall_s, interval_ms=interval_ms, service_ms=service_ms)
    recorded, scheduled = paced.recorded_s, opened.recorded_s
    late = [int((each > _LATE * service_ms / 1e3).sum()) for each in (recorded, scheduled)]
    p99 = [float(np.quantile(each, 0.99)) for each in (recorded, scheduled)]
    noun = "request" if late[0] == 1 else "requests"
    says = (
        f"The tool records a p99 of {time(p99[0])} and {late[0]} late {noun} of {len(recorded):,}; "
        f"on its own schedule the p99 is {time(p99[1])}, and {late[1]:,} requests are late."
    )
    return Shown(
        says=says,
        readouts=(
            Readout("Recorded p99", *split_time(p99[0]), "from when it sent"),
            Readout("Scheduled p99", *split_time(p99[1]), "from when it was due", "truth"),
            Readout("Late requests", f"{late[1]:,}", "", f"the tool counts {late[0]}"),
        ),
        plots=(_plot(paced, opened, stall_s),),
        table=Table(
            "Percentiles of one run by two clocks",
            ("Percentile", "Recorded, s", "Scheduled, s"),
            [
                (
                    _name(share),
                    *(f"{np.quantile(each, share):.3f}" for each in (recorded, scheduled)),
                )
                for share in _SHARES
            ],
        ),
        method=(
            f"{TEST_S} s of requests, one every {plain(interval_ms)} ms, each served in {plain(service_ms)} ms but for one stall at "
            f"second {STALL_FROM_S:.0f}; late means more than twice the service time."
        ),
    )


def _name(share: float) -> str:
    return "most" if share == 1 else f"p{100 * share:g}"


def _plot(paced: Answers, opened: Answers, stall_s: float) -> Plot:
    low, high = STALL_FROM_S - 3, STALL_FROM_S + max(stall_s, 2.0) + 3

    def dots(name: str, colour: str, answers: Answers) -> Series:
        near = (answers.intended_s >= low) & (answers.intended_s <= high)
        at_s, latency_s = answers.intended_s[near].tolist(), answers.recorded_s[near].tolist()
        return Series(name, colour, at_s, latency_s, has_dots=True)

    ends = [time(float(each)) for each in (opened.recorded_s.max(), opened.recorded_s.min())]
    return lines(
        "Latency around the stall",
        "s",
        f"Latency of the requests due around the stall. By the schedule it falls from {ends[0]} to {ends[1]} while the "
        f"stall lasts; the tool has one dot at {time(float(paced.recorded_s.max()))}.",
        (dots("scheduled", "c1", opened), dots("recorded", "c2", paced)),
        x_title="second at which a request was due",
        x_range=(low, high),
        size="tall",
    )


DEMO = Demo(
    id="coordinated-omission",
    title="One stall by two clocks",
    controls=(
        Number("stall_s", "The stall lasts", "s", 0, 30, 0.5, 10),
        Number("interval_ms", "A request is due every", "ms", 100, 2_000, 50, 200),
        Number("service_ms", "An answer takes", "ms", 10, 100, 5, 50),
    ),
    compute=computed,
)

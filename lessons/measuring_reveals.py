"""What the predictions of the lesson on measuring reveal: a stall by two clocks, and slow gaps by streams. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lessons.demos import coordinated_omission
from lessons.exact.percentiles import share_that_meets
from lessons.measuring_quantities import SLOW_GAPS, STALL
from lessons.reveals import Reveal

if TYPE_CHECKING:
    from lessons.simulations import Steps

_LATE_S = 0.1
"""Twice the service time."""


def stall_by_schedule() -> Steps[Reveal]:
    """Compute the p99 of a schedule around a stall, seconds, timed from when each request was due."""
    yield from ()
    paced, opened = coordinated_omission.run(
        stall_s=STALL["stall_s"],
        interval_ms=round(STALL["interval_ms"]),
        service_ms=round(STALL["service_ms"]),
    )
    by_schedule, recorded = opened.recorded_s, paced.recorded_s
    p99_s = float(np.quantile(by_schedule, 0.99))
    late = by_schedule > _LATE_S
    return Reveal(
        answer=p99_s,
        shown=f"{p99_s:.2f}",
        beside=f"the tool: {np.quantile(recorded, 0.99):.2f}",
        method=f"{len(by_schedule)} requests in an open loop, simulated; the quantile as numpy computes it",
        facts={
            "p99": f"{p99_s:.2f}",
            "requests": f"{len(by_schedule)}",
            "late": f"{late.sum()}",
            "share": f"{100 * late.mean():.1f}",
            "longest": f"{by_schedule.max():.2f}",
            "shortest": f"{by_schedule[late].min():.2f}",
            "beyond": f"{(by_schedule > p99_s).sum()}",
            "recorded_late": f"{(recorded > _LATE_S).sum()}",
            "recorded_share": f"{100 * (recorded > _LATE_S).mean():.1f}",
        },
    )


def streams_with_a_gap() -> Steps[Reveal]:
    """Compute how many streams of a hundred meet at least one slow gap."""
    yield from ()
    rate, tokens = SLOW_GAPS["rate"], round(SLOW_GAPS["tokens"])
    met = share_that_meets(rate, tokens)
    return Reveal(
        answer=100 * met,
        shown=f"{100 * met:.0f}",
        beside=f"of the gaps: {100 * rate:.1f}",
        method="1 − (1 − q)ⁿ: a stream is spared if each of its gaps is",
        facts={
            "met": f"{100 * met:.0f}",
            "spared": f"{100 * (1 - met):.0f}",
            "mean": f"{rate * tokens:.1f}",
            "each": f"{100 * (1 - rate):.1f}",
            "half": f"{np.ceil(np.log(0.5) / np.log1p(-rate)):.0f}",
        },
    )

"""How replicas were told to stop and went: the history that whoever replaces them keeps."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from labs.instruments.clock import time_of
from labs.instruments.signals import sent_between
from labs.simulator.request import to_ps

if TYPE_CHECKING:
    from collections.abc import Callable

    from labs.instruments.signals import View
    from labs.simulator.cluster import Cluster
    from labs.simulator.turnover import Stop, Turnover

KEPT_S = 600.0


@dataclass(frozen=True)
class Gone:
    """A stop that is over: when the server went, whom it left, and who had come to it after SIGTERM."""

    stop: Stop
    gone_s: float
    left: int
    late: int


def gone_s(cluster: Cluster, stop: Stop) -> float | None:
    """Return when the server that got a SIGTERM was gone; None while it is there."""
    lives = cluster.engines[stop.replica].processes
    return next((life.stopped_s for life in lives if life.stopped_s >= stop.term_s), None)


def history(view: View) -> list[Gone]:
    """Return the stops of ten minutes that are over, oldest first."""
    found = []
    for stop in view.cluster.front.stops:
        at_s = gone_s(view.cluster, stop)
        if stop.term_s <= view.now_s - KEPT_S or at_s is None or at_s > view.now_s:
            continue
        lives = view.cluster.engines[stop.replica].processes
        born_s = max(life.up_s for life in lives if life.up_s <= stop.term_s)
        calls = [
            each
            for each in sent_between(view.cluster, born_s, at_s)
            if each.replica == stop.replica
        ]
        left = sum(
            each.index >= 0 and (each.finish_ps is None or each.finish_ps > to_ps(at_s))
            for each in calls
        )
        late = sum(
            each.refusal == "shutting_down" and each.sent_s > stop.term_s - 1.0 for each in calls
        )
        found.append(Gone(stop, at_s, left, late))
    return found


def left_at_stop_10m(view: View) -> float | None:
    """Return how many calls a server that went left without an end, the mean of ten minutes' stops."""
    stops = history(view)
    return fmean(each.left for each in stops) if stops else None


def late_at_stop_10m(view: View) -> float | None:
    """Return how many calls came to a server after its SIGTERM, the mean of ten minutes' stops."""
    stops = history(view)
    return fmean(each.late for each in stops) if stops else None


def stops(view: View) -> str:
    """Return the stops of ten minutes: when each was picked, left the router, got SIGTERM and was gone."""
    found = history(view)
    if not found:
        return "nothing was stopped in the last 10 min"
    lines = ["replica    picked    router    SIGTERM   gone      open at SIGTERM  left  came after"]
    for each in found:
        stop = each.stop
        out_s = min(stop.removed_s, each.gone_s)
        times = "  ".join(
            f"{time_of(t_s):%H:%M:%S}"
            for t_s in (stop.chosen_s, out_s, stop.term_s, round(each.gone_s))
        )
        lines.append(
            f"replica-{stop.replica}  {times}  {stop.in_flight:15}  {each.left:4}  {each.late:10}"
        )
    return "\n".join(
        [
            *lines,
            f"left without an end   {fmean(each.left for each in found):.1f} a stop",
            f"came after SIGTERM    {fmean(each.late for each in found):.1f} a stop",
        ]
    )


def _now(read: Callable[[Turnover], float]) -> Callable[[View], float | None]:
    def value(view: View) -> float | None:
        turnover = view.cluster.front.turnover
        return None if turnover is None else read(turnover)

    return value


STOP_SIGNALS: dict[str, Callable[[View], float | str | None]] = {
    "left_at_stop_10m": left_at_stop_10m,
    "late_at_stop_10m": late_at_stop_10m,
    "stream_allowance_s": _now(lambda turnover: turnover.stream_allowance_s),
    "removal_late_s": _now(lambda turnover: turnover.late_s),
}

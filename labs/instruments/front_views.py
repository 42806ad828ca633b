"""What a console shows of what stands in front of the engines: slots, streams."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from labs.instruments.experience import felt
from labs.instruments.front_signals import (
    FRONT_SIGNALS,
    ghosts,
    open_load,
    open_requests,
    pool_tokens,
    running_requests,
    ttfts_by_age,
)
from labs.instruments.replica_signals import tpot_p95_at
from labs.instruments.signals import quantile, recent, sample_at, window_words
from labs.simulator.request import Status

if TYPE_CHECKING:
    from labs.instruments.signals import View
    from labs.simulator.request import Request


PANELS = {
    "slow-streams": (
        "slow_share_5m",
        "of the streams of the last {window}, slower than 25 ms a token",
    ),
    "failed": (
        "failed_share_5m",
        "of the answers of the last {window}: 429, 5xx, or cut at the context",
    ),
    "unanswered": (
        "unanswered_share_5m",
        "of the calls that ended in the last {window}, given up by their client",
    ),
    "unfinished": (
        "unfinished_share_5m",
        "of the calls that ended in the last {window}, without their whole answer",
    ),
    "running": ("running_mean_5m", "requests running, mean of the last {window}, all replicas"),
}
"""Name of a panel that pages -> its signal, and what its number counts, ``{window}`` where the lab's stands."""


def panel(view: View, name: str) -> str:
    """Return the number of a panel that pages. Raises KeyError for one that does not exist."""
    signal, words = PANELS[name]
    value = FRONT_SIGNALS[signal](view)
    said = words.format(window=window_words(view.windows.panel_s))
    return "no data in this window" if value is None else f"{name}  {value:.3g} {said}"


def slots(view: View) -> str:
    """Return what bounds how many run at once on a replica: slots, and the pool."""
    engine, sample = view.engine, sample_at(view.engine, view.now_s)
    if sample is None:
        return "no step so far"
    most = engine.config.max_num_seqs
    return "\n".join(
        [
            f"running {sample.running} of {most} (max_num_seqs): {sample.running / most:.2f}",
            f"waiting {sample.waiting}, the oldest for {sample.oldest_waiting_s:.1f} s",
            f"pool    {100 * sample.kv_cache_usage_perc:.1f} % of {engine.config.usable_blocks:,} blocks",
        ]
    )


def streams(view: View) -> str:
    """Return how fast answers come once they have begun, five minutes."""
    values: list[float] = []
    for request in recent(view.cluster, view.now_s - view.windows.panel_s, view.now_s):
        first_s = request.first_token_s
        if first_s is not None and first_s <= view.now_s and request.num_output_tokens > 1:
            value = felt(request, "tpot", view.now_s)
            if value is not None:
                values.append(value)
    if not values:
        return "no stream was open in this window"
    middle, p95 = (
        quantile(values, 0.5) or 0.0,
        tpot_p95_at(view.cluster, view.now_s, view.windows.panel_s) or 0.0,
    )
    return (
        f"{len(values)} streams with a token in the last {window_words(view.windows.panel_s)}, mean time per output token of each\n"
        f"p50 {1000 * middle:.1f} ms    p95 {1000 * p95:.1f} ms    slowest {1000 * max(values):.1f} ms"
    )


def connections(view: View) -> str:
    """Return what the engines run, against the streams that clients hold open."""
    count, gone = len(running_requests(view)), len(ghosts(view))
    closed = FRONT_SIGNALS["closed_share_5m"](view)
    said = f"{closed:.2f}" if isinstance(closed, float) else "-"
    ran_on = FRONT_SIGNALS["run_on_share_5m"](view)
    of_those = f"{ran_on:.2f}" if isinstance(ran_on, float) else "-"
    return "\n".join(
        [
            f"running on the engines      {count:5}",
            f"  with a client connected   {count - gone:5}",
            f"  without                   {gone:5}",
            f"closed by their user        {said:>5} of the streams of the last {window_words(view.windows.panel_s)}",
            f"computed to their end       {of_those:>5} of those that were closed and have ended",
        ]
    )


def ages(view: View) -> str:
    """Return since when each replica has been ready, and p95 TTFT by the age of the replica that was asked."""
    lines = []
    for replica, engine in enumerate(view.cluster.engines):
        up_s = engine.processes[-1].up_s
        state = (
            "stopped"
            if engine.is_dead
            else f"ready for {view.now_s - up_s:5.0f} s"
            if up_s <= view.now_s
            else f"starting, {up_s - view.now_s:.0f} s to go"
            if isfinite(up_s)
            else "starting"
        )
        lines.append(f"replica-{replica}  {state}")
    young, others = ttfts_by_age(view)
    asked = f"asked while younger than {view.windows.young_s:.0f} s"
    for name, values in ((asked, young), ("asked later", others)):
        p95 = quantile(values, 0.95)
        lines.append(
            f"{name:31}{len(values):5} requests  p95 TTFT {'-' if p95 is None else f'{p95:.2f} s'}"
        )
    return "\n".join(lines)


def in_flight(view: View) -> str:
    """Return who has requests open, how long they are, and what that comes to against the pool."""
    found: dict[str, list[Request]] = {}
    for request in open_requests(view):
        found.setdefault(request.request_class, []).append(request)
    rows = [f"{'caller':8}{'open':>6}{'waiting':>9}{'tokens each':>13}{'together':>10}"]
    for name, requests in sorted(found.items()):
        count, tokens = len(requests), sum(each.num_tokens for each in requests)
        waiting = sum(each.status in (Status.WAITING, Status.PREEMPTED) for each in requests)
        rows.append(f"{name:8}{count:6}{waiting:9}{tokens / count:13,.0f}{tokens:10,}")
    pool = pool_tokens(view)
    rows.append(f"wanted  {open_load(view) * pool:,.0f} of {pool:,} tokens: {open_load(view):.2f}")
    return "\n".join(rows)

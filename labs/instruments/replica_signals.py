"""Numbers of replicas side by side, for information tables: a worst, or a ratio of one to the others.

The seed decides which replica is the sick one, so each signal is the same whichever it is.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from labs.instruments.experience import felt
from labs.instruments.gpu_readings import readings
from labs.instruments.signals import (
    quantile,
    recent,
    sample_at,
    sent_between,
    turned_away,
)
from labs.simulator.request import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from labs.instruments.signals import View
    from labs.simulator.cluster import Cluster


def replica_ttfts(view: View, replica: int) -> list[float]:
    """Return the TTFTs of a replica's requests, five minutes, seconds; those who wait have waited so far."""
    now_s, from_s = view.now_s, view.now_s - view.windows.panel_s
    values: list[float] = []
    for request in recent(view.cluster, from_s, now_s):
        if request.replica != replica or turned_away(request, now_s):
            continue
        first_s = request.first_token_s
        if first_s is None or first_s > now_s:
            values.append(now_s - request.sent_s)
        elif first_s > from_s:
            values.append(first_s - request.sent_s)
    return values


def mean_step_s(view: View, replica: int) -> float | None:
    """Return the mean step of a replica over a minute, seconds; None if it made none."""
    engine = view.cluster.engines[replica]
    first, last = (
        sample_at(engine, view.now_s - view.windows.short_s),
        sample_at(engine, view.now_s),
    )
    if first is None or last is None or last.steps == first.steps:
        return None
    return (last.busy_s - first.busy_s) / (last.steps - first.steps)


def slowest_replica(view: View) -> int:
    """Return the replica whose p95 TTFT is the highest; 0 if nobody waits anywhere."""
    p95s = [
        quantile(replica_ttfts(view, replica), 0.95) or 0.0
        for replica in range(len(view.cluster.engines))
    ]
    return p95s.index(max(p95s))


def _replica_ttft_ratio(view: View) -> float | None:
    """p95 TTFT of the worst replica over the median of the others', five minutes."""
    p95s = [
        quantile(replica_ttfts(view, replica), 0.95) for replica in range(len(view.cluster.engines))
    ]
    known = sorted(p95 for p95 in p95s if p95)
    return known[-1] / median(known[:-1]) if len(known) > 1 else None


def _waiting_max(view: View) -> float | None:
    """Requests waiting on the replica where most wait."""
    samples = [sample_at(engine, view.now_s) for engine in view.cluster.engines]
    return max((float(each.waiting) for each in samples if each is not None), default=None)


def _waiting_spread(view: View) -> float | None:
    """Most less least share of its time that a rank spends in collectives; of the replica with the widest."""
    rows = [row for row in readings(view) if row.replica is not None]
    spreads = []
    for replica in sorted({row.replica for row in rows if row.replica is not None}):
        shares = [row.waiting for row in rows if row.replica == replica]
        spreads.append(max(shares) - min(shares))
    return max(spreads, default=None)


def tpot_p95_at(cluster: Cluster, now_s: float, window_s: float) -> float | None:
    """Return p95, over streams that had a token in the window, of the mean time per output token, seconds."""
    values: list[float] = []
    for request in recent(cluster, now_s - window_s, now_s):
        first_s = request.first_token_s
        if first_s is not None and first_s <= now_s and request.num_output_tokens > 1:
            value = felt(request, "tpot", now_s)
            if value is not None:
                values.append(value)
    return quantile(values, 0.95)


def prompt_tokens_per_s(view: View) -> float | None:
    """Return the prompt tokens a second that the router let through, five minutes; None if nobody came."""
    sent = sent_between(view.cluster, view.now_s - view.windows.panel_s, view.now_s)
    taken = [request for request in sent if request.status is not Status.SHED]
    return sum(request.prompt_tokens for request in taken) / view.windows.panel_s if sent else None


def prefill_tokens_per_s(view: View) -> float:
    """Return what a replica on healthy hardware prefills a second if it does nothing else."""
    return 1e12 / view.fleet.cost.per_prefill_token_ps


def _prefill_load_5m(view: View) -> float | None:
    """Prompt tokens a second that came, over what the replicas in rotation prefill on healthy hardware."""
    asked = prompt_tokens_per_s(view)
    serving = len(view.cluster.engines) - len(view.cluster.front.drained)
    return None if asked is None else asked / (max(1, serving) * prefill_tokens_per_s(view))


REPLICA_SIGNALS: dict[str, Callable[[View], float | None]] = {
    "replica_ttft_ratio": _replica_ttft_ratio,
    "waiting_max": _waiting_max,
    "waiting_spread": _waiting_spread,
    "prefill_load_5m": _prefill_load_5m,
    "tpot_p95_s": lambda view: tpot_p95_at(view.cluster, view.now_s, view.windows.panel_s),
}

"""What users feel, measured on their side: the alarm's own numbers, and how many are hurt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labs.instruments.signals import gap_p95_at, quantile, sent_between, ttft_p95_at
from labs.simulator.request import Status

if TYPE_CHECKING:
    from labs.incident.state import Incident


@dataclass(frozen=True)
class Gauges:
    """What the room shows at any time, free of charge: the alarm's own numbers."""

    ttft_p95_s: float | None
    users_hurt: int
    hurt_per_minute: float


def gauges(incident: Incident) -> Gauges:
    """Return the gauges of the room: p95 TTFT now, users hurt since the page, and how many more a minute."""
    now_s = float(incident.clock_s)
    hurt = users_hurt(incident, 0.0, now_s)
    lately = users_hurt(incident, now_s - 120.0, now_s)
    return Gauges(ttft_p95_at(incident.world.cluster, now_s), hurt, lately / 2)


def users_hurt(incident: Incident, from_s: float, to_s: float) -> int:
    """Return how many requests sent in the window missed an SLO, those that have missed it by waiting included."""
    limits = {slo.measure: slo.limit_s for slo in incident.spec.slos.values()}
    now_s = float(incident.clock_s)
    count = 0
    for request in sent_between(incident.world.cluster, from_s, to_s):
        if request.status is Status.SHED or request.cut:
            count += 1
            continue
        first_s, last_s = request.first_token_s, request.last_token_s
        ttft_s = (now_s if first_s is None else first_s) - request.sent_s
        gap_s = request.longest_gap_s
        if last_s is not None and request.finish_s is None:
            gap_s = max(gap_s, now_s - last_s)
        count += ttft_s > limits.get("ttft", float("inf")) or gap_s > limits.get(
            "gap", float("inf")
        )
    return count


def ttft_series(
    incident: Incident, *, from_s: int, every_s: int = 30
) -> list[tuple[int, float | None]]:
    """Return p95 TTFT from ``from_s`` until now, one point at every multiple of ``every_s`` incident seconds."""
    cluster = incident.world.cluster
    first_s = -(-from_s // every_s) * every_s
    return [
        (t_s, ttft_p95_at(cluster, float(t_s)))
        for t_s in range(first_s, incident.clock_s + 1, every_s)
    ]


def gap_now(incident: Incident) -> float | None:
    """Return p95 of the longest gap per stream over the last five minutes, seconds."""
    return gap_p95_at(incident.world.cluster, float(incident.clock_s))


def verification(incident: Incident, from_s: float) -> tuple[float | None, float | None]:
    """Return p95 TTFT and p95 longest gap, seconds, of the requests sent since ``from_s``.

    Those that still wait count with their time so far.
    """
    now_s = float(incident.clock_s)
    ttfts: list[float] = []
    gaps: list[float] = []
    for request in sent_between(incident.world.cluster, from_s, now_s):
        if request.status is Status.SHED:
            continue
        first_s, last_s = request.first_token_s, request.last_token_s
        ttfts.append(now_s - request.sent_s if first_s is None else first_s - request.sent_s)
        if last_s is not None:
            silent_s = 0.0 if request.finish_s is not None else now_s - last_s
            gaps.append(max(request.longest_gap_s, silent_s))
    return quantile(ttfts, 0.95), quantile(gaps, 0.95)

"""What users feel, measured on their side: the alarm's own number, and how many are hurt."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from labs.instruments.experience import felt
from labs.instruments.registry import signal_values
from labs.instruments.signals import quantile, sent_between

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labs.incident.state import Incident
    from labs.instruments.registry import Value
    from labs.simulator.request import Request
    from labs.specs import Slo


@dataclass(frozen=True)
class Gauges:
    """What the room shows at any time, free of charge: the alarm's own number, and who is hurt."""

    alarm: Value
    users_hurt: int
    hurt_per_minute: float


def alarm_now(incident: Incident) -> Value:
    """Return what the alarm reads at the incident's clock."""
    name = incident.spec.alarm.signal
    return signal_values(incident.view, [name])[name]


def gauges(incident: Incident) -> Gauges:
    """Return the gauges of the room: the alarm now, users hurt since the page, and how many more a minute."""
    now_s = float(incident.clock_s)
    hurt = users_hurt(incident, 0.0, now_s)
    lately = users_hurt(incident, now_s - 120.0, now_s)
    return Gauges(alarm_now(incident), hurt, lately / 2)


def users_hurt(incident: Incident, from_s: float, to_s: float) -> int:
    """Return how many requests sent in the window missed a promise, those that have missed it by waiting included."""
    promises = tuple(incident.spec.slos.values())
    now_s = float(incident.clock_s)
    sent = sent_between(incident.world.cluster, from_s, to_s)
    return sum(not all(kept(request, slo, now_s) for slo in promises) for request in sent)


def kept(request: Request, slo: Slo, now_s: float) -> bool:
    """Return whether a promise is kept to one user so far."""
    value = felt(request, slo.measure, now_s)
    return value is not None and value <= slo.limit


@dataclass(frozen=True)
class Promise:
    """How a promise fared for the requests of a window."""

    name: str
    offered: int
    share: float | None
    """Share of the offered to whom it was kept; None if none was offered."""
    value: float | None
    """What the target's share of those who were answered stayed within, in the measure's unit."""
    held: bool


def promises(incident: Incident, from_s: float) -> tuple[Promise, ...]:
    """Return how each promise fared for the requests sent since ``from_s``."""
    now_s = float(incident.clock_s)
    sent = sent_between(incident.world.cluster, from_s, now_s)
    return tuple(_fared(name, slo, sent, now_s) for name, slo in incident.spec.slos.items())


def _fared(name: str, slo: Slo, sent: Sequence[Request], now_s: float) -> Promise:
    values = [felt(request, slo.measure, now_s) for request in sent]
    known = [value for value in values if value is not None]
    share = sum(value <= slo.limit for value in known) / len(values) if values else None
    held = share is not None and share >= slo.target
    return Promise(name, len(values), share, quantile(known, slo.target), held)


def alarm_series(
    incident: Incident, *, from_s: int, every_s: int | None = None
) -> list[tuple[int, float | None]]:
    """Return what the alarm read from ``from_s`` until now, one point at every multiple of ``every_s``.

    That is a tenth of the lab's usual window unless given: half a minute, of five. The moment that the prediction asks
    about is one more.

    The signal of an alarm is one that can be told of any time before the clock: from samples and requests.
    """
    every_s = every_s or max(1, round(incident.spec.windows.panel_s / 10))
    name, first_s = incident.spec.alarm.signal, -(-from_s // every_s) * every_s
    found: list[tuple[int, float | None]] = []
    asked_s = incident.spec.prediction.at_s
    times = {*range(first_s, incident.clock_s + 1, every_s)}
    if from_s <= asked_s <= incident.clock_s:
        times.add(asked_s)
    for t_s in sorted(times):
        value = signal_values(replace(incident.view, now_s=float(t_s)), [name])[name]
        found.append((t_s, value if isinstance(value, float | int) else None))
    return found

"""Panels over incident time: the same signals as elsewhere, drawn from the healthy window on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from labs.instruments import gpu_readings
from labs.instruments.experience import felt, is_lost
from labs.instruments.inside_signals import itl_quantile
from labs.instruments.signals import (
    sample_at,
    sent_between,
    ttft_p95_at,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from labs.instruments.gpu_readings import GpuReading
    from labs.instruments.signals import View
    from labs.simulator.engine import Engine
    from labs.simulator.telemetry import Sample

POINTS_A_WINDOW = 10
"""A panel has so many points in each of the lab's usual windows: every half minute, of five minutes."""

type Line = Callable[[View], float | None]
"""What one line of a panel is at the view's time."""


@dataclass(frozen=True)
class Series:
    """One line of a panel: its name, and ``(t_s, value | None)`` at even times, the last now."""

    name: str
    points: tuple[tuple[int, float | None], ...]


@dataclass(frozen=True)
class Panel:
    """A panel as a reading keeps it."""

    title: str
    unit: str
    log_scale: bool
    series: tuple[Series, ...]


def panel(view: View, name: str, *, from_s: int) -> Panel:
    """Return a panel from ``from_s`` until now. Raises KeyError for a name that is none of PANELS."""
    title, unit, log_scale, lines = PANELS[name]
    every_s = round(view.windows.panel_s / POINTS_A_WINDOW)
    times = [*range(-(-from_s // every_s) * every_s, int(view.now_s) + 1, every_s)]
    if times[-1:] != [int(view.now_s)]:
        times.append(int(view.now_s))
    return Panel(
        title,
        unit,
        log_scale,
        tuple(
            Series(key, tuple((t_s, line(replace(view, now_s=float(t_s)))) for t_s in times))
            for key, line in lines(view).items()
        ),
    )


def text(shown: Panel) -> str:
    """Return a panel as lines: the latest, least and most of each series, and five minutes apart."""
    rows = [f"{shown.title}, {shown.unit}" if shown.unit else shown.title]
    if not shown.series:
        return f"{shown.title}: nothing here measures it"
    width = max(len(each.name) for each in shown.series)
    for each in shown.series:
        known = [value for _, value in each.points if value is not None]
        if not known:
            rows.append(f"{each.name:{width}}  nothing yet")
            continue
        last = next((value for _, value in reversed(each.points) if value is not None), 0.0)
        rows.append(
            f"{each.name:{width}}  now {last:10.4g}    least {min(known):10.4g}    most {max(known):10.4g}"
        )
    return "\n".join(rows)


def _name(view: View, replica: int) -> str:
    return f"replica {replica}" if len(view.cluster.engines) > 1 else "engine"


def _each(read: Callable[[Engine, View], float | None]) -> Callable[[View], dict[str, Line]]:
    """Return the lines of a panel with one line a replica."""

    def lines(view: View) -> dict[str, Line]:
        return {
            _name(view, replica): lambda at, engine=engine: read(engine, at)  # type: ignore[misc]
            for replica, engine in enumerate(view.cluster.engines)
        }

    return lines


def _gauge(pick: Callable[[Sample], float]) -> Callable[[Engine, View], float | None]:
    def read(engine: Engine, at: View) -> float | None:
        sample = sample_at(engine, at.now_s)
        return None if sample is None else pick(sample)

    return read


def _pair(engine: Engine, t_s: float, seconds: float) -> tuple[Sample, Sample] | None:
    first, last = sample_at(engine, t_s - seconds), sample_at(engine, t_s)
    return None if first is None or last is None or first is last else (first, last)


def _preemptions(engine: Engine, at: View) -> float | None:
    pair = _pair(engine, at.now_s, at.windows.panel_s)
    if pair is None:
        return None
    return float(max(0, pair[1].preemptions_reported - pair[0].preemptions_reported))


def _tokens_per_s(engine: Engine, at: View) -> float | None:
    pair = _pair(engine, at.now_s, at.windows.short_s)
    if pair is None:
        return None
    sent = pair[1].generation_tokens - pair[0].generation_tokens
    return max(0, sent) / (pair[1].t_s - pair[0].t_s)


def _busy(engine: Engine, at: View) -> float | None:
    pair = _pair(engine, at.now_s, at.windows.short_s)
    if pair is None:
        return None
    return min(1.0, max(0.0, pair[1].busy_s - pair[0].busy_s) / (pair[1].t_s - pair[0].t_s))


def _goodput(view: View) -> float | None:
    """Return requests a second, of those sent in the minute before last, that were answered without a long wait."""
    sent = sent_between(
        view.cluster, view.now_s - 2 * view.windows.short_s, view.now_s - view.windows.short_s
    )
    good = sum(
        not is_lost(request) and (felt(request, "ttft", view.now_s) or 0.0) <= GOOD_TTFT_S
        for request in sent
    )
    return good / view.windows.short_s


GOOD_TTFT_S = 2.0
"""Whoever has a first token within this counts as served; a scenario constant of the panel."""


def _offered(view: View) -> float | None:
    sent = sent_between(
        view.cluster, view.now_s - 2 * view.windows.short_s, view.now_s - view.windows.short_s
    )
    return len(sent) / view.windows.short_s


def _gpus(pick: Callable[[GpuReading], float]) -> Callable[[View], dict[str, Line]]:
    """Return the lines of a panel with one line a GPU; none where nobody looks at the hardware."""

    def lines(view: View) -> dict[str, Line]:
        known: dict[float, tuple[GpuReading, ...]] = {}

        def at(moment: View, position: int) -> float:
            if moment.now_s not in known:
                known[moment.now_s] = gpu_readings.readings(moment)
            return pick(known[moment.now_s][position])

        return {
            f"{each.node} GPU {each.gpu}": partial(at, position=position)
            for position, each in enumerate(gpu_readings.readings(view))
        }

    return lines


PANELS: dict[str, tuple[str, str, bool, Callable[[View], dict[str, Line]]]] = {
    "ttft": (
        "p95 time to first token, as clients see it",
        "s",
        True,
        lambda view: {"p95": lambda at: ttft_p95_at(at.cluster, at.now_s, at.windows.panel_s)},
    ),
    "itl": (
        "p99 inter-token latency, five minutes",
        "s",
        True,
        lambda view: {"p99": lambda at: itl_quantile(at, 0.99)},
    ),
    "queue": ("Requests waiting", "requests", False, _each(_gauge(lambda s: float(s.waiting)))),
    "running": ("Requests running", "requests", False, _each(_gauge(lambda s: float(s.running)))),
    "kv": ("KV cache usage", "share", False, _each(_gauge(lambda s: s.kv_cache_usage_perc))),
    "preemptions": ("Preemptions in five minutes", "preemptions", False, _each(_preemptions)),
    "tokens": ("Tokens sent", "tokens/s", False, _each(_tokens_per_s)),
    "goodput": (
        "Requests a second: sent, and served with a first token within 2 s",
        "requests/s",
        False,
        lambda view: {"sent": _offered, "served": _goodput},
    ),
    "busy": ("Share of time within steps", "share", False, _each(_busy)),
    "gpu-power": ("Power of each GPU", "W", False, _gpus(lambda each: each.power_w)),
    "gpu-clock": (
        "SM clock of each GPU",
        "MHz",
        False,
        _gpus(lambda each: float(each.state.sm_clock_mhz)),
    ),
}
"""Name -> (title, unit, whether people compare it by ratio, its lines)."""

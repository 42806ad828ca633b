"""The series that this Prometheus keeps: the engines' families, the router's, the GPUs', and two recording rules."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from labs.instruments import gpus, signals
from labs.instruments.inside_signals import INSIDE_SIGNALS
from labs.instruments.prometheus.exposition import bucket_labels, created_labels
from labs.instruments.prometheus.families import FAMILIES
from labs.instruments.prometheus.readers import server
from labs.instruments.prometheus.scrapes import EPOCH_S, finished_in, instance_of, scrapes
from labs.simulator.request import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from labs.instruments.prometheus.families import Family
    from labs.instruments.prometheus.readers import Labels
    from labs.instruments.prometheus.scrapes import Scrape
    from labs.instruments.promql.syntax import Matcher, Selector
    from labs.instruments.signals import View
    from labs.simulator.engine import Engine

ROUTER = "router_forward_duration_seconds"
ROUTER_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
RECORDED = {
    "slo:ttft_p95": "ttft_p95_s",
    "slo:gap_p95": "gap_p95_s",
    "slo:itl_p99": "itl_p99_s",
    "slo:itl_mean": "itl_mean_s",
}
"""Recording rules of this cluster: computed from the clients' side."""
RULE_EVERY_S = 30.0
"""How often a recording rule is evaluated."""

EXPORTED_EVERY_S = 30.0
"""How often the DCGM exporter reads its counters (its default)."""
DCGM_COUNTERS = (
    "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL",
    "DCGM_FI_DEV_POWER_VIOLATION",
    "DCGM_FI_DEV_THERMAL_VIOLATION",
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
)
DCGM_GAUGES = (
    "DCGM_FI_DEV_FB_FREE",
    "DCGM_FI_DEV_FB_USED",
    "DCGM_FI_DEV_GPU_TEMP",
    "DCGM_FI_DEV_GPU_UTIL",
    "DCGM_FI_DEV_POWER_USAGE",
    "DCGM_FI_DEV_SM_CLOCK",
    "DCGM_FI_DEV_XID_ERRORS",
    "DCGM_FI_PROF_DRAM_ACTIVE",
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
    "DCGM_FI_PROF_PCIE_RX_BYTES",
    "DCGM_FI_PROF_PCIE_TX_BYTES",
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
)
DCGM = frozenset(DCGM_COUNTERS + DCGM_GAUGES)
"""What this Prometheus keeps of the exporter; a cluster without its hardware modelled has only some of it."""
_LINE = re.compile(r"(?P<name>\w+)\{(?P<labels>[^}]*)\} (?P<value>\S+)")
_LABEL = re.compile(r'(\w+)="([^"]*)"')

type Point = tuple[float, float]
"""Incident seconds and value."""


@dataclass(frozen=True)
class Series:
    """One series: its labels, ``__name__`` among them, and its samples in a window, oldest first."""

    labels: dict[str, str]
    points: list[Point]


def _parts() -> Iterator[tuple[str, tuple[Family, str]]]:
    for family in FAMILIES:
        if family.kind == "histogram":
            yield from (
                (f"{family.name}_{part}", (family, part)) for part in ("bucket", "count", "sum")
            )
        else:
            yield family.name, (family, "")
        if family.created:
            yield family.created, (family, "created")


ENGINE_SERIES = dict(_parts())
ROUTER_SERIES = {f"{ROUTER}_{part}": part for part in ("bucket", "count", "sum")}
HISTOGRAMS = frozenset({ROUTER, *(f.name for f in FAMILIES if f.kind == "histogram")})
NAMES = (*ENGINE_SERIES, *ROUTER_SERIES, *RECORDED, *DCGM_COUNTERS, *DCGM_GAUGES)
COUNTERS = frozenset(
    name
    for name in NAMES
    if name in ROUTER_SERIES
    or name in DCGM_COUNTERS
    or (
        name in ENGINE_SERIES
        and ENGINE_SERIES[name][0].kind != "gauge"
        and ENGINE_SERIES[name][1] != "created"
    )
)


def select(view: View, selector: Selector) -> list[Series]:
    """Return the series of a selector with the samples of its window, or with the newest one.

    A target that did not answer at the newest scrape has no newest sample: its series are stale.
    Raises KeyError for a metric that is not kept.
    """
    to_s = view.now_s - selector.offset_s
    metric = selector.metric
    if metric in RECORDED:
        found = _recorded(view, selector, to_s)
    elif metric in DCGM:
        found = _dcgm(view, selector, to_s)
    elif metric in ROUTER_SERIES:
        found = _router(view, ROUTER_SERIES[metric], *_window(view.engine, selector, to_s))
    else:
        family, part = ENGINE_SERIES[metric]
        found = [
            series
            for replica, engine in enumerate(view.cluster.engines)
            for series in _engine(
                scrapes(view, engine, *_window(engine, selector, to_s)), replica, family, part
            )
        ]
    named = [Series({"__name__": metric, **series.labels}, series.points) for series in found]
    return [
        series for series in named if all(_matches(series.labels, m) for m in selector.matchers)
    ]


def _matches(labels: dict[str, str], matcher: Matcher) -> bool:
    value = labels.get(matcher.label, "")
    if "~" in matcher.sign:
        found = re.fullmatch(matcher.value, value) is not None
    else:
        found = value == matcher.value
    return found == (matcher.sign[0] == "=")


def _window(engine: Engine, selector: Selector, to_s: float) -> tuple[float, float]:
    """Return the window of a selector, left open; of an instant one, that of the newest scrape alone."""
    if selector.range_s:
        return to_s - selector.range_s, to_s
    index = bisect_right(engine.samples, to_s, key=lambda sample: sample.t_s) - 1
    newest_s = engine.samples[index].t_s if index >= 0 else to_s
    return newest_s - 1e-6, newest_s


def _times(selector: Selector, to_s: float, every_s: float) -> list[float]:
    """Return the times in a selector's window at which something that is kept every ``every_s`` was read."""
    last = int(to_s // every_s)
    if not selector.range_s:
        return [to_s]
    first = int((to_s - selector.range_s) // every_s) + 1
    return [n * every_s for n in range(first, last + 1)]


def _dcgm(view: View, selector: Selector, to_s: float) -> list[Series]:
    rows: dict[str, list[Point]] = {}
    for t_s in _times(selector, to_s, EXPORTED_EVERY_S):
        for match in _LINE.finditer(gpus.dcgm_text(replace(view, now_s=t_s))):
            if match["name"] == selector.metric:
                rows.setdefault(match["labels"], []).append((t_s, float(match["value"])))
    found: list[Series] = []
    for text, points in rows.items():
        labels = dict(_LABEL.findall(text))
        target = {"instance": f"{labels.get('hostname', 'atlas-0')}:9400", "job": "dcgm"}
        found.append(Series({**labels, **target}, points))
    return found


def _recorded(view: View, selector: Selector, to_s: float) -> list[Series]:
    signal = {**signals.SIGNALS, **INSIDE_SIGNALS}[RECORDED[selector.metric]]
    times = _times(selector, to_s, RULE_EVERY_S)
    points = [
        (t_s, value)
        for t_s in times
        if isinstance(value := signal(replace(view, now_s=t_s)), float | int)
    ]
    return [Series({}, points)] if points else []


def _engine(found: Sequence[Scrape], replica: int, family: Family, part: str) -> list[Series]:
    rows: dict[Labels, list[Point]] = {}
    if part == "created":
        for scrape in found:
            for labels in created_labels(family, scrape):
                point = (scrape.sample.t_s, EPOCH_S + scrape.process.up_s)
                rows.setdefault(labels, []).append(point)
    elif family.read is not None:
        for scrape in found:
            for labels, value in family.read(scrape):
                rows.setdefault(labels, []).append((scrape.sample.t_s, value))
    else:
        _add_histogram(rows, family, part, found)
    target = {"instance": instance_of(replica), "job": "vllm"}
    return [Series({**dict(labels), **target}, points) for labels, points in rows.items()]


def _add_histogram(
    rows: dict[Labels, list[Point]], family: Family, part: str, found: Sequence[Scrape]
) -> None:
    observed = _observed(family, found)
    for scrape, (bounds, counts, total) in zip(found, observed, strict=True):
        t_s = scrape.sample.t_s
        plain = server(scrape)
        if part != "bucket":
            value = float(sum(counts)) if part == "count" else total
            rows.setdefault(plain, []).append((t_s, value))
            continue
        seen = 0
        for bound, count in zip((*bounds, None), counts, strict=True):
            seen += count
            rows.setdefault(bucket_labels(plain, bound), []).append((t_s, float(seen)))


def _observed(
    family: Family, found: Sequence[Scrape]
) -> Iterator[tuple[tuple[float, ...], Sequence[int], float]]:
    """Return bounds, observations per bucket and their sum for each scrape, oldest first."""
    if family.bounds is None:
        raise ValueError(f"{family.name} is no histogram")
    process = None
    for scrape in found:
        bounds = family.bounds(scrape.engine.config)
        if family.observe is None:
            total = family.total(scrape) if family.total is not None else 0.0
            yield bounds, scrape.counts_since(family.counts), total
            continue
        if scrape.process is not process:
            process, place = scrape.process, 0
            finished = finished_in(scrape.engine, process, found[-1].sample.t_s)
            counts, sum_ = [0] * (len(bounds) + 1), 0.0
        while place < len(finished) and (finished[place].finish_s or 0.0) <= scrape.sample.t_s:
            value = family.observe(finished[place])
            counts[bisect_left(bounds, value)] += 1
            sum_ += value
            place += 1
        yield bounds, tuple(counts), sum_


def _router(view: View, part: str, from_s: float, to_s: float) -> list[Series]:
    samples = view.engine.samples
    first = bisect_right(samples, from_s, key=lambda sample: sample.t_s)
    last = bisect_right(samples, to_s, key=lambda sample: sample.t_s)
    forwarded = sorted(
        (request.arrival_s, request.router_delay_s)
        for request in view.cluster.requests
        if request.status is not Status.SHED
    )
    counts, total, place = [0] * (len(ROUTER_BUCKETS_S) + 1), 0.0, 0
    plain: Labels = (("instance", "router-0:29000"), ("job", "router"))
    rows: dict[Labels, list[Point]] = {}
    for sample in samples[first:last]:
        while place < len(forwarded) and forwarded[place][0] <= sample.t_s:
            counts[bisect_left(ROUTER_BUCKETS_S, forwarded[place][1])] += 1
            total += forwarded[place][1]
            place += 1
        if part != "bucket":
            value = total if part == "sum" else float(place)
            rows.setdefault(plain, []).append((sample.t_s, value))
            continue
        seen = 0
        for bound, count in zip((*ROUTER_BUCKETS_S, None), counts, strict=True):
            seen += count
            rows.setdefault(bucket_labels(plain, bound), []).append((sample.t_s, float(seen)))
    return [Series(dict(labels), points) for labels, points in rows.items()]

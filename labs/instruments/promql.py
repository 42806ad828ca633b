"""The handful of PromQL that the course uses, over what the world recorded.

``metric``, ``rate(metric[5m])``, ``increase(metric[5m])``, ``max_over_time(metric[5m])``, ``avg_over_time(…)`` and
``histogram_quantile(0.95, rate(metric_bucket[5m]))``; a label selector and ``sum by (le)`` are read and, on one
engine, change nothing.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labs.instruments import signals
from labs.instruments.prometheus import EPOCH_S
from labs.instruments.signals import histogram_quantile, quantile, sample_at, sent_between
from labs.simulator.telemetry import ITERATION_TOKENS_BUCKETS, ITL_BUCKETS_S, TTFT_BUCKETS_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labs.instruments.signals import View
    from labs.simulator.telemetry import Sample

GAUGES = {
    "vllm:num_requests_running": "Number of requests in model execution batches.",
    "vllm:num_requests_waiting": "Number of requests waiting to be processed.",
    "vllm:kv_cache_usage_perc": "KV-cache usage. 1 means 100 percent usage.",
}
COUNTERS = {
    "vllm:num_preemptions_total": "Cumulative number of preemption from the engine.",
    "vllm:prompt_tokens_total": "Number of prefill tokens processed.",
    "vllm:generation_tokens_total": "Number of generation tokens processed.",
}
HISTOGRAMS = {
    "vllm:time_to_first_token_seconds": "Histogram of time to first token in seconds.",
    "vllm:inter_token_latency_seconds": "Histogram of inter-token latency in seconds.",
    "vllm:iteration_tokens_total": "Histogram of number of tokens per engine_step.",
}


def value_of(sample: Sample, metric: str) -> float:
    """Return a gauge or counter of a sample by its metric's name. Raises KeyError for another name."""
    return {
        "vllm:num_requests_running": float(sample.running),
        "vllm:num_requests_waiting": float(sample.waiting),
        "vllm:kv_cache_usage_perc": sample.kv_cache_usage_perc,
        "vllm:num_preemptions_total": float(sample.preemptions_reported),
        "vllm:prompt_tokens_total": float(sample.prompt_tokens),
        "vllm:generation_tokens_total": float(sample.generation_tokens),
        "vllm:request_success_total": float(sample.finished),
    }[metric]


def buckets_of(sample: Sample, metric: str) -> tuple[Sequence[float], Sequence[int]]:
    """Return a histogram's bounds and its counts per bucket (+Inf last). Raises KeyError for another name."""
    return {
        "vllm:time_to_first_token_seconds": (TTFT_BUCKETS_S, sample.ttft_counts),
        "vllm:inter_token_latency_seconds": (ITL_BUCKETS_S, sample.itl_counts),
        "vllm:iteration_tokens_total": (ITERATION_TOKENS_BUCKETS, sample.iteration_tokens_counts),
    }[metric]


ROUTER = "router_forward_duration_seconds"
ROUTER_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
RECORDED = {"slo:ttft_p95": "ttft_p95_s", "slo:gap_p95": "gap_p95_s"}
"""Recording rules of this cluster: computed from the clients' side."""
MAX_WINDOW_S = 1800
_UNIT_S = {"s": 1, "m": 60, "h": 3600}

_SELECTOR = r"(?P<metric>[a-zA-Z_][a-zA-Z0-9_:]*)(?:\{[^{}]*\})?"
_RANGE = rf"{_SELECTOR}\[(?P<count>\d{{1,5}})(?P<unit>[smh])\]"
_PLAIN = re.compile(rf"^{_SELECTOR}$")
_OVER = re.compile(rf"^(?P<function>rate|increase|max_over_time|avg_over_time|irate)\({_RANGE}\)$")
_QUANTILE = re.compile(
    rf"^histogram_quantile\((?P<share>0?\.\d+|1|0),(?:sum(?:by\(le\))?\()?(?:rate|increase)\({_RANGE}\)\)?(?:by\(le\))?\)$"
)


class PromqlError(ValueError):
    """An expression that this Prometheus does not answer; the message helps."""


@dataclass(frozen=True)
class Query:
    """One understood expression."""

    function: str
    metric: str
    window_s: int = 0
    share: float = 0.0


def parse(expression: str) -> Query:
    """Return the query. Raises PromqlError whose message says what would be understood."""
    text = re.sub(r"\s+", "", expression)
    text = re.sub(r"^sum(?:by\([a-z_,]*\))?\((?!.*histogram)(.*)\)$", r"\1", text)
    match = _QUANTILE.match(text)
    if match:
        metric = match["metric"].removesuffix("_bucket")
        if not match["metric"].endswith("_bucket") or metric not in {*HISTOGRAMS, ROUTER}:
            raise PromqlError(_no_metric(match["metric"]))
        return Query("histogram_quantile", metric, _window_s(match), float(match["share"]))
    match = _OVER.match(text)
    if match:
        metric = match["metric"]
        function = "rate" if match["function"] == "irate" else match["function"]
        allowed = COUNTERS if function in {"rate", "increase"} else GAUGES
        if metric not in {**COUNTERS, **GAUGES, "vllm:request_success_total": ""}:
            raise PromqlError(_no_metric(metric))
        if metric not in {**allowed, "vllm:request_success_total": ""}:
            kind = "counters" if function in {"rate", "increase"} else "gauges"
            raise PromqlError(f"{function}() is for {kind}, and {metric} is none.")
        return Query(function, metric, _window_s(match))
    match = _PLAIN.match(text)
    if match:
        metric = match["metric"]
        if metric in {*GAUGES, *COUNTERS, *RECORDED, "vllm:request_success_total"}:
            return Query("", metric)
        if metric.removesuffix("_bucket") in {*HISTOGRAMS, ROUTER}:
            raise PromqlError(
                f"{metric} is a histogram: histogram_quantile(0.95, rate({metric.removesuffix('_bucket')}_bucket[5m])) reads it."
            )
        raise PromqlError(_no_metric(metric))
    raise PromqlError(
        "This Prometheus reads a metric, rate(), increase(), max_over_time(), avg_over_time() with a window such as [5m], and histogram_quantile(0.95, rate(…_bucket[5m]))."
    )


def _window_s(match: re.Match[str]) -> int:
    seconds = int(match["count"]) * _UNIT_S[match["unit"]]
    if not 30 <= seconds <= MAX_WINDOW_S:  # noqa: PLR2004
        raise PromqlError(
            f"The window must lie between 30s and {MAX_WINDOW_S // 60}m: that is what is kept."
        )
    return seconds


def _no_metric(metric: str) -> str:
    old = {
        "vllm:gpu_cache_usage_perc": "vllm:kv_cache_usage_perc",
        "vllm:time_per_output_token_seconds_bucket": "vllm:inter_token_latency_seconds_bucket",
    }
    if metric in old:
        return f"{metric} is an old name; today it is {old[metric]}."
    known = [*GAUGES, *COUNTERS, *(f"{name}_bucket" for name in (*HISTOGRAMS, ROUTER)), *RECORDED]
    return f"No series {metric[:60]}. There are: {', '.join(known)}."


def evaluate(view: View, query: Query) -> float | None:
    """Return the value now, or None if the window holds nothing."""
    if query.metric in RECORDED:
        return signals.SIGNALS[RECORDED[query.metric]](view)
    if query.metric == ROUTER:
        return _router_quantile(view, query)
    last = sample_at(view.engine, view.now_s)
    if last is None:
        return None
    if not query.function:
        return value_of(last, query.metric)
    first = sample_at(view.engine, view.now_s - query.window_s)
    if first is None or first is last:
        return None
    if query.function == "histogram_quantile":
        bounds, after = buckets_of(last, query.metric)
        _, before = buckets_of(first, query.metric)
        counts = [b - a for a, b in zip(before, after, strict=True)]
        return histogram_quantile(query.share, bounds, counts)
    if query.function in {"rate", "increase"}:
        grown = value_of(last, query.metric) - value_of(first, query.metric)
        return grown / query.window_s if query.function == "rate" else grown
    values = [
        value_of(sample, query.metric)
        for sample in view.engine.samples
        if view.now_s - query.window_s < sample.t_s <= view.now_s
    ]
    if not values:
        return None
    return max(values) if query.function == "max_over_time" else sum(values) / len(values)


def _router_quantile(view: View, query: Query) -> float | None:
    sent = sent_between(view.cluster, view.now_s - query.window_s, view.now_s)
    counts = [0] * (len(ROUTER_BUCKETS_S) + 1)
    for request in sent:
        counts[sum(request.router_delay_s > bound for bound in ROUTER_BUCKETS_S)] += 1
    if query.share == 1:
        return quantile([request.router_delay_s for request in sent], 1.0)
    return histogram_quantile(query.share, ROUTER_BUCKETS_S, counts)


def instrument_of(query: Query) -> str:
    """Return which instrument of the lab a query uses; its price is that one's."""
    if query.metric in RECORDED:
        return "slo" if query.metric == "slo:ttft_p95" else "gaps"
    if query.metric == ROUTER:
        return "router"
    if query.metric == "vllm:num_preemptions_total":
        return "preemptions"
    if query.metric in GAUGES:
        return "counters"
    return "ttft_histogram"


def signal_of(query: Query, value: float | None) -> dict[str, float | None]:
    """Return the signal that a query shows, on the scale of the lab's table."""
    if query.metric in RECORDED:
        return {RECORDED[query.metric]: value}
    if query.metric == ROUTER and query.share == 0.95:  # noqa: PLR2004
        return {"router_p95_s": value}
    if query.metric == "vllm:num_preemptions_total" and query.function in {"rate", "increase"}:
        if value is None:
            return {"preemptions_5m": None}
        per_s = value if query.function == "rate" else value / query.window_s
        return {"preemptions_5m": per_s * signals.PANEL_S}
    if query.metric == "vllm:time_to_first_token_seconds" and query.share == 0.95:  # noqa: PLR2004
        return {"ttft_engine_p95_s": value}
    if query.metric == "vllm:num_requests_waiting" and query.function != "rate":
        return {"queue_depth": value}
    if query.metric == "vllm:kv_cache_usage_perc" and query.function != "rate":
        return {"kv_usage": value}
    return {}


def answer(view: View, value: float | None, query: Query) -> str:
    """Return Prometheus' JSON answer, one line a result."""
    labels = (
        {}
        if query.function == "histogram_quantile" or query.metric in RECORDED
        else {"engine": "0", "model_name": "atlas-70b"}
    )
    result = (
        []
        if value is None
        else [{"metric": labels, "value": [EPOCH_S + round(view.now_s), f"{value:.6g}"]}]
    )
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}})

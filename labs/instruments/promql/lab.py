"""A query as a lab sees it: what it answers, which instrument it is, and which signal can be read in it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labs.instruments.prometheus.families import BY_NAME
from labs.instruments.prometheus.scrapes import EPOCH_S
from labs.instruments.promql.checking import check, selectors
from labs.instruments.promql.errors import PromqlError
from labs.instruments.promql.evaluation import value_of
from labs.instruments.promql.matching import Element
from labs.instruments.promql.reading import read
from labs.instruments.promql.series import DCGM, ENGINE_SERIES, RECORDED, ROUTER_SERIES
from labs.instruments.promql.syntax import Aggregate, Binary, Call, Number, Selector

if TYPE_CHECKING:
    from labs.instruments.promql.syntax import Expression
    from labs.instruments.signals import View

P95 = 0.95
PREFIX_CACHE = ("vllm:prefix_cache_hits_total", "vllm:prefix_cache_queries_total")
_DEAREST_FIRST = (
    "gaps",
    "itl",
    "slo",
    "router",
    "preemptions",
    "prefix_cache",
    "ttft_histogram",
    "dcgm",
    "counters",
)


@dataclass(frozen=True)
class Query:
    """One understood expression. The other fields say what it is if it is a simple one, else they are empty."""

    expression: Expression
    function: str = ""
    """``rate``, ``max_over_time``, ``histogram_quantile``... of one metric; empty for the metric itself."""
    metric: str = ""
    """The one family that it reads; empty if there is arithmetic in it, or a selection of series."""
    window_s: float = 0.0
    share: float = 0.0


def parse(expression: str) -> Query:
    """Return the query. Raises PromqlError, whose message says what would be understood."""
    if not expression.strip():
        raise PromqlError(
            "An expression is missing: rate(vllm:generation_tokens_total[5m]) is one."
        )
    found = read(expression)
    check(found)
    return _simple(found, found)


def _simple(whole: Expression, part: Expression) -> Query:
    """Return what a query is in one word, looking through sums: on one engine they change nothing."""
    match part:
        case Aggregate(function="sum" | "avg" | "max" | "min"):
            return _simple(whole, part.inner)
        case Selector() if not _narrows(part):
            return Query(whole, metric=_family(part.metric))
        case Call(function="histogram_quantile", arguments=(Number() as share, inner)):
            query = _simple(whole, inner)
            if query.function in {"rate", "increase"}:
                return Query(whole, part.function, query.metric, query.window_s, share.value)
        case Call(arguments=(Selector() as selector,)) if not _narrows(selector):
            return Query(whole, part.function, _family(selector.metric), selector.range_s)
    return Query(whole)


def _narrows(selector: Selector) -> bool:
    return selector.offset_s > 0 or any(matcher.sign != "=" for matcher in selector.matchers)


def _family(metric: str) -> str:
    if metric in ENGINE_SERIES:
        return ENGINE_SERIES[metric][0].name
    return metric.removesuffix(f"_{ROUTER_SERIES[metric]}") if metric in ROUTER_SERIES else metric


def vector(view: View, query: Query) -> list[Element]:
    """Return all rows of the answer at ``view.now_s``; a number is one row without labels.

    Raises PromqlError for vectors that do not match.
    """
    value = value_of(view, query.expression)
    return value if isinstance(value, list) else [Element({}, value)]


def evaluate(view: View, query: Query) -> float | None:
    """Return the value now, or None if there is not exactly one row, or it is not a number."""
    try:
        rows = vector(view, query)
    except PromqlError:
        return None
    return rows[0].value if len(rows) == 1 and not math.isnan(rows[0].value) else None


def answer(view: View, value: float | None, query: Query) -> str:
    """Return Prometheus' JSON answer, one line a result if there are several."""
    del value
    try:
        found = value_of(view, query.expression)
    except PromqlError as exc:
        return json.dumps({"status": "error", "errorType": "execution", "error": str(exc)})
    now = EPOCH_S + round(view.now_s)
    if not isinstance(found, list):
        data = {"resultType": "scalar", "result": [now, number(found)]}
        return json.dumps({"status": "success", "data": data})
    results = [
        json.dumps({"metric": row.labels, "value": [now, number(row.value)]}) for row in found
    ]
    apart = ",\n" if len(results) > 1 else ""
    return f'{{"status": "success", "data": {{"resultType": "vector", "result": [{apart.join(results)}]}}}}'


def number(value: float) -> str:
    """Return a value as the answer has it, six digits of it."""
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return "NaN" if math.isnan(value) else f"{value:.6g}"


def instrument_of(query: Query) -> str:
    """Return which instrument of the lab a query uses; of several, the one that tells most."""
    found = {_instrument(selector.metric) for selector in selectors(query.expression)}
    return next((key for key in _DEAREST_FIRST if key in found), "counters")


def _instrument(metric: str) -> str:
    if metric in RECORDED:
        return {"slo:ttft_p95": "slo", "slo:itl_p99": "itl", "slo:itl_mean": "itl"}.get(
            metric, "gaps"
        )
    if metric in ROUTER_SERIES:
        return "router"
    if metric in DCGM:
        return "dcgm"
    family = _family(metric)
    if family in PREFIX_CACHE:
        return "prefix_cache"
    if "preemptions" in family:
        return "preemptions"
    return "counters" if family in BY_NAME and BY_NAME[family].kind == "gauge" else "ttft_histogram"


def signal_of(view: View, query: Query, value: float | None) -> dict[str, float | None]:
    """Return the signal that a simple query shows, on the scale of the lab's table."""
    name = _signal(view, query)
    if not name:
        return {}
    if name == "preemptions_5m" and value is not None:
        per_s = value if query.function == "rate" else value / query.window_s
        return {name: per_s * view.windows.panel_s}
    if name == "gpu_util" and value is not None:
        return {name: value / 100}
    return {name: value}


def _is_hit_share(view: View, expression: Expression) -> bool:
    """Tell whether it is the hits of a usual window over the lookups of the same."""
    if not isinstance(expression, Binary) or expression.sign != "/":
        return False
    hits, lookups = (
        _simple(expression.left, expression.left),
        _simple(expression.right, expression.right),
    )
    same = (hits.function, hits.window_s) == (lookups.function, lookups.window_s)
    counted = hits.function in {"rate", "increase"} and hits.window_s == view.windows.panel_s
    return same and counted and (hits.metric, lookups.metric) == PREFIX_CACHE


def _signal(view: View, query: Query) -> str:
    if _is_hit_share(view, query.expression):
        return "prefix_hit_share_5m"
    of_time = {"", "max_over_time", "avg_over_time", "min_over_time", "last_over_time"}
    match query.metric:
        case metric if metric in RECORDED and not query.function:
            return RECORDED[metric]
        case "router_forward_duration_seconds" if query.share == P95:
            return "router_p95_s"
        case "vllm:num_preemptions_total" if query.function in {"rate", "increase"}:
            return "preemptions_5m"
        case "vllm:time_to_first_token_seconds" if query.share == P95:
            return "ttft_engine_p95_s"
        case "vllm:num_requests_waiting" if query.function in of_time:
            return "queue_depth"
        case "vllm:kv_cache_usage_perc" if query.function in of_time:
            return "kv_usage"
        case "DCGM_FI_DEV_GPU_UTIL" if not query.function:
            return "gpu_util"
        case "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE" if not query.function:
            return "tensor_active"
    return ""

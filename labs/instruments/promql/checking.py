"""What is wrong with an expression before it is evaluated: names, kinds and windows, each with what would be right."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from labs.instruments.promql.errors import PromqlError
from labs.instruments.promql.evaluation import (
    FUNCTIONS,
    GROWTH,
    OF_A_WINDOW,
    TAKES_A_NUMBER_FIRST,
    is_number,
)
from labs.instruments.promql.series import COUNTERS, HISTOGRAMS, NAMES
from labs.instruments.promql.syntax import (
    AGGREGATIONS,
    SETS,
    Aggregate,
    Binary,
    Call,
    Number,
    Selector,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labs.instruments.promql.syntax import Expression

MIN_WINDOW_S, MAX_WINDOW_S = 30.0, 172_800.0
RENAMED = {
    "vllm:gpu_cache_usage_perc": "vllm:kv_cache_usage_perc",
    "vllm:gpu_prefix_cache_hit_rate": "vllm:prefix_cache_hits_total over vllm:prefix_cache_queries_total",
    "vllm:time_per_output_token_seconds": "vllm:inter_token_latency_seconds",
    "vllm:time_per_output_token_seconds_bucket": "vllm:inter_token_latency_seconds_bucket",
    "vllm:time_per_output_token_seconds_sum": "vllm:inter_token_latency_seconds_sum",
    "vllm:time_per_output_token_seconds_count": "vllm:inter_token_latency_seconds_count",
}
NEVER_WERE = {
    "vllm:num_graph_captures": "vllm:iteration_tokens_total",
    "vllm:num_tokens_prefill": "vllm:prompt_tokens_total",
    "vllm:num_tokens_decode": "vllm:generation_tokens_total",
}
_TWO = {
    "histogram_quantile": "histogram_quantile(0.95, rate(…_bucket[5m]))",
    "quantile_over_time": "quantile_over_time(0.95, …[5m])",
    "clamp_min": "clamp_min(…, 0)",
    "clamp_max": "clamp_max(…, 1)",
}


def check(expression: Expression) -> None:
    """Raise PromqlError, whose message helps, for an expression that cannot be evaluated."""
    if isinstance(expression, Selector) and expression.range_s:
        raise PromqlError(
            f"{expression.metric} has a window and no function: rate({expression.metric}[5m]) for one."
        )
    _check(expression)


def _check(expression: Expression) -> None:
    match expression:
        case Selector():
            _metric(expression.metric)
            _window(expression)
        case Call():
            _call(expression)
        case Aggregate():
            _vector(expression.inner, f"{expression.function}()")
            if expression.parameter is not None and not is_number(expression.parameter):
                raise PromqlError(
                    f"{expression.function} takes a number first: {expression.function}(3, …)."
                )
        case Binary():
            for side in (expression.left, expression.right):
                if isinstance(side, Selector) and side.range_s:
                    raise PromqlError(
                        f"{side.metric}[…] is a range; {expression.sign} wants rate() or the like around it."
                    )
                if expression.sign in SETS and is_number(side):
                    raise PromqlError(f"{expression.sign} stands between two vectors, not numbers.")
                _check(side)


def selectors(expression: Expression) -> Iterator[Selector]:
    """Return the selectors of an expression, left to right."""
    match expression:
        case Selector():
            yield expression
        case Call():
            for argument in expression.arguments:
                yield from selectors(argument)
        case Aggregate():
            yield from selectors(expression.inner)
        case Binary():
            yield from selectors(expression.left)
            yield from selectors(expression.right)


def _vector(expression: Expression, what: str) -> None:
    if is_number(expression):
        raise PromqlError(f"{what} is taken of a metric, not of a number.")
    if isinstance(expression, Selector) and expression.range_s:
        raise PromqlError(
            f"{what} is taken of values now: {expression.metric}, or rate({expression.metric}[5m]), without a window of its own."
        )
    _check(expression)


def _call(call: Call) -> None:
    name, arguments = call.function, call.arguments
    if name not in FUNCTIONS:
        near = get_close_matches(name, [*FUNCTIONS, *AGGREGATIONS], 1)
        hint = f" Did you mean {near[0]}()?" if near else ""
        raise PromqlError(
            f"No function {name[:40]}() here.{hint} There are: {', '.join(sorted(FUNCTIONS))}."
        )
    wanted = 0 if name == "time" else 2 if name in _TWO else 1
    if len(arguments) != wanted:
        example = _TWO.get(name, "time()" if name == "time" else f"{name}(…)")
        raise PromqlError(f"{name} takes {wanted} argument{'' if wanted == 1 else 's'}: {example}.")
    if name in TAKES_A_NUMBER_FIRST:
        _share(name, arguments[0])
    if name in OF_A_WINDOW:
        _of_a_window(name, arguments[-1])
    elif name == "vector":
        if not is_number(arguments[0]):
            raise PromqlError("vector() is taken of a number.")
    elif wanted:
        _vector(arguments[-1 if name in TAKES_A_NUMBER_FIRST else 0], f"{name}()")
    if name == "histogram_quantile":
        _buckets(arguments[1])


def _share(name: str, share: Expression) -> None:
    if not is_number(share) or (isinstance(share, Number) and not 0 <= share.value <= 1):
        raise PromqlError(f"{name} takes a share from 0 to 1 first: {_TWO[name]}.")


def _of_a_window(name: str, selector: Expression) -> None:
    if not isinstance(selector, Selector) or not selector.range_s:
        raise PromqlError(
            f"{name}() wants a metric with a window such as [5m]: {name}({_example(name)}[5m])."
        )
    _check(selector)
    if name in GROWTH and selector.metric not in COUNTERS:
        raise PromqlError(
            f"{name}() is for counters, and {selector.metric} is none: max_over_time() or delta() reads a gauge."
        )


def _buckets(expression: Expression) -> None:
    found = [selector.metric for selector in selectors(expression)]
    if not any(metric.endswith("_bucket") for metric in found):
        raise PromqlError(
            f"histogram_quantile reads buckets, and {found[0] if found else 'this'} has none: use …_bucket."
        )


def _example(function: str) -> str:
    return "vllm:num_preemptions_total" if function in GROWTH else "vllm:num_requests_waiting"


def _window(selector: Selector) -> None:
    if selector.range_s and not MIN_WINDOW_S <= selector.range_s <= MAX_WINDOW_S:
        raise PromqlError(
            "The window must lie between 30s and 2d: a scrape comes every 5 s, and two days are kept."
        )
    if selector.offset_s > MAX_WINDOW_S:
        raise PromqlError("The offset must be at most 2d: two days are kept.")


def _metric(metric: str) -> None:
    if metric in NAMES:
        return
    if metric in RENAMED:
        raise PromqlError(f"{metric} is an old name; today it is {RENAMED[metric]}.")
    if metric in NEVER_WERE:
        raise PromqlError(f"vLLM has no {metric}; the nearest is {NEVER_WERE[metric]}.")
    if metric in HISTOGRAMS:
        raise PromqlError(
            f"{metric} is a histogram: histogram_quantile(0.95, rate({metric}_bucket[5m])) reads it."
        )
    near = get_close_matches(metric, NAMES, 3, 0.5)
    hint = f" The nearest: {', '.join(near)}." if near else ""
    raise PromqlError(
        f"No series {metric[:60]}.{hint} There are those of the engine's /metrics and of DCGM's, router_forward_duration_seconds, slo:ttft_p95, slo:gap_p95, slo:itl_p99 and slo:itl_mean."
    )

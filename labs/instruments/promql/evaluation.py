"""From an expression to a number or a vector, by Prometheus' rules."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from labs.instruments.prometheus.scrapes import EPOCH_S
from labs.instruments.promql import functions
from labs.instruments.promql.errors import PromqlError
from labs.instruments.promql.matching import Element, combine, key_of, unnamed
from labs.instruments.promql.series import select
from labs.instruments.promql.syntax import (
    Aggregate,
    Binary,
    Call,
    Number,
    Selector,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from labs.instruments.promql.matching import Key, Vector
    from labs.instruments.promql.syntax import Expression
    from labs.instruments.signals import View


_ELEMENTWISE: dict[str, Callable[[float], float]] = {
    "abs": abs,
    "ceil": lambda value: float(math.ceil(value)) if math.isfinite(value) else value,
    "floor": lambda value: float(math.floor(value)) if math.isfinite(value) else value,
    "round": lambda value: math.floor(value + 0.5) + 0.0 if math.isfinite(value) else value,
}
_SUMMARISE: dict[str, Callable[[list[float]], float]] = {
    "sum": math.fsum,
    "avg": lambda values: math.fsum(values) / len(values),
    "max": max,
    "min": min,
    "count": lambda values: float(len(values)),
}
GROWTH = frozenset({"rate", "increase", "irate"})
OF_A_WINDOW = frozenset({*GROWTH, "delta", "quantile_over_time", *functions.OVER_TIME})
FUNCTIONS = frozenset(
    {
        *OF_A_WINDOW,
        *_ELEMENTWISE,
        "histogram_quantile",
        "clamp_min",
        "clamp_max",
        "vector",
        "scalar",
        "time",
        "sort",
        "sort_desc",
    }
)
TAKES_A_NUMBER_FIRST = frozenset({"histogram_quantile", "quantile_over_time"})


def is_number(expression: Expression) -> bool:
    """Say whether an expression gives a number, not a vector."""
    if isinstance(expression, Binary):
        return is_number(expression.left) and is_number(expression.right)
    return isinstance(expression, Number) or (
        isinstance(expression, Call) and expression.function in {"scalar", "time"}
    )


def value_of(view: View, expression: Expression) -> float | Vector:
    """Return what an expression gives at ``view.now_s``.

    Raises PromqlError for vectors that do not match one to one.
    """
    match expression:
        case Number():
            return expression.value
        case Selector():
            return [
                Element(series.labels, series.points[-1][1])
                for series in select(view, expression)
                if series.points
            ]
        case Call():
            return _call(view, expression)
        case Aggregate():
            return _aggregate(view, expression)
        case Binary():
            return combine(
                expression, value_of(view, expression.left), value_of(view, expression.right)
            )


def _number(view: View, expression: Expression) -> float:
    value = value_of(view, expression)
    return value if isinstance(value, float | int) else math.nan


def _rows(view: View, expression: Expression) -> Vector:
    value = value_of(view, expression)
    return value if isinstance(value, list) else [Element({}, value)]


def _call(view: View, call: Call) -> float | Vector:
    name = call.function
    if name == "time":
        return EPOCH_S + view.now_s
    if name in OF_A_WINDOW:
        return _over_window(view, call)
    if name == "histogram_quantile":
        return _histogram_quantile(_number(view, call.arguments[0]), _rows(view, call.arguments[1]))
    if name == "vector":
        return [Element({}, _number(view, call.arguments[0]))]
    rows = _rows(view, call.arguments[0])
    if name == "scalar":
        return rows[0].value if len(rows) == 1 else math.nan
    if name in {"sort", "sort_desc"}:
        return sorted(rows, key=lambda row: row.value, reverse=name == "sort_desc")
    if name in {"clamp_min", "clamp_max"}:
        limit = _number(view, call.arguments[1])
        clamp: Callable[[float, float], float] = max if name == "clamp_min" else min
        return [Element(unnamed(row.labels), clamp(row.value, limit)) for row in rows]
    return [Element(unnamed(row.labels), _ELEMENTWISE[name](row.value)) for row in rows]


def _over_window(view: View, call: Call) -> Vector:
    selector = call.arguments[-1]
    if not isinstance(selector, Selector):
        raise PromqlError(f"{call.function} wants a metric with a window.")
    to_s = view.now_s - selector.offset_s
    from_s = to_s - selector.range_s
    share = _number(view, call.arguments[0]) if call.function == "quantile_over_time" else 0.0
    found: Vector = []
    for series in select(view, selector):
        values = [value for _, value in series.points]
        value: float | None
        if call.function == "irate":
            value = functions.instant_rate(series.points)
        elif call.function in {"rate", "increase", "delta"}:
            value = functions.extrapolated(
                series.points,
                from_s,
                to_s,
                is_counter=call.function != "delta",
                is_rate=call.function == "rate",
            )
        elif call.function == "quantile_over_time":
            value = functions.quantile(share, values)
        else:
            value = functions.OVER_TIME[call.function](values) if values else None
        if value is not None:
            keeps_name = call.function == "last_over_time"
            labels = series.labels if keeps_name else unnamed(series.labels)
            found.append(Element(labels, value))
    return found


def _histogram_quantile(share: float, rows: Vector) -> Vector:
    groups: dict[Key, list[tuple[float, float]]] = {}
    for row in rows:
        bound = row.labels.get("le")
        if bound is not None:
            rest = {name: value for name, value in unnamed(row.labels).items() if name != "le"}
            groups.setdefault(key_of(rest), []).append((float(bound), row.value))
    return [
        Element(dict(key), functions.bucket_quantile(share, sorted(buckets)))
        for key, buckets in groups.items()
    ]


def _aggregate(view: View, aggregate: Aggregate) -> Vector:
    parameter = 0.0 if aggregate.parameter is None else _number(view, aggregate.parameter)
    groups: dict[Key, Vector] = {}
    for row in _rows(view, aggregate.inner):
        groups.setdefault(key_of(_grouping(aggregate, row.labels)), []).append(row)
    found: Vector = []
    for key, rows in groups.items():
        if aggregate.function in {"topk", "bottomk"}:
            count = max(0, int(parameter)) if math.isfinite(parameter) else 0
            is_top = aggregate.function == "topk"
            found += sorted(rows, key=lambda row: row.value, reverse=is_top)[:count]
            continue
        values = [row.value for row in rows]
        if aggregate.function == "quantile":
            value = functions.quantile(parameter, values)
        else:
            value = _SUMMARISE[aggregate.function](values)
        found.append(Element(dict(key), value))
    return found


def _grouping(aggregate: Aggregate, labels: dict[str, str]) -> dict[str, str]:
    if aggregate.labels is None:
        return {}
    if aggregate.is_without:
        return {k: v for k, v in unnamed(labels).items() if k not in aggregate.labels}
    return {name: labels[name] for name in aggregate.labels if name in labels}

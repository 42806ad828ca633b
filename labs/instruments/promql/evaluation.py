"""From an expression to a number or a vector, by Prometheus' rules."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labs.instruments.prometheus.scrapes import EPOCH_S
from labs.instruments.promql import functions
from labs.instruments.promql.errors import PromqlError
from labs.instruments.promql.series import select
from labs.instruments.promql.syntax import (
    COMPARISONS,
    SETS,
    Aggregate,
    Binary,
    Call,
    Number,
    Selector,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from labs.instruments.promql.syntax import Expression
    from labs.instruments.signals import View


@dataclass(frozen=True)
class Element:
    """One row of a vector."""

    labels: dict[str, str]
    value: float


type Vector = list[Element]
type Key = tuple[tuple[str, str], ...]


def _divided(a: float, b: float) -> float:
    if b:
        return a / b
    return (
        math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)
    )


def _powered(a: float, b: float) -> float:
    try:
        result = a**b
    except (OverflowError, ZeroDivisionError):
        return math.inf
    return result if isinstance(result, float) else math.nan


_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divided,
    "%": lambda a, b: math.fmod(a, b) if b and math.isfinite(a) else math.nan,
    "^": _powered,
}
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
}
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
            return _binary(view, expression)


def _number(view: View, expression: Expression) -> float:
    value = value_of(view, expression)
    return value if isinstance(value, float | int) else math.nan


def _rows(view: View, expression: Expression) -> Vector:
    value = value_of(view, expression)
    return value if isinstance(value, list) else [Element({}, value)]


def _unnamed(labels: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in labels.items() if name != "__name__"}


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
        return [Element(_unnamed(row.labels), clamp(row.value, limit)) for row in rows]
    return [Element(_unnamed(row.labels), _ELEMENTWISE[name](row.value)) for row in rows]


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
            labels = series.labels if keeps_name else _unnamed(series.labels)
            found.append(Element(labels, value))
    return found


def _histogram_quantile(share: float, rows: Vector) -> Vector:
    groups: dict[Key, list[tuple[float, float]]] = {}
    for row in rows:
        bound = row.labels.get("le")
        if bound is not None:
            rest = {name: value for name, value in _unnamed(row.labels).items() if name != "le"}
            groups.setdefault(_key(rest), []).append((float(bound), row.value))
    return [
        Element(dict(key), functions.bucket_quantile(share, sorted(buckets)))
        for key, buckets in groups.items()
    ]


def _key(labels: dict[str, str]) -> Key:
    return tuple(sorted(labels.items()))


def _aggregate(view: View, aggregate: Aggregate) -> Vector:
    parameter = 0.0 if aggregate.parameter is None else _number(view, aggregate.parameter)
    groups: dict[Key, Vector] = {}
    for row in _rows(view, aggregate.inner):
        groups.setdefault(_key(_grouping(aggregate, row.labels)), []).append(row)
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
        return {k: v for k, v in _unnamed(labels).items() if k not in aggregate.labels}
    return {name: labels[name] for name in aggregate.labels if name in labels}


def _binary(view: View, binary: Binary) -> float | Vector:
    left, right = value_of(view, binary.left), value_of(view, binary.right)
    if isinstance(left, list) and isinstance(right, list):
        if binary.sign in SETS:
            return _set(binary, left, right)
        return _matched(binary, left, right)
    if isinstance(left, list):
        number = right if isinstance(right, float | int) else math.nan
        return list(_kept(binary, ((row, row.value, number) for row in left)))
    if isinstance(right, list):
        return list(_kept(binary, ((row, left, row.value) for row in right)))
    if binary.sign in COMPARISONS:
        return float(_COMPARE[binary.sign](left, right))
    return _ARITHMETIC[binary.sign](left, right)


def _kept(binary: Binary, pairs: Iterable[tuple[Element, float, float]]) -> Iterable[Element]:
    """Apply an operator to each pair; a comparison without ``bool`` filters, and keeps the vector's value."""
    for row, left, right in pairs:
        if binary.sign not in COMPARISONS:
            yield Element(_unnamed(row.labels), _ARITHMETIC[binary.sign](left, right))
        elif binary.is_bool:
            yield Element(_unnamed(row.labels), float(_COMPARE[binary.sign](left, right)))
        elif _COMPARE[binary.sign](left, right):
            yield row


def _signature(binary: Binary, labels: dict[str, str]) -> Key:
    plain = _unnamed(labels)
    if binary.labels is None:
        return _key(plain)
    return _key({k: v for k, v in plain.items() if (k in binary.labels) == binary.is_on})


def _matched(binary: Binary, left: Vector, right: Vector) -> Vector:
    """Match one to one on equal labels; what has no partner falls out."""
    partners: dict[Key, Element] = {}
    for row in right:
        signature = _signature(binary, row.labels)
        if signature in partners:
            raise PromqlError(_many("right", signature))
        partners[signature] = row
    pairs: list[tuple[Element, float, float]] = []
    used: set[Key] = set()
    for row in left:
        signature = _signature(binary, row.labels)
        if signature not in partners:
            continue
        if signature in used:
            raise PromqlError(_many("left", signature))
        used.add(signature)
        kept = (
            row
            if binary.sign in COMPARISONS and not binary.is_bool
            else Element(dict(signature), row.value)
        )
        pairs.append((kept, row.value, partners[signature].value))
    return list(_kept(binary, pairs))


def _many(side: str, signature: Key) -> str:
    group = ", ".join(f'{name}="{value}"' for name, value in signature)
    return (
        f"found duplicate series for the match group {{{group}}} on the {side} hand-side of the operation: "
        "aggregate that side first, with sum by (…) for one."
    )


def _set(binary: Binary, left: Vector, right: Vector) -> Vector:
    there = {_signature(binary, row.labels) for row in right}
    if binary.sign == "and":
        return [row for row in left if _signature(binary, row.labels) in there]
    if binary.sign == "unless":
        return [row for row in left if _signature(binary, row.labels) not in there]
    have = {_signature(binary, row.labels) for row in left}
    return left + [row for row in right if _signature(binary, row.labels) not in have]

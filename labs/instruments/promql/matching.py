"""An operator between two numbers, a number and a vector, or two vectors that match on their labels."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labs.instruments.promql.errors import PromqlError
from labs.instruments.promql.syntax import COMPARISONS, SETS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from labs.instruments.promql.syntax import Binary


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


def unnamed(labels: dict[str, str]) -> dict[str, str]:
    """Return labels without the metric's name."""
    return {name: value for name, value in labels.items() if name != "__name__"}


def key_of(labels: dict[str, str]) -> Key:
    """Return labels as a key."""
    return tuple(sorted(labels.items()))


def combine(binary: Binary, left: float | Vector, right: float | Vector) -> float | Vector:
    """Return what ``binary`` makes of its two sides. Raises PromqlError for vectors that do not match one to one."""
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
            yield Element(unnamed(row.labels), _ARITHMETIC[binary.sign](left, right))
        elif binary.is_bool:
            yield Element(unnamed(row.labels), float(_COMPARE[binary.sign](left, right)))
        elif _COMPARE[binary.sign](left, right):
            yield row


def _signature(binary: Binary, labels: dict[str, str]) -> Key:
    plain = unnamed(labels)
    if binary.labels is None:
        return key_of(plain)
    return key_of({k: v for k, v in plain.items() if (k in binary.labels) == binary.is_on})


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

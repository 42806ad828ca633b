"""What PromQL's expressions are made of."""

from __future__ import annotations

from dataclasses import dataclass

AGGREGATIONS = ("sum", "avg", "max", "min", "count", "topk", "bottomk", "quantile")
COMPARISONS = frozenset({"==", "!=", ">", "<", ">=", "<="})
SETS = frozenset({"or", "and", "unless"})


@dataclass(frozen=True)
class Number:
    """A literal."""

    value: float


@dataclass(frozen=True)
class Matcher:
    """One condition on a label: ``=``, ``!=``, ``=~`` or ``!~``."""

    label: str
    sign: str
    value: str


@dataclass(frozen=True)
class Selector:
    """Series of one metric; with ``range_s``, their samples over that many seconds."""

    metric: str
    matchers: tuple[Matcher, ...] = ()
    range_s: float = 0.0
    offset_s: float = 0.0


@dataclass(frozen=True)
class Call:
    """A function of other expressions."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Aggregate:
    """``sum by (le) (…)`` and its like. ``labels`` is None without a clause."""

    function: str
    inner: Expression
    labels: tuple[str, ...] | None = None
    is_without: bool = False
    parameter: Expression | None = None


@dataclass(frozen=True)
class Binary:
    """Two expressions and an operator between them."""

    sign: str
    left: Expression
    right: Expression
    is_bool: bool = False
    labels: tuple[str, ...] | None = None
    """Labels of ``on`` or ``ignoring``; None to match on all."""
    is_on: bool = False


type Expression = Number | Selector | Call | Aggregate | Binary

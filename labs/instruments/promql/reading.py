"""From a text to the PromQL expression that it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from labs.instruments.promql.errors import PromqlError
from labs.instruments.promql.syntax import (
    AGGREGATIONS,
    COMPARISONS,
    Aggregate,
    Binary,
    Call,
    Matcher,
    Number,
    Selector,
)

if TYPE_CHECKING:
    from labs.instruments.promql.syntax import Expression

MAX_LENGTH = 600
MAX_DEPTH = 25
_UNIT_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)
    |(?P<duration>(?:[0-9]+(?:ms|[smhd]))+(?![a-zA-Z0-9_:]))
    |(?P<number>0x[0-9a-fA-F]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?:[Ii]nf|NaN)(?![a-zA-Z0-9_:]))
    |(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)
    |(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<sign>=~|!~|==|!=|>=|<=|[-+*/%^(){}\[\],=<>:@])""",
    re.VERBOSE,
)

_BINARY = (
    ("or",),
    ("and", "unless"),
    ("==", "!=", ">", "<", ">=", "<="),
    ("+", "-"),
    ("*", "/", "%"),
    ("^",),
)


class _Token(NamedTuple):
    kind: str
    text: str
    place: int


def duration_s(text: str) -> float:
    """Return the seconds of a duration such as ``5m`` or ``1h30m``."""
    parts = re.findall(r"([0-9]+)(ms|[smhd])", text)
    return sum(int(count) * _UNIT_MS[unit] for count, unit in parts) / 1000


def read(text: str) -> Expression:
    """Return the expression that ``text`` is. Raises PromqlError, whose message says where it stops being one."""
    if len(text) > MAX_LENGTH:
        raise PromqlError(f"An expression has at most {MAX_LENGTH} characters here.")
    reader = _Reader(_tokens(text))
    expression = reader.expression(0)
    reader.end()
    return expression


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise PromqlError(f"Character {place + 1}: “{text[place]}” has no place in PromQL.")
        kind = match.lastgroup or ""
        if kind != "space":
            tokens.append(_Token(kind, match.group(), place))
        place = match.end()
    tokens.append(_Token("end", "", len(text)))
    return tokens


class _Reader:
    """Where the reading of an expression stands."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0

    @property
    def next(self) -> _Token:
        return self.tokens[self.at]

    def take(self) -> _Token:
        token = self.tokens[self.at]
        self.at += token.kind != "end"
        return token

    def takes(self, *texts: str) -> bool:
        if self.next.kind in {"sign", "name"} and self.next.text in texts:
            self.at += 1
            return True
        return False

    def want(self, text: str, why: str) -> None:
        if not self.takes(text):
            raise self.unexpected(f"“{text}” {why}")

    def unexpected(self, wanted: str) -> PromqlError:
        found = f"“{self.next.text[:40]}”" if self.next.kind != "end" else "the end"
        return PromqlError(
            f"Character {self.next.place + 1}: {wanted} should stand here, not {found}."
        )

    def end(self) -> None:
        if self.next.kind != "end":
            raise self.unexpected("an operator or the end")

    def expression(self, level: int) -> Expression:
        self.depth += 1
        if self.depth > MAX_DEPTH * len(_BINARY):
            raise PromqlError("Too many brackets within brackets.")
        if level == len(_BINARY):
            found = self.unary()
            self.depth -= 1
            return found
        left = self.expression(level + 1)
        while self.next.text in _BINARY[level] and self.next.kind in {"sign", "name"}:
            left = self.binary(left, level)
        self.depth -= 1
        return left

    def binary(self, left: Expression, level: int) -> Expression:
        sign = self.take().text
        is_bool = self.takes("bool")
        if is_bool and sign not in COMPARISONS:
            raise PromqlError("bool belongs to a comparison, such as `> bool 0`.")
        labels: tuple[str, ...] | None = None
        is_on = self.next.text == "on"
        if self.takes("on", "ignoring"):
            labels = self.labels()
        if self.next.text in {"group_left", "group_right"}:
            raise PromqlError(
                "group_left and group_right are not read here: aggregate one side first."
            )
        # A power binds to the right, everything else to the left.
        right = self.expression(level if sign == "^" else level + 1)
        if (
            isinstance(left, Number)
            and isinstance(right, Number)
            and sign in COMPARISONS
            and not is_bool
        ):
            raise PromqlError(f"Between two numbers it is `{sign} bool`.")
        return Binary(sign, left, right, is_bool, labels, is_on)

    def unary(self) -> Expression:
        if self.takes("-"):
            inner = self.expression(len(_BINARY) - 1)
            return (
                Number(-inner.value)
                if isinstance(inner, Number)
                else Binary("*", Number(-1.0), inner)
            )
        self.takes("+")
        return self.behind(self.primary())

    def behind(self, found: Expression) -> Expression:
        """Read a window and an offset behind a selector."""
        if self.takes("["):
            if not isinstance(found, Selector):
                raise PromqlError(
                    "A window such as [5m] stands behind a metric; subqueries are not read here."
                )
            seconds = self.duration("a window such as 5m")
            if self.next.text == ":":
                raise PromqlError("Subqueries, [5m:30s], are not read here.")
            self.want("]", "closes the window")
            found = Selector(found.metric, found.matchers, seconds)
        if self.takes("offset"):
            if not isinstance(found, Selector):
                raise PromqlError("offset stands behind a metric or its window.")
            found = Selector(
                found.metric, found.matchers, found.range_s, self.duration("an offset such as 5m")
            )
        if self.next.text == "@":
            raise PromqlError("The @ modifier is not read here; offset is.")
        return found

    def duration(self, wanted: str) -> float:
        if self.next.kind != "duration":
            raise self.unexpected(wanted)
        return duration_s(self.take().text)

    def primary(self) -> Expression:
        token = self.next
        if token.kind == "number":
            self.take()
            text = token.text
            return Number(float(int(text, 16)) if text.startswith("0x") else float(text))
        if self.takes("("):
            inner = self.expression(0)
            self.want(")", "closes the bracket")
            return inner
        if token.kind != "name":
            raise self.unexpected("a metric, a function or a number")
        self.take()
        if token.text in AGGREGATIONS and self.next.text in {"(", "by", "without"}:
            return self.aggregate(token.text)
        if self.takes("("):
            return Call(token.text, self.arguments())
        return Selector(token.text, self.matchers())

    def arguments(self) -> tuple[Expression, ...]:
        found: list[Expression] = []
        while not self.takes(")"):
            if found:
                self.want(",", "or “)”")
            found.append(self.expression(0))
        return tuple(found)

    def aggregate(self, function: str) -> Expression:
        labels, is_without = self.clause()
        self.want("(", f"opens what {function} is taken of")
        arguments = self.arguments()
        if labels is None:
            labels, is_without = self.clause()
        wanted = 2 if function in {"topk", "bottomk", "quantile"} else 1
        if len(arguments) != wanted:
            example = f"{function}(3, …)" if wanted == len("ab") else f"{function}(…)"
            raise PromqlError(f"{function} takes {wanted} argument{'s' * (wanted > 1)}: {example}.")
        return Aggregate(
            function, arguments[-1], labels, is_without, arguments[0] if wanted > 1 else None
        )

    def clause(self) -> tuple[tuple[str, ...] | None, bool]:
        is_without = self.next.text == "without"
        return (self.labels(), is_without) if self.takes("by", "without") else (None, False)

    def labels(self) -> tuple[str, ...]:
        self.want("(", "opens the labels")
        found: list[str] = []
        while not self.takes(")"):
            if found:
                self.want(",", "or “)”")
            if self.next.kind != "name":
                raise self.unexpected("a label")
            found.append(self.take().text)
        return tuple(found)

    def matchers(self) -> tuple[Matcher, ...]:
        found: list[Matcher] = []
        if not self.takes("{"):
            return ()
        while not self.takes("}"):
            if found:
                self.want(",", "or “}”")
                if self.takes("}"):
                    break
            if self.next.kind != "name":
                raise self.unexpected("a label")
            label = self.take().text
            sign = self.next.text
            if not self.takes("=", "!=", "=~", "!~"):
                raise self.unexpected("=, !=, =~ or !~")
            if self.next.kind != "text":
                raise self.unexpected(f'a quoted value, {label}{sign}"…",')
            found.append(_matcher(label, sign, self.take().text))
        return tuple(found)


def _matcher(label: str, sign: str, quoted: str) -> Matcher:
    value = (
        re.sub(r"\\(.)", r"\1", quoted[1:-1])
        if "~" not in sign
        else quoted[1:-1].replace("\\\\", "\\")
    )
    if "~" in sign:
        try:
            re.compile(value)
        except re.error as exc:
            raise PromqlError(f"{label}{sign}{quoted[:40]}: no regular expression: {exc}.") from exc
    return Matcher(label, sign, value)

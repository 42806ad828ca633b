"""What a change of marks moves: the parts of one, and the sum over many."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labs.marking.constants import WEIGHTS
from labs.overridden import by_rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True)
class Moved:
    """One part whose points differ. None: the part could not be graded."""

    part: str
    before: float | None
    after: float | None


@dataclass(frozen=True)
class Summary:
    """What a round would do to many marks."""

    marks: int
    """How many marks differ in anything."""
    points: int
    """How many of them get other points."""
    mean: float
    """Mean change of their totals, points."""
    lowest: float
    highest: float
    now_pass: int
    pass_no_more: int

    @property
    def sentence(self) -> str:
        """Say it as a person would."""
        if not self.marks:
            return "No mark changes."
        words = self.marks - self.points
        told = [f"Moves {self.points} mark{'' if self.points == 1 else 's'}"]
        if self.points:
            told[0] += f", mean {signed(self.mean)}"
        if words:
            told.append(
                f"{words} keep{'s' if words == 1 else ''} the points and get{'s' if words == 1 else ''} other reasons"
            )
        if self.now_pass:
            told.append(f"{self.now_pass} now pass{'es' if self.now_pass == 1 else ''}")
        if self.pass_no_more:
            told.append(
                f"{self.pass_no_more} no longer pass{'es' if self.pass_no_more == 1 else ''}"
            )
        return "; ".join(told) + "."


def signed(change: float) -> str:
    """Return a change of points with its sign, one decimal."""
    return f"{change:+.1f}".replace("-", "\N{MINUS SIGN}")


def plain(mark: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mark as a database gives it back: lists where there were tuples."""
    found: dict[str, Any] = json.loads(json.dumps(mark))
    return found


def same(one: Mapping[str, Any] | None, other: Mapping[str, Any]) -> bool:
    """Tell whether the rules say the same in two marks: points, reasons, and what the debrief shows."""
    return one is not None and by_rule(one) == by_rule(other)


def moved_parts(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> tuple[Moved, ...]:
    """Return the parts whose points differ, in the order of the page."""
    was = {part["name"]: float(part["earned"]) for part in (before or {}).get("parts", [])}
    now = {part["name"]: float(part["earned"]) for part in after["parts"]}
    return tuple(
        Moved(name, was.get(name), now.get(name))
        for name in WEIGHTS
        if was.get(name) != now.get(name)
    )


def summary(pairs: Iterable[tuple[Mapping[str, Any] | None, Mapping[str, Any]]]) -> Summary:
    """Return what changing each first mark into its second would do."""
    marks = now_pass = pass_no_more = 0
    changes: list[float] = []
    for before, after in pairs:
        marks += 1
        passed = bool(before and before["passed"])
        now_pass += after["passed"] and not passed
        pass_no_more += passed and not after["passed"]
        was, now = (before or {}).get("total"), after["total"]
        if was != now:
            changes.append(float(now or 0) - float(was or 0))
    return Summary(
        marks,
        len(changes),
        sum(changes) / len(changes) if changes else 0.0,
        min(changes, default=0.0),
        max(changes, default=0.0),
        now_pass,
        pass_no_more,
    )

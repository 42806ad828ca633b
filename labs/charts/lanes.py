"""The strip of actions on the incident clock, each as long as it cost: bars, labels, and the same in words."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from labs.incident import clock

if TYPE_CHECKING:
    from collections.abc import Iterable

LANE_STEP_S = 600
ROOM_FOR_A_LABEL = 6.0
"""Least distance between two labels of the lane, in per cent of its width."""


@dataclass(frozen=True)
class Done:
    """An action that took incident time, as a lane draws it."""

    kind: str
    """reading, change, verification or wait."""
    number: int
    at_s: int
    cost_s: int


@dataclass(frozen=True)
class Bar:
    """One action of a lane. Percentages of the width, ready for an SVG attribute."""

    css: str
    x: str
    width: str


@dataclass(frozen=True)
class Label:
    """A glyph and the numbers that it stands for."""

    icon: str
    css: str
    x: str
    text: str


@dataclass(frozen=True)
class Lane:
    bars: tuple[Bar, ...]
    labels: tuple[Label, ...]
    healthy: str
    """Width of the healthy window, which begins at the left edge; empty if the lane begins at the page."""
    page: str
    """Where the page is."""
    spoken: str


_CSS = {"reading": "f-edge", "change": "f-yours", "verification": "f-ink", "wait": "f-rest"}
_ICON = {"reading": "reading", "change": "change", "verification": "verify"}
_WORDS = {
    "reading": ("reading", "readings"),
    "change": ("change", "changes"),
    "verification": ("verification", "verifications"),
    "wait": ("a wait", "waits"),
}


def shown_until_s(clock_s: int, budget_s: int) -> int:
    """Return where the time axis of the room ends: some minutes ahead of the clock, in whole steps."""
    return min(budget_s, (clock_s // LANE_STEP_S + 1) * LANE_STEP_S)


def lane(
    actions: Iterable[Done], *, from_s: int, to_s: int, healthy_to_s: int | None = None
) -> Lane:
    """Return the strip of actions between two incident times, each as long as it cost."""
    span = to_s - from_s

    def share(seconds: float) -> float:
        return 100.0 * seconds / span

    def place(at_s: float) -> float:
        return share(at_s - from_s)

    bars: list[Bar] = []
    labels: list[Label] = []
    told: list[str] = []
    last = -ROOM_FOR_A_LABEL
    listed = [each for each in actions if each.cost_s]
    for kind, group in groupby(listed, key=lambda each: each.kind):
        run = list(group)
        for each in run:
            # A hairline of space on the right parts two actions of the same kind.
            width = max(share(each.cost_s) - 0.15, 0.15)
            bars.append(
                Bar(_CSS[kind], _per_cent(place(each.at_s - each.cost_s)), _per_cent(width))
            )
        told.append(_told(kind, run))
        if kind == "wait":
            continue
        middle = (place(run[0].at_s - run[0].cost_s) + place(run[-1].at_s)) / 2
        if middle - last >= ROOM_FOR_A_LABEL:
            labels.append(Label(_ICON[kind], _CSS[kind], _per_cent(middle), _numbers(run)))
            last = middle
    spoken = "; ".join(told) if told else "nothing yet"
    healthy = _per_cent(place(healthy_to_s)) if healthy_to_s is not None else ""
    return Lane(tuple(bars), tuple(labels), healthy, _per_cent(place(0)), spoken)


def _told(kind: str, run: list[Done]) -> str:
    one, many = _WORDS[kind]
    until = f"until {clock(run[-1].at_s)}"
    if kind == "wait":
        return f"{one if len(run) == 1 else many} {until}"
    return f"{one if len(run) == 1 else many} {_numbers(run).replace('–', ' to ')} {until}"


def _numbers(run: list[Done]) -> str:
    first, last = run[0].number, run[-1].number
    return f"{first}" if first == last else f"{first}–{last}"


def _per_cent(share: float) -> str:
    return f"{share:.2f}%"

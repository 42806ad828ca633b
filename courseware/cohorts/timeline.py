"""Assignments on an axis of days, in per cent of its width. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

_MONTH_GAP_PERCENT = 9.0
"""Between two ticks that bear a label; closer ones would overlap on a phone."""


@dataclass(frozen=True, slots=True)
class Span:
    """From when to when, each None where it is not said."""

    opens_at: datetime | None
    due_at: datetime | None
    late_until: datetime | None


@dataclass(frozen=True, slots=True)
class Bar:
    """One assignment: the time until it is due, then that of late work; places and widths in per cent."""

    left: float
    width: float
    late_left: float
    late_width: float
    is_dated: bool
    """Whether it is due at all; else the bar runs to the end."""


@dataclass(frozen=True, slots=True)
class Tick:
    at: float
    label: str
    is_last: bool = False


@dataclass(frozen=True, slots=True)
class Timeline:
    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]
    now: float | None
    """Where today is; None before and after the axis."""


def timeline(spans: Sequence[Span], *, begins: datetime, ends: datetime, now: datetime) -> Timeline:
    """Return the picture of a cohort's assignments. The axis holds the cohort's days and every date."""
    zone = begins.tzinfo
    dates = [at for s in spans for at in (s.opens_at, s.due_at, s.late_until) if at is not None]
    left = min([begins, *dates]).astimezone(zone)
    right = max([ends, *dates, left + timedelta(days=1)]).astimezone(zone)

    def place(at: datetime) -> float:
        return round(100 * ((at - left) / (right - left)), 2)

    bars = []
    for span in spans:
        start = place(span.opens_at or begins)
        due = place(span.due_at) if span.due_at else place(span.late_until or ends)
        late = place(span.late_until) if span.due_at and span.late_until else due
        width, late_width = max(0.0, due - start), max(0.0, late - due)
        bars.append(Bar(start, round(width, 2), due, round(late_width, 2), span.due_at is not None))
    return Timeline(tuple(bars), _ticks(left, right), place(now) if left <= now <= right else None)


def _ticks(left: datetime, right: datetime) -> tuple[Tick, ...]:
    """Return the first day, the last, and the first of each month between that has room."""
    last = right - timedelta(seconds=1)  # Midnight ends the day before.
    ticks = [Tick(0.0, f"{left.day} {left:%b}")]
    month = left.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    while (month := (month + timedelta(days=32)).replace(day=1)) < right:
        at = round(100 * ((month - left) / (right - left)), 2)
        if at - ticks[-1].at >= 2 * _MONTH_GAP_PERCENT and at <= 100 - 2 * _MONTH_GAP_PERCENT:
            ticks.append(Tick(at, f"1 {month:%b}"))
    return (*ticks, Tick(100.0, f"{last.day} {last:%b}", is_last=True))

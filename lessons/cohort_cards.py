"""What everybody said, as the page shows it: lengths in per cent, words for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lessons.check_cards import inline, number_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lessons.cohort import Bar, Bin, Cohort, Histogram, PlaceShares


@dataclass(frozen=True)
class Column:
    """One bin of a histogram."""

    label: str
    count: int
    x: str
    width: str
    y: str
    height: str
    is_yours: bool
    is_answer: bool


@dataclass(frozen=True)
class Line:
    """One option of a choice."""

    html: str
    count: int
    share: str
    is_yours: bool
    is_answer: bool


@dataclass(frozen=True)
class Cell:
    """The share of people who put an item at a place."""

    share: str
    is_yours: bool
    is_answer: bool


@dataclass(frozen=True)
class OrderLine:
    """One item of an order, and where people put it."""

    html: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class CohortCard:
    """The distribution of one prediction for one reader."""

    count: int
    came: int
    columns: tuple[Column, ...]
    is_log: bool
    ends: tuple[str, str]
    """The lowest and the highest number of a histogram."""
    lines: tuple[Line, ...]
    orders: tuple[OrderLine, ...]
    spoken: str


def cohort_card(cohort: Cohort, items: Mapping[str, str], unit: str) -> CohortCard:
    """Return a distribution as the page shows it; ``items`` are the texts of options by their key."""
    found = cohort.histogram
    return CohortCard(
        count=cohort.count,
        came=cohort.came,
        columns=_columns(found) if found else (),
        is_log=bool(found and found.is_log),
        ends=(number_words(found.bins[0].low), number_words(found.bins[-1].high)) if found else ("", ""),
        lines=tuple(_line(bar, items) for bar in cohort.bars),
        orders=tuple(_order(item, items) for item in cohort.places),
        spoken=_spoken(found, cohort.count, unit) if found else "",
    )  # fmt: skip


def _columns(found: Histogram) -> tuple[Column, ...]:
    wide = 100 / len(found.bins)
    most = max(each.count for each in found.bins)
    return tuple(
        Column(
            _range(each),
            each.count,
            f"{n * wide:.4g}%",
            f"{wide:.4g}%",
            f"{100 - 100 * each.count / most:.4g}%",
            f"{100 * each.count / most:.4g}%",
            each.is_yours,
            each.is_answer,
        )
        for n, each in enumerate(found.bins)
    )


def _range(each: Bin) -> str:
    return f"{number_words(each.low)} to {number_words(each.high)}"


def _spoken(found: Histogram, count: int, unit: str) -> str:
    mode = max(found.bins, key=lambda each: each.count)
    yours = next(each for each in found.bins if each.is_yours)
    answer = next(each for each in found.bins if each.is_answer)
    return (
        f"What {count} people said, in {len(found.bins)} ranges from {number_words(found.bins[0].low)} to "
        f"{number_words(found.bins[-1].high)} {unit}. Most, {mode.count}, said {_range(mode)}; "
        f"you said {_range(yours)}; computed was {_range(answer)}."
    )


def _line(bar: Bar, items: Mapping[str, str]) -> Line:
    text = inline(items[bar.key]) if bar.key in items else "no longer offered"
    return Line(text, bar.count, f"{bar.share:.0%}", bar.is_yours, bar.is_answer)


def _order(item: PlaceShares, items: Mapping[str, str]) -> OrderLine:
    cells = tuple(
        Cell(f"{share:.0%}", place == item.yours, place == item.computed)
        for place, share in enumerate(item.shares, 1)
    )
    return OrderLine(inline(items.get(item.key, item.key)), cells)

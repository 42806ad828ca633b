"""How well each check tells those who understood from those who did not. Pure.

Classical statistics, since classes are small: the facility with its interval, the corrected item-total correlation, the
difference between upper and lower group, option frequencies. Below LEAST learners nothing is said. Rules of thumb and
their sources: flags follow those of PrairieLearn (discrimination under 0.2 unless nearly all are right) and of Moodle.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from labs.marking.predictions import wilson

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

LEAST = 10
"""So many learners must have answered before anything is shown."""
LEAST_OTHERS = 5
"""A learner's total counts for an item if they have answered so many others."""
GROUP = 0.27
"""Share of the learners in the upper group, and in the lower one: Kelley's, the usual choice."""
HARD, EASY = 0.2, 0.95
LOW_DISCRIMINATION = 0.2
"""A check is flagged if its discrimination lies below it beyond chance: its whole interval does."""
_NORMAL_90 = 1.6449
"""Quantile of the standard normal behind a two-sided 90 % interval."""
RARE_OPTION = 0.03


@dataclass(frozen=True)
class Tries:
    """All that one learner answered to one check, the first try first."""

    learner: int
    item: str
    answers: tuple[tuple[str, ...], ...]
    """The keys, or texts, of each try."""
    rights: tuple[bool, ...]
    """Whether each try was right."""

    @property
    def right_at_once(self) -> bool:
        return self.rights[0]

    @property
    def to_right(self) -> int | None:
        """Which try was right; None if none was."""
        return self.rights.index(True) + 1 if True in self.rights else None


@dataclass(frozen=True)
class Chosen:
    """One option, and who chose it first: shares of all, of the upper group and of the lower one."""

    key: str
    count: int
    share: float
    upper: float
    lower: float


@dataclass(frozen=True)
class Item:
    """One check, as a class answered it."""

    key: str
    n: int
    facility: float
    """Share of learners whose first try was right."""
    interval: tuple[float, float]
    """Of the facility, 90 %, Wilson's."""
    discrimination: float | None
    """Correlation of "right at once" with the learner's share right at once among all other items, -1 to 1. None if too few."""
    could_be: tuple[float, float] | None
    """The discrimination's 90 % interval, Fisher's."""
    upper_lower: float | None
    """Facility of the upper group less that of the lower one."""
    tries_to_right: float | None
    """Median try that was right, of those who got there."""
    never: int
    """Learners who got there with none of their tries."""
    chosen: tuple[Chosen, ...]
    flags: tuple[str, ...]
    """What an author should look at, in sentences."""


def analysed(tries: Iterable[Tries], options: Mapping[str, Mapping[str, bool]]) -> dict[str, Item]:
    """Return the items that enough learners answered, by key.

    ``options`` holds, for each item with options, its keys and whether they are right: one that nobody took counts too.
    """
    by_item: dict[str, list[Tries]] = {}
    by_learner: dict[int, dict[str, bool]] = {}
    for each in tries:
        by_item.setdefault(each.item, []).append(each)
        by_learner.setdefault(each.learner, {})[each.item] = each.right_at_once
    return {
        key: _item(key, rows, by_learner, options.get(key, {}))
        for key, rows in by_item.items()
        if len(rows) >= LEAST
    }


def _item(
    key: str,
    rows: Sequence[Tries],
    by_learner: Mapping[int, Mapping[str, bool]],
    options: Mapping[str, bool],
) -> Item:
    rights = sum(row.right_at_once for row in rows)
    facility = rights / len(rows)
    rest = {row.learner: _rest(by_learner[row.learner], key) for row in rows}
    known = [row for row in rows if rest[row.learner] is not None]
    ranked = sorted(known, key=lambda row: (-(rest[row.learner] or 0.0), row.learner))
    size = round(GROUP * len(ranked))
    upper, lower = (ranked[:size], ranked[-size:]) if len(ranked) >= LEAST else ([], [])
    found = _correlation(
        [float(row.right_at_once) for row in known], [rest[row.learner] or 0.0 for row in known]
    )
    to_right = [row.to_right for row in rows if row.to_right is not None]
    chosen = _chosen(rows, upper, lower, options)
    discrimination = found if len(known) >= LEAST else None
    could_be = None if discrimination is None else fisher(discrimination, len(known))
    return Item(
        key=key,
        n=len(rows),
        facility=facility,
        interval=wilson(rights, len(rows)),
        discrimination=discrimination,
        could_be=could_be,
        upper_lower=_facility(upper) - _facility(lower) if upper else None,
        tries_to_right=median(to_right) if to_right else None,
        never=len(rows) - len(to_right),
        chosen=chosen,
        flags=tuple(_flags(facility, could_be, chosen, options)),
    )


def _facility(rows: Sequence[Tries]) -> float:
    return sum(row.right_at_once for row in rows) / len(rows)


def _rest(rights: Mapping[str, bool], key: str) -> float | None:
    others = [right for item, right in rights.items() if item != key]
    return sum(others) / len(others) if len(others) >= LEAST_OTHERS else None


def _correlation(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Return Pearson's correlation; None where one side does not vary."""
    if not xs:
        return None
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    var_x = math.fsum((x - mean_x) ** 2 for x in xs)
    var_y = math.fsum((y - mean_y) ** 2 for y in ys)
    if var_x <= 0 or var_y <= 0:
        return None
    both = math.fsum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    return both / math.sqrt(var_x * var_y)


def fisher(correlation: float, n: int) -> tuple[float, float]:
    """Return Fisher's 90 % interval of a correlation from n pairs, 4 or more; an exact one has no width."""
    if abs(correlation) >= 1:
        return correlation, correlation
    middle, half = math.atanh(correlation), _NORMAL_90 / math.sqrt(n - 3)
    return math.tanh(middle - half), math.tanh(middle + half)


def _chosen(
    rows: Sequence[Tries],
    upper: Sequence[Tries],
    lower: Sequence[Tries],
    options: Mapping[str, bool],
) -> tuple[Chosen, ...]:
    counts = Counter(key for row in rows for key in set(row.answers[0]))

    def share(group: Sequence[Tries], key: str) -> float:
        return sum(key in row.answers[0] for row in group) / len(group) if group else 0.0

    keys = list(options) if options else [key for key, _ in counts.most_common()]
    return tuple(
        Chosen(key, counts[key], counts[key] / len(rows), share(upper, key), share(lower, key))
        for key in keys
    )


def _flags(
    facility: float,
    could_be: tuple[float, float] | None,
    chosen: Sequence[Chosen],
    options: Mapping[str, bool],
) -> Iterable[str]:
    if facility < HARD:
        yield "Fewer than one in five are right at once."
    if facility > EASY:
        yield "Nearly everybody is right at once: it tells nobody from anybody."
    elif could_be is not None and could_be[1] < LOW_DISCRIMINATION:
        yield "Those who know the rest do hardly better here than those who do not."
    rare = [each for each in chosen if options.get(each.key) is False and each.share < RARE_OPTION]
    if rare:
        yield f"{len(rare)} wrong answer{'' if len(rare) == 1 else 's'} tempt{'s' if len(rare) == 1 else ''} nobody."
    right = [each for each in chosen if options.get(each.key)]
    if len(right) == 1:
        for each in chosen:
            if options.get(each.key) is False and each.upper > right[0].upper:
                yield "A wrong answer draws more of the strongest than the right one does."
                break

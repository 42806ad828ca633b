"""Where the text loses people: keywords that were unfolded before a wrong answer, beside those who did not unfold them. Pure.

It compares two groups that chose themselves: who opens a keyword may be unsure already. It says where to look in the text,
and nothing of what causes what.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime

from labs.marking.predictions import wilson

LEAST = 10
"""So many learners must be in either group before anything is shown."""
MOST_TERMS = 5
"""Shown of a station, those that most people open first."""


@dataclass(frozen=True)
class Opened:
    """A learner unfolded a keyword at a station for the first time."""

    learner: int
    lesson: str
    station: str
    term: str
    at: datetime


@dataclass(frozen=True)
class Answered:
    """A learner's first answer to a check."""

    learner: int
    lesson: str
    check: str
    right: bool
    at: datetime
    version: str = ""
    """Of the check's text; answers to other versions are other checks."""


@dataclass(frozen=True)
class Group:
    """Learners, and how many of them were wrong at first."""

    wrong: int
    n: int

    @property
    def share(self) -> float:
        return self.wrong / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's, 90 %."""
        return wilson(self.wrong, self.n)


@dataclass(frozen=True)
class Before:
    """One keyword and one check: those who opened it in this lesson before they answered, and all others who answered."""

    lesson: str
    check: str
    version: str
    term: str
    opened: Group
    others: Group

    @property
    def difference(self) -> float:
        return self.opened.share - self.others.share

    @property
    def could_be(self) -> tuple[float, float]:
        """The difference's 90 % interval, from the two shares' (Newcombe 1998, method 10)."""
        (low, high), (least, most) = self.opened.interval, self.others.interval
        below = math.hypot(self.opened.share - low, most - self.others.share)
        above = math.hypot(high - self.opened.share, self.others.share - least)
        return self.difference - below, self.difference + above

    @property
    def is_beyond_chance(self) -> bool:
        return self.could_be[0] > 0


@dataclass(frozen=True)
class Found:
    """All pairs of which either group is large enough, and those in which openers were wrong more often."""

    compared: int
    rows: tuple[Before, ...]
    """The largest difference first."""
    since: datetime | None
    """When the first keyword was recorded: answers from before it tell nothing. None if none was."""


def found_in(answers: Iterable[Answered], openings: Sequence[Opened]) -> Found:
    """Return the keywords whose openers got a check wrong more often than others."""
    since = min((each.at for each in openings), default=None)
    if since is None:
        return Found(0, (), None)
    opened: dict[tuple[str, int], dict[str, datetime]] = defaultdict(dict)
    for each in openings:
        mine = opened[each.lesson, each.learner]
        mine[each.term] = min(each.at, mine.get(each.term, each.at))
    by_check: dict[tuple[str, str, str], list[Answered]] = defaultdict(list)
    for answer in answers:
        if answer.at >= since:
            by_check[answer.lesson, answer.check, answer.version].append(answer)
    pairs = [pair for rows in by_check.values() for pair in _pairs(rows, opened)]
    rows = sorted(
        (pair for pair in pairs if pair.difference > 0),
        key=lambda pair: (-pair.difference, pair.lesson, pair.check, pair.term),
    )
    return Found(len(pairs), tuple(rows), since)


def _pairs(
    answers: Sequence[Answered], opened: Mapping[tuple[str, int], Mapping[str, datetime]]
) -> Iterable[Before]:
    """Yield a pair for each keyword that enough people opened before they answered, and enough did not."""
    wrong, n = defaultdict[str, int](int), defaultdict[str, int](int)
    for each in answers:
        for term, at in opened.get((each.lesson, each.learner), {}).items():
            if at <= each.at:
                n[term] += 1
                wrong[term] += not each.right
    all_wrong, first = sum(not each.right for each in answers), answers[0]
    for term, count in n.items():
        others = len(answers) - count
        if count >= LEAST and others >= LEAST:
            yield Before(
                first.lesson,
                first.check,
                first.version,
                term,
                Group(wrong[term], count),
                Group(all_wrong - wrong[term], others),
            )


@dataclass(frozen=True)
class StationTerms:
    """The keywords of one station, by how many open them."""

    readers: int
    terms: tuple[tuple[str, int], ...]
    """The one that most people open first, MOST_TERMS at most."""


def stations_of(
    openings: Iterable[Opened], reads: AbstractSet[tuple[int, str, str]]
) -> dict[tuple[str, str], StationTerms]:
    """Return by lesson and station what its readers open; stations with fewer than LEAST readers are left out.

    A reader has read the station, or unfolded a keyword there.
    """
    readers: dict[tuple[str, str], set[int]] = defaultdict(set)
    for learner, lesson, station in reads:
        readers[lesson, station].add(learner)
    counts: dict[tuple[str, str], dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for each in openings:
        place = (each.lesson, each.station)
        readers[place].add(each.learner)
        counts[place][each.term].add(each.learner)
    found = {}
    for place, terms in counts.items():
        if len(readers[place]) >= LEAST:
            ordered = sorted((-len(people), term) for term, people in terms.items())
            shown = tuple((term, -count) for count, term in ordered[:MOST_TERMS])
            found[place] = StationTerms(len(readers[place]), shown)
    return found

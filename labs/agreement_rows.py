"""Who agrees with whom, from the rows: readers with readers, readers with what was settled, item by item."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from courseware.models import User
from labs.agreement import agreement
from labs.catalogue import labs
from labs.models import Review, TrainingAnswer
from labs.reviews import THIRD
from labs.rubric_editions import at, currents
from labs.rubric_points import rescored

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labs.agreement import Agreement, Pairs
    from labs.moderation import Given
    from labs.rubric_editions import Edition
    from labs.rubrics import Rubric
    from labs.specs import LabSpec

type Clusters = list[Pairs]


@dataclass(frozen=True)
class OfItem:
    """How far the two readers of an attempt agree on one item."""

    title: str
    of: int
    found: Agreement


@dataclass(frozen=True)
class OfLab:
    spec: LabSpec
    whole: Agreement
    """Over all items."""
    items: tuple[OfItem, ...]


@dataclass(frozen=True)
class OfReader:
    """How far one reader agrees with the other reader, and with what was settled without them.

    That is a third reader's decision, and the reference of training cases at the first try: later ones have seen it.
    """

    reader: User
    with_others: Agreement
    with_settled: Agreement


@dataclass(frozen=True)
class Found:
    whole: Agreement
    readers: tuple[OfReader, ...]
    labs: tuple[OfLab, ...]

    @property
    def shown(self) -> tuple[OfLab, ...]:
        """Labs in which enough attempts were read twice."""
        return tuple(each for each in self.labs if each.whole.kappa is not None)

    @property
    def too_few(self) -> tuple[OfLab, ...]:
        return tuple(each for each in self.labs if each.whole.kappa is None)


def agreements() -> Found:
    """Return every agreement of the site, each under its rubric as it stands. The first reader's points stand first in a pair.

    Four queries, and one more for each earlier edition by which points were given.
    """
    twice = _read_twice()
    now = currents({each.attempt.lab_slug for readings in twice for each in readings})
    given = _given_now([each for readings in twice for each in readings], now)
    by_lab: dict[str, list[tuple[Given, Given]]] = defaultdict(list)
    with_others: dict[int, Clusters] = defaultdict(list)
    with_settled: dict[int, Clusters] = defaultdict(list)
    for readings in twice:
        first, second = readings[0], readings[1]
        attempt = first.attempt
        one, other = given[first.pk], given[second.pk]
        by_lab[attempt.lab_slug].append((one, other))
        for reader, mine, theirs in ((first, one, other), (second, other, one)):
            if reader.claimed_by_id is not None:
                with_others[reader.claimed_by_id].append(_pairs(mine, theirs))
        if len(readings) >= THIRD:
            settled = given[readings[2].pk]
            for reader, mine in ((first, one), (second, other)):
                if reader.claimed_by_id is not None:
                    with_settled[reader.claimed_by_id].append(_pairs(mine, settled))
    for answer in TrainingAnswer.objects.filter(run__number=1).select_related("run", "case"):
        with_settled[answer.run.grader_id].append(_pairs(answer.points, answer.case.points))
    people = User.objects.in_bulk({*with_others, *with_settled})
    readers = (
        OfReader(person, agreement(with_others[key]), agreement(with_settled[key]))
        for key, person in people.items()
    )
    everything = [_pairs(one, other) for found in by_lab.values() for one, other in found]
    return Found(
        agreement(everything),
        tuple(sorted(readers, key=lambda each: str(each.reader))),
        tuple(
            _of_lab(spec, now[slug].rubric, by_lab[slug])
            for slug, spec in labs().items()
            if slug in by_lab
        ),
    )


def _given_now(readings: Sequence[Review], now: Mapping[str, Edition]) -> dict[int, Given]:
    """Return what each reading gave, by its key, under the rubric as it stands: two readers may have met two editions."""
    then = {(each.attempt.lab_slug, each.edition) for each in readings}
    old = {(slug, n): at(slug, n).rubric for slug, n in then if n != now[slug].number}
    found: dict[int, Given] = {}
    for each in readings:
        slug = each.attempt.lab_slug
        before = old.get((slug, each.edition))
        found[each.pk] = rescored(each.points, before, now[slug].rubric) if before else each.points
    return found


def _read_twice() -> list[list[Review]]:
    """Return the readings of the attempts that two people have read, in their order."""
    rows = Review.objects.exclude(released_at=None).filter(attempt__lab_slug__in=labs())
    done: dict[int, list[Review]] = defaultdict(list)
    rows = rows.select_related("attempt").defer("attempt__mark", "attempt__panel")
    for each in rows.order_by("attempt", "reading"):
        done[each.attempt_id].append(each)
    return [each for each in done.values() if len(each) > 1]


def _of_lab(spec: LabSpec, rubric: Rubric, found: list[tuple[Given, Given]]) -> OfLab:
    return OfLab(
        spec,
        agreement([_pairs(one, other) for one, other in found]),
        tuple(
            OfItem(
                item.title,
                item.points,
                agreement([_pairs(one, other, item.key) for one, other in found]),
            )
            for item in rubric.items
        ),
    )


def _pairs(mine: Given, theirs: Given, only: str = "") -> Pairs:
    """Return what two gave to each item that both decided, or to one of them."""
    return [
        (one, other)
        for key, one in mine.items()
        if one is not None and (other := theirs.get(key)) is not None and (not only or key == only)
    ]

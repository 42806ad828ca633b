"""Everything that one person did since their cohort began, for its instructors: read from the rows, nothing typed for oneself."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.urls import reverse

from courseware.cohorts.gradebook import shade
from courseware.cohorts.grades import DRILL_POINTS, book
from courseware.cohorts.policies import begins_at, policy_of
from courseware.cohorts.shown import whys
from labs.catalogue import labs
from labs.incident import clock
from labs.models import Attempt
from labs.outcomes import totals_shown
from lessons import content, record
from lessons.calibration_cards import calibration_card
from lessons.check_cards import plain
from lessons.models import CheckTry, DrillAttempt, StationRead
from lessons.symptoms import symptoms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from courseware.cohorts.gradebook import Cell, Column
    from courseware.cohorts.shown import Why
    from courseware.models import Membership, User
    from lessons.content import Lesson, Station
    from lessons.questions import Question


@dataclass(frozen=True)
class Asked:
    """One assignment: where the person stands, and what holds for them and from where."""

    column: Column
    cell: Cell
    whys: list[Why]


@dataclass(frozen=True)
class PartOf:
    """One part of a mark; ``shade`` from 1 to 5 by fifths of its points."""

    title: str
    told: str
    shade: int


@dataclass(frozen=True)
class Handled:
    """One attempt at a lab."""

    attempt: Attempt
    title: str
    clock: str
    """Incident minutes, m:ss."""
    passed: bool
    parts: tuple[PartOf, ...]
    review: tuple[float, int] | None
    """Released points, and the most that there are."""


@dataclass(frozen=True)
class Missed:
    """A check whose first try was wrong."""

    question: str
    where: str
    url: str
    tries: int
    got_there: bool


@dataclass(frozen=True)
class Read:
    """A lesson that was begun."""

    lesson: Lesson
    stations: tuple[tuple[Station, bool], ...]
    """Each with whether it was read."""
    read: int
    tried: int
    right: int
    """Checks right on the first try, without a hint."""


@dataclass(frozen=True)
class Guessed:
    """One prediction in a lesson whose answer is known."""

    lesson: str
    url: str
    at: datetime
    confidence: int
    came: bool


def everything_here(seat: Membership) -> dict[str, Any]:
    """Return what the page of a person in a cohort shows; for a place without an account, its assignments alone."""
    shown: dict[str, Any] = {"asked": _asked(seat), "since": begins_at(seat.cohort)}
    if seat.person is None:
        return shown
    person, since = seat.person, begins_at(seat.cohort)
    read = _read(person, since)
    told = [each for each in record.predictions_told(person) if each.at >= since]
    return {
        **shown,
        **calibration_card(told),
        "handled": list(_handled(person, since)),
        "parts": PARTS,
        "lessons": read,
        "unread": len(content.lessons()) - len(read),
        "missed": list(_missed(person, since)),
        "guessed": list(_guessed(person, since)),
        "drilled": list(_drilled(person, since)),
    }


def _asked(seat: Membership) -> list[Asked]:
    found, overrides = book(seat.cohort, only=seat), list(seat.cohort.overrides.all())
    rows = {each.pk: each for each in seat.cohort.assignments.all()}
    return [
        Asked(column, cell, whys(policy_of(seat, rows[column.key], overrides), column.kind))
        for column, cell in zip(found.columns, found.rows[0].cells, strict=True)
    ]


PARTS = ("Scope", "Localisation", "Mechanism", "Evidence", "Mitigation", "Economy")
"""Of a mark, in the order of the page; in lower case their names in a mark."""


def _handled(person: User, since: datetime) -> Iterator[Handled]:
    rows = Attempt.objects.of(person).counted().filter(started_at__gte=since).defer("panel")
    told = totals_shown(rows)
    for each in rows.order_by("-started_at", "-pk"):
        spec, mark = labs().get(each.lab_slug), each.mark or {}
        marked = each.status == Attempt.Status.MARKED
        yield Handled(
            each,
            f"Lab {spec.number}, {spec.title}" if spec else each.lab_slug,
            clock(each.clock_s),
            bool(marked and mark.get("passed")),
            tuple(_parts(mark.get("parts", []))) if marked else (),
            told.get(each.pk),
        )


def _parts(parts: Sequence[Mapping[str, Any]]) -> Iterator[PartOf]:
    by_name = {part["name"]: part for part in parts}
    for title in PARTS:
        part = by_name.get(title.lower(), {})
        earned = part.get("earned")
        share = None if earned is None else earned / part["weight"]
        yield PartOf(title, "–" if earned is None else f"{earned:g}", shade(share))


def _read(person: User, since: datetime) -> list[Read]:
    read: dict[str, set[str]] = defaultdict(set)
    mine = StationRead.objects.visible_to(person).filter(read_at__gte=since)
    for lesson, station in mine.values_list("lesson", "station"):
        read[lesson].add(station)
    tried: dict[str, list[bool]] = defaultdict(list)
    tries = CheckTry.objects.visible_to(person).filter(tried_at__gte=since, number=1)
    for lesson, right, hints in tries.values_list("lesson", "right", "hints"):
        tried[lesson].append(right and not hints)
    return [
        Read(
            lesson,
            tuple((each, each.slug in read[slug]) for each in lesson.stations),
            sum(each.slug in read[slug] for each in lesson.stations),
            len(tried[slug]),
            sum(tried[slug]),
        )
        for slug, lesson in content.lessons().items()
        if slug in read or slug in tried
    ]


def _missed(person: User, since: datetime) -> Iterator[Missed]:
    """Yield what was wrong on the first try, in the order of the course."""
    rows: dict[tuple[str, str], list[bool]] = defaultdict(list)
    mine = CheckTry.objects.visible_to(person).filter(tried_at__gte=since).order_by("number")
    for lesson, key, right in mine.values_list("lesson", "check_key", "right"):
        rows[lesson, key].append(right)
    for lesson, station, key, question in _checks():
        tries = rows.get((lesson.slug, key))
        if tries and not tries[0]:
            yield Missed(
                plain(question.text),
                f"{lesson.title}, {station.title}",
                reverse("lessons:station", args=[lesson.slug, station.slug]) + f"#check-{key}",
                len(tries),
                True in tries,
            )


def _checks() -> Iterator[tuple[Lesson, Station, str, Question]]:
    for lesson in content.lessons().values():
        for station in lesson.stations:
            for key, question in station.checks.items():
                yield lesson, station, key, question


def _guessed(person: User, since: datetime) -> Iterator[Guessed]:
    """Yield predictions in lessons, those that were sure and missed before the others."""
    known = [each for each in record.predictions_computed(person) if each.at >= since]
    for each in sorted(known, key=lambda one: (one.told.hit, -one.confidence, one.at)):
        lesson = content.lessons().get(each.lesson)
        here = lesson.with_prediction(each.key) if lesson else None
        if lesson is None or here is None:
            continue
        address = reverse("lessons:station", args=[lesson.slug, here.slug])
        yield Guessed(
            f"{lesson.title}, {here.title}",
            f"{address}#prediction-{each.key}",
            each.at,
            each.confidence,
            each.told.hit,
        )


def _drilled(person: User, since: datetime) -> Iterator[dict[str, Any]]:
    rows = DrillAttempt.objects.visible_to(person).filter(begun_at__gte=since)
    for each in rows.order_by("-begun_at"):
        symptom = symptoms().get(each.drill)
        yield {
            "row": each,
            "title": f"Drill {each.drill}, {symptom.symptom}" if symptom else f"Drill {each.drill}",
            "told": "" if each.total is None else f"{each.total:g} of {DRILL_POINTS:g}",
        }

"""The rows behind a gradebook: a handful of queries, however many people and assignments there are."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.db.models import Exists, F, OuterRef
from django.utils import timezone

from courseware.cohorts.assigned import items
from courseware.cohorts.gradebook import (
    Cell,
    Column,
    Row,
    Try,
    drill_cell,
    lab_cell,
    lesson_cell,
    total,
)
from courseware.cohorts.policies import begins_at, policy_of
from courseware.models import Assignment
from labs.models import Attempt, Review
from labs.outcomes import totals_shown
from lessons import content
from lessons.drills.marking import FIRST, FIX, MECHANISM, STRUCK
from lessons.models import CheckTry, DrillAttempt, StationRead

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from courseware.cohorts.policy import Policy
    from courseware.models import Cohort, Membership, Override

DRILL_POINTS = FIRST + STRUCK + MECHANISM + FIX

type Place = tuple[int, str]
"""A person's key and the slug of what they did."""


@dataclass(frozen=True)
class Book:
    """A gradebook: its columns, and a row for everyone who is in the cohort."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Work:
    """What people did of what is assigned."""

    tries: dict[Place, list[Try]] = field(default_factory=lambda: defaultdict(list))
    """At labs, in the order in which they were begun."""
    best: dict[Place, float] = field(default_factory=dict)
    """Points of the best finished try at a drill."""
    drilling: set[Place] = field(default_factory=set)
    """Whoever has a drill open."""
    read: dict[Place, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Stations by lesson."""
    tried: dict[Place, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Checks by lesson."""


def book(cohort: Cohort, *, only: Membership | None = None) -> Book:
    """Return the gradebook of a cohort; with ``only``, of one person in it."""
    every = cohort.memberships.present().select_related("person")
    seats = [only] if only is not None else list(every)
    assignments = list(cohort.assignments.order_by(F("due_at").asc(nulls_last=True), "pk"))
    overrides: list[Override] = list(cohort.overrides.all())
    work = work_of([each.person_id for each in seats if each.person_id], assignments)
    known, now = items(), timezone.localtime()
    columns = tuple(
        Column(each.pk, each.kind, item.title, item.url, each.due_at, each.slug)
        if (item := known.get((each.kind, each.slug)))
        else Column(each.pk, each.kind, f"{each.slug} (not in the course any more)", "")
        for each in assignments
    )
    rows = []
    for seat in seats:
        seat.cohort = cohort
        cells = tuple(
            _cell(each, policy_of(seat, each, overrides), seat, work, now) for each in assignments
        )
        rows.append(_row(seat, columns, cells))
    return Book(columns, tuple(rows))


def _row(seat: Membership, columns: Sequence[Column], cells: tuple[Cell, ...]) -> Row:
    return Row(
        seat.pk,
        seat.shown_name,
        seat.email,
        seat.role,
        tuple(seat.labels),
        seat.person_id is not None,
        seat.extra_time_percent,
        cells,
        total(columns, cells) if seat.person_id is not None else None,
    )


def _cell(
    assignment: Assignment, policy: Policy, seat: Membership, work: Work, now: datetime
) -> Cell:
    place = (seat.person_id or 0, assignment.slug)
    if assignment.kind == Assignment.Kind.LAB:
        since = policy.terms.opens_at or begins_at(seat.cohort)
        return lab_cell(policy, work.tries.get(place, ()), since=since, now=now)
    if assignment.kind == Assignment.Kind.DRILL:
        return drill_cell(
            policy,
            best=work.best.get(place),
            of=DRILL_POINTS,
            under_way=place in work.drilling,
            now=now,
        )
    lesson = content.lessons().get(assignment.slug)
    stations = lesson.stations if lesson else ()
    read, tried = work.read.get(place, set()), work.tried.get(place, set())
    done = sum(each.slug in read and set(each.checks) <= tried for each in stations)
    begun = sum(each.slug in read or bool(set(each.checks) & tried) for each in stations)
    return lesson_cell(policy, done=done, begun=begun, of=len(stations), now=now)


def work_of(people: Sequence[int], assignments: Iterable[Assignment]) -> Work:
    """Return what people did of assignments, in five queries at most."""
    slugs: dict[str, set[str]] = defaultdict(set)
    for each in assignments:
        slugs[each.kind].add(each.slug)
    work = Work()
    if taken := slugs[Assignment.Kind.LAB]:
        for place, attempt in tries_of(people, taken):
            work.tries[place].append(attempt)
    if drills := slugs[Assignment.Kind.DRILL]:
        _drilled(work, people, drills)
    if lessons := slugs[Assignment.Kind.LESSON]:
        _read(work, people, lessons)
    return work


def _drilled(work: Work, people: Sequence[int], drills: set[str]) -> None:
    rows = DrillAttempt.objects.filter(learner__in=people, drill__in=drills)
    for learner, drill, stage, points in rows.values_list("learner", "drill", "stage", "total"):
        if stage != DrillAttempt.Stage.DONE:
            work.drilling.add((learner, drill))
        elif points is not None:
            work.best[learner, drill] = max(points, work.best.get((learner, drill), 0.0))


def _read(work: Work, people: Sequence[int], lessons: set[str]) -> None:
    reads = StationRead.objects.filter(learner__in=people, lesson__in=lessons)
    for learner, lesson, station in reads.values_list("learner", "lesson", "station"):
        work.read[learner, lesson].add(station)
    tries = CheckTry.objects.filter(learner__in=people, lesson__in=lessons, number=1)
    for learner, lesson, check in tries.values_list("learner", "lesson", "check_key"):
        work.tried[learner, lesson].add(check)


def tries_of(people: Sequence[int], slugs: Iterable[str]) -> Iterator[tuple[Place, Try]]:
    """Yield attempts at labs with what their readings came to, in the order in which they were begun."""
    rows = Attempt.objects.counted().filter(learner__in=people, lab_slug__in=slugs)
    told = totals_shown(rows)
    has_review = Exists(Review.objects.filter(attempt=OuterRef("pk")))
    found = rows.annotate(has_review=has_review).order_by("started_at", "pk")
    for pk, learner, slug, status, started, finished, points, reviewed in found.values_list(
        *("pk", "learner", "lab_slug", "status", "started_at", "finished_at", "total"),
        "has_review",
    ):
        yield (
            (learner, slug),
            Try(
                status,
                started,
                finished,
                None if points is None else float(points),
                told.get(pk),
                to_review=reviewed and pk not in told,
            ),
        )

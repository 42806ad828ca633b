"""What the pages of a cohort show of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from django.utils import timezone

from courseware.cohorts.announcing import announced_html
from courseware.cohorts.assigned import Item, item_of
from courseware.cohorts.credit import Scored, credit
from courseware.cohorts.policies import begins_at, policy_of
from courseware.cohorts.policy import FIELDS, Policy, in_words, standing, stretch_in_words
from courseware.cohorts.timeline import Bar, Span, Timeline, timeline
from courseware.models import Announcement, Assignment
from labs.models import Attempt
from lessons import content
from lessons.models import DrillAttempt
from lessons.record import progress_everywhere, stations_done

if TYPE_CHECKING:
    from collections.abc import Sequence

    from courseware.models import Cohort, Membership, Override, User

WORDS = {
    "opens_at": "Opens",
    "due_at": "Due",
    "late_until": "Late until",
    "late_credit_percent": "Late credit",
    "most_attempts": "Attempts",
    "wait_min": "Wait between",
    "extra_time_percent": "Extra time",
}


_OF_LABS = ("most_attempts", "wait_min")


@dataclass(frozen=True)
class Dated:
    """One assignment on the page, with its bar in the picture."""

    assignment: Assignment
    item: Item
    policy: Policy
    bar: Bar


@dataclass(frozen=True)
class Why:
    """One value of a policy, and where it comes from."""

    word: str
    value: datetime | str
    origin: str


@dataclass(frozen=True)
class Work:
    """One assignment for the learner whose it is."""

    dated: Dated
    state: str
    """done, open, later or closed."""
    told: str
    """How far it is, in a few words."""
    why_not: str = ""
    left: int | None = None


def dated(
    cohort: Cohort, policies: Sequence[tuple[Assignment, Policy]]
) -> tuple[list[Dated], Timeline]:
    """Return assignments with their policies in the order of dates, and the picture of them."""
    far = datetime.max.replace(tzinfo=timezone.get_current_timezone())
    rows = sorted(
        policies,
        key=lambda each: (each[1].terms.due_at or far, each[1].terms.opens_at or far, each[0].pk),
    )
    spans = [
        Span(p.terms.opens_at, p.terms.due_at, p.terms.late_until if p.closes_at else None)
        for _, p in rows
    ]
    last = datetime.combine(cohort.ends_on + timedelta(days=1), time.min)
    picture = timeline(
        spans,
        begins=begins_at(cohort),
        ends=timezone.make_aware(last),
        now=timezone.localtime(),
    )
    found = [
        Dated(assignment, item_of(assignment), policy, bar)
        for (assignment, policy), bar in zip(rows, picture.bars, strict=True)
    ]
    return found, picture


def whys(policy: Policy, kind: str) -> list[Why]:
    """Return each value that holds, with its origin; what nobody has set is left out."""
    found = []
    for name in FIELDS:
        value, origin = getattr(policy.terms, name), policy.origins.get(name)
        if origin is None or (kind != Assignment.Kind.LAB and name in _OF_LABS):
            continue
        if policy.stretched_by and name in {"due_at", "late_until"}:
            origin += f", and {stretch_in_words(policy.stretched_by)} of extra time"
        found.append(Why(WORDS[name], _worded(name, value), origin))
    return found


def _worded(name: str, value: Any) -> datetime | str:
    if isinstance(value, datetime):
        return value
    if name == "wait_min":
        return in_words(value) if value else "none"
    return f"{value} %" if name.endswith("percent") else str(value)


def announcements(cohorts: Sequence[Cohort]) -> list[dict[str, Any]]:
    """Return what stands announced in cohorts, the newest first."""
    rows = Announcement.objects.filter(cohort__in=cohorts, removed_at=None)
    return [
        {"row": row, "html": announced_html(row.text)}
        for row in rows.select_related("by", "cohort")
    ]


def override_rows(cohort: Cohort) -> list[dict[str, Any]]:
    """Return a cohort's overrides with what each sets, in words."""
    rows = cohort.overrides.select_related("membership__person", "assignment")
    return [
        {
            "row": row,
            "whom": f"Label {row.label}" if row.label else str(row.membership),
            "where": item_of(row.assignment).title if row.assignment else "The whole cohort",
            "sets": [
                (WORDS[name], _worded(name, value))
                for name in FIELDS
                if (value := getattr(row, name)) is not None
            ],
        }
        for row in rows
    ]


# ------------------------------------------------------------------------------------ one's own work


def work_of(seat: Membership, person: User) -> tuple[list[Work], Timeline]:
    """Return what a cohort asks of a person and how far they are, in the order of dates, with the picture."""
    cohort = seat.cohort
    overrides: list[Override] = list(cohort.overrides.all())
    policies = [(each, policy_of(seat, each, overrides)) for each in cohort.assignments.all()]
    rows, picture = dated(cohort, policies)
    done = _done_by(person)
    return [_work(row, seat, done) for row in rows], picture


@dataclass(frozen=True)
class _Done:
    """What a person has done, read once for a page."""

    attempts: Sequence[Attempt]
    drills: set[str]
    stations: set[tuple[str, str]]


def _done_by(person: User) -> _Done:
    drilled = DrillAttempt.objects.visible_to(person).filter(stage=DrillAttempt.Stage.DONE)
    return _Done(
        attempts=list(Attempt.objects.of(person).counted().defer("panel", "mark").order_by("pk")),
        drills=set(drilled.values_list("drill", flat=True)),
        stations=stations_done(progress_everywhere(person)),
    )


def _work(row: Dated, seat: Membership, done: _Done) -> Work:
    terms, now = row.policy.terms, timezone.localtime()
    kind, slug = row.assignment.kind, row.assignment.slug
    if kind == Assignment.Kind.LAB:
        return _lab_work(row, seat, [each for each in done.attempts if each.lab_slug == slug])
    if kind == Assignment.Kind.DRILL:
        is_done, told = slug in done.drills, "done" if slug in done.drills else "not done"
    else:
        lesson = content.lessons().get(slug)
        of = len(lesson.stations) if lesson else 0
        n = sum(place == slug for place, _ in done.stations)
        is_done, told = bool(of) and n == of, f"{n} of {of} stations"
    if is_done:
        return Work(row, "done", told)
    if terms.opens_at and now < terms.opens_at:
        return Work(row, "later", told)
    closed = row.policy.closes_at is not None and now > row.policy.closes_at
    return Work(row, "closed" if closed else "open", told)


def _lab_work(row: Dated, seat: Membership, attempts: Sequence[Attempt]) -> Work:
    """Count what was begun since the cohort began, and what of it was marked."""
    now, since = timezone.localtime(), row.policy.terms.opens_at or begins_at(seat.cohort)
    mine = [each for each in attempts if each.started_at >= since]
    scored = [
        Scored(each.finished_at, float(each.total))
        for each in mine
        if each.total is not None and each.finished_at is not None
    ]
    begun = [each.started_at for each in mine if each.status != Attempt.Status.NOT_GRADED]
    found = standing(row.policy, begun, now=now, what="lab")
    told = f"{credit(row.policy, scored).total:g} of 100 counts" if scored else "not marked yet"
    if any(each.is_open for each in mine):
        return Work(row, "open", "under way", left=found.left)
    if scored:
        return Work(row, "done", told, found.why_not, found.left)
    opens = row.policy.terms.opens_at
    if found.may_start:
        return Work(row, "open", told, left=found.left)
    state = "later" if opens is not None and now < opens else "closed"
    return Work(row, state, told, found.why_not, found.left)

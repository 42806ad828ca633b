"""The cohort of a demo class: dates that some keep, labels, extra time, and other terms for one label."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.utils import timezone

from courseware.models import Assignment, Cohort, Membership, Override
from lessons.content import lessons
from lessons.drills.spec import drills

if TYPE_CHECKING:
    from collections.abc import Sequence

    from courseware.models import User
    from labs.specs import LabSpec

FIRST_DUE_DAYS_AGO = 18
DAYS_BETWEEN = 7
LATE_DAYS = 7
"""Late work is taken for so long."""
EXTRA_TIME_PERCENT = 25
DRILLS = 2
LESSONS = 3


def due_days_ago(place: int) -> int:
    """Return how many days ago the shared lab at a place, from 0, was due; below 0 is ahead."""
    return FIRST_DUE_DAYS_AGO - DAYS_BETWEEN * place


def make_cohort(
    seed: int, shared: Sequence[LabSpec], people: Sequence[User], *, days: int
) -> Cohort:
    """Make the cohort of a class, which began ``days`` ago and goes on as long; made already, it takes in who is new."""
    today = timezone.localdate()
    cohort, made = Cohort.objects.get_or_create(
        name=f"Demo class {seed}",
        defaults={
            "starts_on": today - timedelta(days=days),
            "ends_on": today + timedelta(days=days),
        },
    )
    if made:
        _assign(cohort, shared)
        Override.objects.create(cohort=cohort, label="nights", late_credit_percent=80)
    for number, user in enumerate(people):
        _seat(cohort, user, number)
    return cohort


def _assign(cohort: Cohort, shared: Sequence[LabSpec]) -> None:
    """Assign the shared labs, and the first lessons and drills of the course."""
    now = timezone.now()
    for place, spec in enumerate(shared):
        due = now - timedelta(days=due_days_ago(place))
        Assignment.objects.create(
            cohort=cohort,
            kind=Assignment.Kind.LAB,
            slug=spec.slug,
            due_at=due,
            late_until=due + timedelta(days=LATE_DAYS),
            late_credit_percent=50,
        )
    for place, slug in enumerate(list(lessons())[:LESSONS]):
        Assignment.objects.create(
            cohort=cohort,
            kind=Assignment.Kind.LESSON,
            slug=slug,
            due_at=now - timedelta(days=20 - 11 * place),
        )
    for number in list(drills())[:DRILLS]:
        Assignment.objects.create(cohort=cohort, kind=Assignment.Kind.DRILL, slug=number)


def _seat(cohort: Cohort, user: User, number: int) -> None:
    """Give a person their place: every third works nights, every seventh has extra time."""
    Membership.objects.get_or_create(
        cohort=cohort,
        person=user,
        defaults={
            "email": user.email,
            "labels": ["nights" if number % 3 == 0 else "days"],
            "extra_time_percent": EXTRA_TIME_PERCENT if number % 7 == 2 else 0,  # noqa: PLR2004
        },
    )

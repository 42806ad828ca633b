"""How much of the engines one person and one cohort may have: a refusal is one sentence that says until when."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.conf import settings
from django.utils import timezone

from courseware.models import Membership, User
from courseware.people import may_review
from labs.catalogue import labs
from labs.lease_order import held_s
from labs.lease_words import span
from labs.models import Lease

if TYPE_CHECKING:
    from datetime import datetime

    from labs.models import Attempt

DAY = timedelta(days=1)


def hold_others(attempt: Attempt) -> None:
    """Let nobody else ask for this person until the transaction ends: what is read after this holds."""
    # PostgreSQL locks the row; SQLite has locked the whole database when the transaction began.
    User.objects.select_for_update().get(pk=attempt.learner_id)


def why_not(attempt: Attempt) -> str:
    """Return why an attempt gets no lease now, in a sentence; empty if it may. Call after ``hold_others``.

    Those who teach and review have no quota.
    """
    person = attempt.learner
    now = timezone.now()
    return _has_one(person) or (
        "" if may_review(person) else _of_person(person, now) or _of_cohorts(person)
    )


def _has_one(person: User) -> str:
    """One world in real time is what one person can watch."""
    other = Lease.objects.of(person).unended().select_related("attempt").first()
    if other is None:
        return ""
    known = labs().get(other.attempt.lab_slug)
    title = known.title if known else other.attempt.lab_slug
    state = "wait for an engine" if other.status == Lease.Status.QUEUED else "hold an engine"
    return (
        f"You {state} in “{title}”. Close that attempt or cancel its engine first: one at a time."
    )


def _of_person(person: User, now: datetime) -> str:
    limit_s = settings.LIVE_PER_PERSON_DAY_S
    had_s = held_s([person.pk], now - DAY, now).get(person.pk, 0.0)
    if had_s < limit_s:
        return ""
    again = _falls_below(person, limit_s, had_s, now)
    return (
        f"You have had an engine for {span(had_s)} within the last 24 hours, and {span(limit_s)} is what one person "
        f"gets. Ask again from {timezone.localtime(again):%-d %B, %H:%M} on, or take the page simulated: "
        "that waits for nobody."
    )


def _falls_below(person: User, limit_s: float, had_s: float, now: datetime) -> datetime:
    """Return when the last 24 hours hold less than the limit, because the oldest seconds have dropped out."""
    excess_s = had_s - limit_s
    since = now - DAY
    rows = Lease.objects.of(person).claimed_after(since).order_by("claimed_at")
    for claimed, ended in rows.values_list("claimed_at", "ended_at"):
        begin = max(claimed or since, since)
        lasted_s = (min(ended or now, now) - begin).total_seconds()
        if lasted_s > excess_s:
            # The minute after: seconds are not shown.
            return begin + timedelta(seconds=excess_s) + DAY + timedelta(minutes=1)
        excess_s -= lasted_s
    return now


def _of_cohorts(person: User) -> str:
    """Look at the cohorts of a person, and let none of them ask until the transaction ends."""
    seats = (
        Membership.objects.of(person)
        .running(timezone.localdate())
        .filter(role=Membership.Role.LEARNER)
        .select_related("cohort")
        .select_for_update(of=("self", "cohort"))
        .order_by("cohort_id")
    )
    for seat in seats:
        people = Membership.objects.present().filter(
            cohort=seat.cohort, role=Membership.Role.LEARNER
        )
        count = Lease.objects.unended().filter(person__in=people.values("person")).count()
        if count >= settings.LIVE_PER_COHORT:
            return (
                f"{count} people of {seat.cohort} have an engine or wait for one, and {settings.LIVE_PER_COHORT} at once "
                "is what a cohort gets. Ask again when one of them is done, or take the page simulated."
            )
    return ""

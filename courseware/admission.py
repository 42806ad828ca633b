"""Whether a person may start something now, and whose work they read. All of the cohorts that labs and lessons may use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils import timezone

from courseware.cohorts.policies import begins_at, policy_of
from courseware.cohorts.policy import standing
from courseware.models import Assignment, Membership
from courseware.people import may_review, seats_that_read

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from django.db.models import QuerySet

    from courseware.models import User


def why_not(
    person: User,
    kind: str,
    slug: str,
    begun: Callable[[], Sequence[datetime]],
    *,
    hold: bool = False,
) -> str:
    """Return why a person may not start a lab, a drill or a lesson now, in a sentence; empty if they may.

    What no running cohort of theirs assigns is open, and so is everything to those who teach. Of two cohorts that
    assign it, one that lets them start is enough. ``begun`` returns when the person began each attempt that was not
    given back. With ``hold``, inside a transaction, nobody else is admitted for this person until it ends:
    ``begun`` is read after that, so that two starts at once never count the same attempts.
    """
    if may_review(person):
        return ""
    now = timezone.localtime()
    seats = Membership.objects.of(person).running(now.date()).select_related("cohort", "person")
    if hold:
        # PostgreSQL locks these rows; SQLite has locked the whole database when the transaction began.
        seats = seats.select_for_update(of=("self",))
    at_hand = list(seats)
    if not at_hand:
        return ""
    assigned = {
        each.cohort_id: each
        for each in Assignment.objects.filter(
            cohort__in=[seat.cohort_id for seat in at_hand], kind=kind, slug=slug
        )
    }
    asked = [seat for seat in at_hand if seat.cohort_id in assigned]
    if not asked or any(seat.role != Membership.Role.LEARNER for seat in asked):
        return ""
    moments = begun()
    refusals: list[str] = []
    for seat in asked:
        policy = policy_of(seat, assigned[seat.cohort_id])
        mine = [at for at in moments if at >= begins_at(seat.cohort)]
        found = standing(policy, mine, now=now, what=kind)
        if found.may_start:
            return ""
        refusals.append(found.why_not)
    return refusals[0]


def whose_work_is_read_by(person: User) -> QuerySet[Membership] | None:
    """Return the places of the learners whose work a person reads in their cohorts; None if they read everybody's."""
    if may_review(person):
        return None
    return Membership.objects.present().filter(
        role=Membership.Role.LEARNER, cohort__in=seats_that_read(person).values("cohort")
    )

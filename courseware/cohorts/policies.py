"""The policy of a person for an assignment, from the rows of their cohort."""

from __future__ import annotations

from datetime import datetime, time
from typing import TYPE_CHECKING

from django.utils import timezone

from courseware.cohorts.policy import FIELDS, Policy, Source, Terms, effective

if TYPE_CHECKING:
    from collections.abc import Sequence

    from courseware.models import Assignment, Cohort, Membership, Override


def begins_at(cohort: Cohort) -> datetime:
    """Return the first moment of a cohort, midnight at the start of its first day."""
    return timezone.make_aware(datetime.combine(cohort.starts_on, time.min))


def policy_of(
    seat: Membership, assignment: Assignment, overrides: Sequence[Override] | None = None
) -> Policy:
    """Return what holds for a person in an assignment of their cohort.

    Precedence: what is set for the person (in this assignment, then in all), then for their labels by the order
    of the overrides, then the assignment; extra time last from the person's place. ``overrides`` are the
    cohort's, if they are at hand.
    """
    if overrides is None:
        overrides = list(seat.cohort.overrides.all())
    return effective(
        [
            *(_source(each, seat) for each in applying(seat, assignment, overrides)),
            Source("the assignment", _terms(assignment)),
            Source(
                "their place in the cohort",
                Terms(extra_time_percent=seat.extra_time_percent or None),
            ),
        ],
        begins_at=begins_at(seat.cohort),
    )


def applying(
    seat: Membership, assignment: Assignment, overrides: Sequence[Override]
) -> list[Override]:
    """Return the overrides that concern a person in an assignment, in falling precedence."""
    mine = [
        each
        for each in overrides
        if each.assignment_id in {None, assignment.pk}
        and (each.membership_id == seat.pk or (each.label and each.label in seat.labels))
    ]
    return sorted(
        mine,
        key=lambda each: (
            each.membership_id is None,
            0 if each.membership_id else each.order,
            each.assignment_id is None,
            each.order,
            each.pk,
        ),
    )


def _source(override: Override, seat: Membership) -> Source:
    whom = f"label “{override.label}”" if override.label else str(seat)
    where = "in this assignment" if override.assignment_id else "in the whole cohort"
    return Source(
        f"override {override.order} for {whom} {where}",
        _terms(override),
        is_personal=not override.label,
    )


def _terms(row: Assignment | Override) -> Terms:
    return Terms(**{name: getattr(row, name, None) for name in FIELDS})

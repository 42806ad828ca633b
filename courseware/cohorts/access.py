"""Who may see a cohort, and who manages it: its own instructors, and those of the site."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import Http404

from courseware.models import Cohort, Membership
from courseware.people import may_author, signed_in

if TYPE_CHECKING:
    from uuid import UUID

    from django.db.models import Manager, Model, QuerySet
    from django.http import HttpRequest

    from courseware.models import User


@dataclass(frozen=True)
class Seen:
    """A cohort as one person sees it."""

    cohort: Cohort
    seat: Membership | None
    """None for an instructor of the site who has no place in it."""
    manages: bool


def managed_by(person: User) -> QuerySet[Cohort]:
    """Return the cohorts that a person manages: all for an instructor of the site."""
    if may_author(person):
        return Cohort.objects.all()
    places = Membership.objects.of(person).filter(role=Membership.Role.INSTRUCTOR)
    return Cohort.objects.filter(pk__in=places.values("cohort"))


def seats_of(person: User) -> QuerySet[Membership]:
    """Return a person's places in cohorts that are not archived, the newest first."""
    places = Membership.objects.of(person).filter(cohort__archived_at=None)
    return places.select_related("cohort", "person").order_by("-cohort__starts_on", "pk")


def seen_or_404(request: HttpRequest, public_id: UUID) -> Seen:
    """Return the cohort of an address for its members and managers. For others it is a 404."""
    person = signed_in(request)
    cohort = Cohort.objects.filter(public_id=public_id).first()
    if cohort is None:
        raise Http404
    seat = Membership.objects.of(person).filter(cohort=cohort).select_related("person").first()
    manages = may_author(person) or (seat is not None and seat.role == Membership.Role.INSTRUCTOR)
    if seat is None and not manages:
        raise Http404
    if seat is not None:
        seat.cohort = cohort
    return Seen(cohort, seat, manages)


def managed_or_404(request: HttpRequest, public_id: UUID) -> Cohort:
    """Return the cohort of an address for those who manage it; a 403 for its other members, a 404 for the rest."""
    seen = seen_or_404(request, public_id)
    if not seen.manages:
        raise PermissionDenied
    return seen.cohort


def labelled(cohort: Cohort) -> list[str]:
    """Return the labels that people in a cohort have, sorted."""
    rows = cohort.memberships.filter(~Q(labels=[])).values_list("labels", flat=True)
    return sorted({label for labels in rows for label in labels})


def held[M: Model](rows: Manager[M] | QuerySet[M], request: HttpRequest) -> QuerySet[M]:
    """Return rows that nobody else changes until this request has: locked if it writes, which needs a transaction."""
    return rows.select_for_update() if request.method == "POST" else rows.all()

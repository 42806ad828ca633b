"""Whose work an instructor looks at in the pages of insight: all learners', or those of a cohort that they teach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.core.exceptions import PermissionDenied
from django.http import Http404

from courseware.models import Cohort, Membership, User
from courseware.people import may_author, signed_in

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest


@dataclass(frozen=True)
class Taught:
    """The learners whom a page is about."""

    cohort: Cohort | None
    """None for all learners of the site."""
    cohorts: tuple[Cohort, ...]
    """Those that whoever asks may choose."""
    is_of_site: bool
    """Whether they teach the whole site, and so may choose everybody."""

    @property
    def learners(self) -> QuerySet[User]:
        """Return the people; those who left the cohort are not among them."""
        if self.cohort is None:
            return User.objects.filter(role=User.Role.LEARNER)
        return User.objects.filter(
            memberships__cohort=self.cohort,
            memberships__role=Membership.Role.LEARNER,
            memberships__removed_at=None,
        )

    @property
    def query(self) -> str:
        """What an address ends with to stay with these people."""
        return "" if self.cohort is None else f"?cohort={self.cohort.public_id}"

    @property
    def words(self) -> str:
        """Who they are, in a few words."""
        return "all learners" if self.cohort is None else str(self.cohort)


def taught(request: HttpRequest) -> Taught:
    """Return whose work a page shows to whoever asks: with ``?cohort=`` of one cohort, else of all that they may see.

    An instructor of the site sees all learners; who teaches cohorts alone sees the newest of these first. Raises
    PermissionDenied for anyone else, Http404 for a cohort that is not theirs to choose.
    """
    person, asked = signed_in(request), request.GET.get("cohort", "")
    is_of_site = may_author(person)
    theirs = Cohort.objects.all()
    if not is_of_site:
        mine = Membership.objects.present().filter(person=person, role=Membership.Role.INSTRUCTOR)
        theirs = theirs.filter(pk__in=mine.values("cohort"))
    # One that is archived is looked at by its address alone.
    cohorts = [each for each in theirs if each.archived_at is None or str(each.public_id) == asked]
    if not is_of_site and not cohorts:
        raise PermissionDenied
    if not asked:
        return Taught(None if is_of_site else cohorts[0], tuple(cohorts), is_of_site)
    found = next((each for each in cohorts if str(each.public_id) == asked), None)
    if found is None:
        raise Http404
    return Taught(found, tuple(cohorts), is_of_site)

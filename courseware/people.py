"""Who may do what; and, while developing, demo people and their one-time links."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponseBase
from django.utils import timezone

from courseware.models import Membership, SignInLink, User
from courseware.signed_out import signed_out

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.contrib.auth.models import AnonymousUser
    from django.db.models import Model, QuerySet

DEMO_PEOPLE = (
    ("learner@demo.invalid", "Maya Lindqvist", User.Role.LEARNER),
    ("instructor@demo.invalid", "Ines Okafor", User.Role.INSTRUCTOR),
    ("grader@demo.invalid", "Goran Petrov", User.Role.GRADER),
)

type View[**P] = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def may_review(user: User | AnonymousUser | None) -> bool:
    """Graders read what people submitted; so do the instructors who teach them."""
    return _has_role(user, User.Role.GRADER, User.Role.INSTRUCTOR)


def may_read_explanations(user: User | AnonymousUser | None) -> bool:
    """Site graders and instructors read what anybody wrote; who has such a role in a cohort, what its learners did."""
    if may_review(user):
        return True
    return isinstance(user, User) and user.is_active and seats_that_read(user).exists()


def seats_that_read(user: User) -> QuerySet[Membership]:
    """Return a person's places as a grader or an instructor, in cohorts that are not archived."""
    roles = (Membership.Role.GRADER, Membership.Role.INSTRUCTOR)
    return Membership.objects.present().filter(
        person=user, role__in=roles, cohort__archived_at=None
    )


def count_who_read_everybody() -> int:
    """Return how many people the site's roles let read what anybody wrote."""
    roles = (User.Role.GRADER, User.Role.INSTRUCTOR)
    people = User.objects.filter(is_active=True)
    return people.filter(Q(role__in=roles) | Q(is_superuser=True)).count()


def may_author(user: User | AnonymousUser | None) -> bool:
    """Instructors decide who takes the course, and when."""
    return _has_role(user, User.Role.INSTRUCTOR)


def may_read(user: User | AnonymousUser | None, tier: str) -> bool:
    """Whether a tier of the course is open: everything public, the rest to who is signed in, or enrolled."""
    if tier == "public":
        return True
    if not isinstance(user, User) or not user.is_active:
        return False
    return tier == "signed-in" or settings.OPEN_ENROLMENT or may_review(user) or is_enrolled(user)


def is_enrolled(user: User) -> bool:
    """Whether a person has a place in a cohort whose dates hold today."""
    return Membership.objects.of(user).running(timezone.localdate()).exists()


def _has_role(user: User | AnonymousUser | None, *roles: str) -> bool:
    return isinstance(user, User) and user.is_active and (user.is_superuser or user.role in roles)


def signed_in(request: HttpRequest) -> User:
    """Return who asks, in a view that ``learner_required`` or a stricter decorator guards."""
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user


def _required[**P](allowed: Callable[[Any], bool]) -> Callable[[View[P]], View[P]]:
    def decorate(view: View[P]) -> View[P]:
        @wraps(view)
        def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            if not allowed(request.user):
                raise PermissionDenied
            return view(request, *args, **kwargs)

        return learner_required(guarded)

    return decorate


def learner_required[**P](view: View[P]) -> View[P]:
    """Let in everyone who is signed in: whoever teaches or reviews may also learn.

    A page sends a visitor to sign in and back. A form keeps what was typed, and says where to sign in.
    """
    page = login_required(view)

    @wraps(view)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        is_page = request.method in ("GET", "HEAD") and not request.headers.get("HX-Request")
        if request.user.is_authenticated or is_page:
            return page(request, *args, **kwargs)
        return signed_out(request)

    return guarded


def grader_required[**P](view: View[P]) -> View[P]:
    """Let in those who may review; a visitor is sent to sign in, anyone else gets a 403."""
    return _required(may_review)(view)


def reader_required[**P](view: View[P]) -> View[P]:
    """Let in those who read explanations, of everybody or of a cohort; a visitor is sent to sign in, anyone else gets a 403."""
    return _required(may_read_explanations)(view)


def instructor_required[**P](view: View[P]) -> View[P]:
    """Let in those who may author; a visitor is sent to sign in, anyone else gets a 403."""
    return _required(may_author)(view)


def own_or_404[M: Model](rows: QuerySet[M], user: User, *, owner: str, **lookup: object) -> M:
    """Return the one row that ``user`` owns. Another's is a 404: that it exists is not said."""
    row = rows.filter(**{owner: user.pk}, **lookup).first()
    if row is None:
        raise Http404
    return row


# ---------------------------------------------------------------------------- while developing only


def demo_people() -> list[User]:
    """Return the demo learner, instructor and grader, making those who are missing."""
    people: list[User] = []
    for email, name, role in DEMO_PEOPLE:
        person, is_new = User.objects.get_or_create(
            email=email, defaults={"name": name, "role": role}
        )
        if is_new:
            person.set_unusable_password()
            person.save(update_fields=["password"])
        people.append(person)
    return people


def new_sign_in_link(user: User) -> str:
    """Make a one-time link for ``user`` and return its token, which is stored nowhere.

    Raises PermissionDenied unless DEBUG is on: in production a link is a password in a log.
    """
    if not settings.DEBUG:
        raise PermissionDenied
    token = secrets.token_urlsafe(24)
    lifetime = timedelta(seconds=settings.SIGN_IN_LINK_LIFETIME_S)
    SignInLink.objects.create(
        user=user, token_hash=_hashed(token), expires_at=timezone.now() + lifetime
    )
    return token


def spend_sign_in_link(token: str) -> User | None:
    """Use a link up and return its person; None if it is unknown, used, expired, or DEBUG is off.

    One UPDATE with "still open" in its WHERE clause: of two visits at once, one gets in.
    """
    if not settings.DEBUG:
        return None
    now = timezone.now()
    links = SignInLink.objects.filter(token_hash=_hashed(token), user__is_active=True)
    if links.filter(used_at=None, expires_at__gt=now).update(used_at=now) != 1:
        return None
    return links.select_related("user").get().user


def _hashed(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()

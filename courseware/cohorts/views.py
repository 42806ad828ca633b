"""The list of cohorts, joining one, and the page of one for those who manage it and for those who learn in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.db.models import Count, Q
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from courseware.cohorts import enrolment, shown
from courseware.cohorts.access import (
    labelled,
    managed_by,
    managed_or_404,
    seats_of,
    seen_or_404,
)
from courseware.cohorts.enrolment import Refused
from courseware.cohorts.forms import AnnouncementForm, JoinForm
from courseware.cohorts.policies import policy_of
from courseware.models import Cohort, Membership
from courseware.people import learner_required, may_author, signed_in

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest, HttpResponse, HttpResponseBase

    from courseware.cohorts.access import Seen

INVALID = 422
MOST_MEMBERS_SHOWN = 200


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@learner_required
def index(request: HttpRequest) -> HttpResponseBase:
    """Show the cohorts that one manages and those that one is in; with POST, go to the one of a code."""
    form = JoinForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            found = enrolment.cohort_with(form.cleaned_data["code"])
        except Refused as refused:
            form.add_error("code", str(refused))
        else:
            return redirect("cohorts:join", found.join_code)
    person = signed_in(request)
    present = Count(
        "memberships", filter=Q(memberships__removed_at=None, memberships__role="learner")
    )
    managed = managed_by(person).annotate(learners=present)
    context = {
        "form": form,
        "may_author": may_author(person),
        "managed": managed.filter(archived_at=None),
        "archived": managed.filter(archived_at__isnull=False),
        "seats": seats_of(person).exclude(role=Membership.Role.INSTRUCTOR),
        "today": timezone.localdate(),
    }
    return render(request, "cohorts/index.html", context, status=INVALID if form.errors else 200)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@learner_required
def join(request: HttpRequest, code: str) -> HttpResponseBase:
    """Ask whether one wants into the cohort of a link; with POST, join it."""
    person = signed_in(request)
    try:
        cohort = enrolment.cohort_with(code)
        if Membership.objects.of(person).filter(cohort=cohort).exists():
            enrolment.join(cohort, person)
            return redirect(cohort)
        if request.method == "POST":
            enrolment.join(cohort, person)
            messages.success(request, f"You are in {cohort}.")
            return redirect(cohort)
        why_not = enrolment.why_no_joining(cohort)
    except Refused as refused:
        context = {"why_not": str(refused), "cohort": None}
        return render(request, "cohorts/join.html", context, status=409)
    asked: dict[str, Any] = {"cohort": cohort, "why_not": why_not}
    return render(request, "cohorts/join.html", asked)


@never_cache
@require_safe
@learner_required
def cohort(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Show a cohort: to its managers how it is set up, to its people what they have to do."""
    seen = seen_or_404(request, public_id)
    if seen.manages:
        return managed_page(request, seen.cohort)
    return _learners_page(request, seen)


def managed_page(
    request: HttpRequest, found: Cohort, form: AnnouncementForm | None = None
) -> HttpResponse:
    """Answer with the page of those who manage a cohort; ``form`` holds an announcement that was refused."""
    wanted = {name: request.GET.get(name, "").strip()[:80] for name in ("find", "role", "label")}
    members, of = _members(found, wanted)
    # What holds without an override is what the picture shows.
    plain = Membership(cohort=found)
    policies = [(each, policy_of(plain, each, [])) for each in found.assignments.all()]
    rows, picture = shown.dated(found, policies)
    context = {
        "cohort": found,
        "is_running": found.is_running(timezone.localdate()),
        "members": members,
        "of": of,
        "wanted": wanted,
        "roles": Membership.Role.choices,
        "labels": labelled(found),
        "rows": rows,
        "picture": picture,
        "overrides": shown.override_rows(found),
        "announcements": shown.announcements([found]),
        "form": form or AnnouncementForm(),
        "link": request.build_absolute_uri(reverse("cohorts:join", args=[found.join_code])),
        "why_no_joining": enrolment.why_no_joining(found),
    }
    return render(request, "cohorts/managed.html", context, status=INVALID if form else 200)


def _members(found: Cohort, wanted: dict[str, str]) -> tuple[list[Membership], int]:
    """Return the members that a filter lets through, and how many there are without it."""
    every = list(found.memberships.present().select_related("person"))
    find = wanted["find"].lower()
    fitting = [
        each
        for each in every
        if (not find or find in each.email or find in each.shown_name.lower())
        and wanted["role"] in {"", each.role}
        and (not wanted["label"] or wanted["label"] in each.labels)
    ]
    return fitting[:MOST_MEMBERS_SHOWN], len(every)


def _learners_page(request: HttpRequest, seen: Seen) -> HttpResponse:
    person, seat = signed_in(request), seen.seat
    context: dict[str, Any] = {
        "cohort": seen.cohort,
        "seat": seat,
        "is_running": seen.cohort.is_running(timezone.localdate()),
        "announcements": shown.announcements([seen.cohort]),
        "works": [],
    }
    if seat is not None:
        works, picture = shown.work_of(seat, person)
        context |= {"works": works, "picture": picture}
        context["done"] = sum(each.state == "done" for each in works)
    return render(request, "cohorts/learning.html", context)


# ------------------------------------------------------------------------------------ code, archive


@require_POST
@learner_required
def code(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Give the cohort another join code; links with the old one end."""
    found = managed_or_404(request, public_id)
    if enrolment.replace_code(found, request.POST.get("code", "")):
        messages.success(request, "There is a new code. The old one and its link admit nobody.")
    else:
        messages.warning(request, "The code had been replaced already. This is the present one.")
    return redirect(reverse("cohorts:cohort", args=[public_id]) + "#joining")


@require_POST
@learner_required
def archive(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Put the cohort away, or take it out again."""
    found = managed_or_404(request, public_id)
    if request.POST.get("do") == "back":
        if enrolment.bring_back(found):
            messages.success(request, f"{found} is back.")
    elif enrolment.archive(found):
        messages.success(request, f"{found} is archived: nobody joins, and everything is kept.")
    return redirect(found)

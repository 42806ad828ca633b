"""Pages on which those who manage a cohort write its dates, assignments, overrides and announcements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.db import IntegrityError, transaction
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from courseware.cohorts.access import held, labelled, managed_or_404
from courseware.cohorts.assigned import item_of
from courseware.cohorts.forms import (
    AnnouncementForm,
    AssignmentForm,
    CohortForm,
    OverrideForm,
    fields_of,
)
from courseware.cohorts.views import INVALID, managed_page
from courseware.models import Cohort, Membership, Override
from courseware.people import instructor_required, learner_required, signed_in

if TYPE_CHECKING:
    from uuid import UUID

    from django.forms import BaseForm
    from django.http import HttpRequest, HttpResponse, HttpResponseBase

    from courseware.models import Assignment

_DATES = ("When", "Empty opens at once, or is never due.", ("opens_at", "due_at"))
_LATE = (
    "Late work",
    "What is gained after it was due counts at this share; after the end nothing is started.",
    ("late_until", "late_credit_percent"),
)
_LIMITS = (
    "Attempts at a lab",
    "Counted from the opening. One that could not be graded is given back.",
    ("most_attempts", "wait_min"),
)
_ASSIGNMENT = (("", "", ("item",)), _DATES, _LATE, _LIMITS)
_OVERRIDE = (
    ("For whom", "", ("membership", "label")),
    (
        "Where",
        "Of a person's labels, the override with the lower order is asked first; a person's own come before all labels.",
        ("assignment", "order"),
    ),
    ("When", "Empty: as it is without this override.", ("opens_at", "due_at")),
    ("Late work", "", ("late_until", "late_credit_percent")),
    (
        "Attempts and time",
        "Extra time stretches the time from open to due, unless the due date is this person's own.",
        ("most_attempts", "wait_min", "extra_time_percent"),
    ),
)
_COHORT = (
    ("", "", ("name",)),
    (
        "Dates",
        "Both days included. Enrolled pages are open to its people between them.",
        ("starts_on", "ends_on"),
    ),
    ("", "", ("is_open",)),
)


def _page(request: HttpRequest, form: BaseForm, groups: Any, **context: Any) -> HttpResponse:
    context |= {
        "form": form,
        "groups": [(title, hint, fields_of(form, names)) for title, hint, names in groups],
        "zone": timezone.get_current_timezone_name(),
    }
    return render(request, "cohorts/form.html", context, status=INVALID if form.is_bound else 200)


# ---------------------------------------------------------------------------------------- a cohort


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@instructor_required
def new(request: HttpRequest) -> HttpResponseBase:
    """Make a cohort; whoever makes it is its first instructor."""
    form = CohortForm(request.POST or None)
    if form.is_valid():
        person = signed_in(request)
        with transaction.atomic():
            made = form.save()
            Membership.objects.create(
                cohort=made, person=person, email=person.email.lower(), role="instructor"
            )
        messages.success(request, f"{made} is there. Now its people, and what they do by when.")
        return redirect(made)
    return _page(
        request,
        form,
        _COHORT,
        title="A new cohort",
        button="Make the cohort",
        back=reverse("cohorts:index"),
        back_to="Cohorts",
    )


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@learner_required
@transaction.atomic
def edit(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Change a cohort's name and dates, and whether people may join."""
    found = managed_or_404(request, public_id)
    name = str(found)
    found = held(Cohort.objects.all(), request).get(pk=found.pk)
    form = CohortForm(request.POST or None, instance=found)
    if form.is_valid():
        form.save()
        messages.success(request, "Saved.")
        return redirect(found)
    return _page(
        request,
        form,
        _COHORT,
        title=name,
        button="Save",
        back=found.get_absolute_url(),
        back_to=name,
    )


# -------------------------------------------------------------------------------------- assignments


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@learner_required
@transaction.atomic
def assignment(request: HttpRequest, public_id: UUID, pk: int | None = None) -> HttpResponseBase:
    """Assign something to a cohort, or change by when."""
    cohort = managed_or_404(request, public_id)
    found = get_object_or_404(held(cohort.assignments, request), pk=pk) if pk else None
    form = AssignmentForm(request.POST or None, instance=found, cohort=cohort)
    if form.is_valid() and _is_saved(form):
        messages.success(request, f"{item_of(form.instance).title}: saved.")
        return redirect(reverse("cohorts:cohort", args=[public_id]) + "#assignments")
    title = item_of(found).title if found else "Assign something"
    take = "cohorts:assignment-drop" if found else ""
    return _page(
        request,
        form,
        _ASSIGNMENT,
        title=title,
        button="Save" if found else "Assign it",
        back=cohort.get_absolute_url() + "#assignments",
        back_to=cohort,
        drop=reverse(take, args=[public_id, pk]) if take else "",
        drop_word="Assign it no more",
        drop_note="Its overrides go with it. What people did stays theirs.",
    )


def _is_saved(form: AssignmentForm) -> bool:
    try:
        with transaction.atomic():
            form.save()
    except IntegrityError:
        # Another instructor assigned the same between our look and our write.
        form.add_error("item", "This cohort has it already. Change that one instead.")
        return False
    return True


@require_POST
@learner_required
def drop_assignment(request: HttpRequest, public_id: UUID, pk: int) -> HttpResponseBase:
    """Assign something no more."""
    cohort = managed_or_404(request, public_id)
    found: Assignment = get_object_or_404(cohort.assignments, pk=pk)
    title = item_of(found).title
    found.delete()
    messages.success(request, f"{title} is no longer assigned.")
    return redirect(reverse("cohorts:cohort", args=[public_id]) + "#assignments")


# ---------------------------------------------------------------------------------------- overrides


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@learner_required
@transaction.atomic
def override(request: HttpRequest, public_id: UUID, pk: int | None = None) -> HttpResponseBase:
    """Give a person or a label other terms, or change them."""
    cohort = managed_or_404(request, public_id)
    rows = held(cohort.overrides, request)
    found = get_object_or_404(rows, pk=pk) if pk else Override(cohort=cohort)
    form = OverrideForm(
        request.POST or None,
        instance=found,
        cohort=cohort,
        initial=None if pk else _for_whom(request, cohort),
    )
    if form.is_valid():
        form.save()
        messages.success(request, "Saved. Each member's page shows what holds for them, and why.")
        return redirect(reverse("cohorts:cohort", args=[public_id]) + "#overrides")
    labels = ", ".join(labelled(cohort)) or "none yet"
    return _page(
        request,
        form,
        _OVERRIDE,
        title="An override",
        intro=f"It says something else for one person, or for everyone with a label. Labels here: {labels}.",
        button="Save",
        back=cohort.get_absolute_url() + "#overrides",
        back_to=cohort,
        drop=reverse("cohorts:override-drop", args=[public_id, pk]) if pk else "",
        drop_word="Take it away",
        drop_note="What it overrode holds again.",
    )


def _for_whom(request: HttpRequest, cohort: Cohort) -> dict[str, Any]:
    """Return whom a link to an empty form names; an order after all that there are."""
    last = cohort.overrides.order_by("-order").first()
    return {"membership": request.GET.get("member"), "order": last.order + 1 if last else 1}


@require_POST
@learner_required
def drop_override(request: HttpRequest, public_id: UUID, pk: int) -> HttpResponseBase:
    """Take an override away."""
    cohort = managed_or_404(request, public_id)
    get_object_or_404(cohort.overrides, pk=pk).delete()
    messages.success(request, "The override is gone; what it overrode holds again.")
    return redirect(reverse("cohorts:cohort", args=[public_id]) + "#overrides")


# ------------------------------------------------------------------------------------ announcements


@require_POST
@learner_required
def announce(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Tell a cohort something."""
    cohort = managed_or_404(request, public_id)
    form = AnnouncementForm(request.POST)
    if not form.is_valid():
        return managed_page(request, cohort, form)
    form.instance.cohort, form.instance.by = cohort, signed_in(request)
    form.save()
    messages.success(request, "Announced: it stands on the home page of everyone in the cohort.")
    return redirect(reverse("cohorts:cohort", args=[public_id]) + "#announcements")


@require_POST
@learner_required
def withdraw(request: HttpRequest, public_id: UUID, pk: int) -> HttpResponseBase:
    """Take an announcement down."""
    cohort = managed_or_404(request, public_id)
    rows = cohort.announcements.filter(pk=pk, removed_at=None)
    if rows.update(removed_at=timezone.now()):
        messages.success(request, "The announcement is down.")
    return redirect(reverse("cohorts:cohort", args=[public_id]) + "#announcements")

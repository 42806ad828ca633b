"""Pages about the people of a cohort: a roster that is taken in, and one member with what holds for them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.db import transaction
from django.db.models import F
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from courseware.cohorts import enrolment, roster
from courseware.cohorts.access import held, managed_or_404
from courseware.cohorts.assigned import item_of
from courseware.cohorts.enrolment import Outcome
from courseware.cohorts.forms import MemberForm, RosterForm
from courseware.cohorts.policies import policy_of
from courseware.cohorts.shown import whys
from courseware.cohorts.views import INVALID
from courseware.people import learner_required

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from django.http import HttpRequest, HttpResponse, HttpResponseBase

    from courseware.cohorts.enrolment import Planned
    from courseware.models import Cohort

_WRITTEN = (Outcome.JOINS, Outcome.RETURNS, Outcome.CHANGES)
_PLANNED = {
    Outcome.JOINS: "to join",
    Outcome.RETURNS: "to come back",
    Outcome.CHANGES: "to change",
    Outcome.STAYS: "as they are",
    Outcome.REFUSED: "left out",
}
_DONE = {
    Outcome.JOINS: "joined",
    Outcome.RETURNS: "came back",
    Outcome.CHANGES: "changed",
    Outcome.STAYS: "stayed as they were",
    Outcome.REFUSED: "left out",
}


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@learner_required
def take_in(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Show what a roster would do, row by row; with "enrol", do it. Rows that are left out stay in the text."""
    cohort = managed_or_404(request, public_id)
    if request.method != "POST":
        return _roster_page(request, cohort, RosterForm(initial={"text": _example()}))
    form = RosterForm(request.POST, request.FILES)
    if not form.is_valid():
        return _roster_page(request, cohort, form, status=INVALID)
    read = roster.read(form.cleaned_data["text"])
    shown = RosterForm({"text": form.cleaned_data["text"]})
    if read.fault and shown.is_valid():
        shown.add_error("text", read.fault)
        return _roster_page(request, cohort, shown, status=INVALID)
    if request.POST.get("do") != "enrol":
        shown = RosterForm(initial={"text": form.cleaned_data["text"]})
        return _roster_page(request, cohort, shown, enrolment.planned(cohort, read.rows))
    done = enrolment.enrol(cohort, read.rows)
    counts = Counter(each.outcome for each in done)
    told = ", ".join(f"{counts[each]} {_DONE[each]}" for each in Outcome if counts[each])
    messages.success(request, f"{told[:1].upper()}{told[1:]}.")
    left = [each for each in done if each.outcome == Outcome.REFUSED]
    if not left:
        return redirect(reverse("cohorts:cohort", args=[public_id]) + "#members")
    text = "\n".join([read.header, *(each.row.source for each in left)])
    again = roster.read(text)
    return _roster_page(
        request, cohort, RosterForm(initial={"text": text}), enrolment.planned(cohort, again.rows)
    )


def _example() -> str:
    return ",".join(roster.COLUMNS) + "\n"


def _roster_page(
    request: HttpRequest,
    cohort: Cohort,
    form: RosterForm,
    plans: Sequence[Planned] = (),
    status: int = 200,
) -> HttpResponse:
    counts = Counter(each.outcome for each in plans)
    context: dict[str, Any] = {
        "cohort": cohort,
        "form": form,
        "plans": plans,
        "counts": [(_PLANNED[each], counts[each]) for each in Outcome if counts[each]],
        "to_write": sum(counts[each] for each in _WRITTEN),
        "refused": Outcome.REFUSED,
        "stays": Outcome.STAYS,
        "columns": roster.COLUMNS,
    }
    return render(request, "cohorts/roster.html", context, status=status)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@learner_required
@transaction.atomic
def member(request: HttpRequest, public_id: UUID, pk: int) -> HttpResponseBase:
    """Show a member, what holds for them in each assignment and why; with POST, change their place."""
    cohort = managed_or_404(request, public_id)
    rows = cohort.memberships.select_related("person", "cohort")
    seat = get_object_or_404(held(cohort.memberships.all(), request), pk=pk)
    saved = get_object_or_404(rows, pk=pk)
    form = MemberForm(request.POST or None, instance=seat)
    if form.is_valid():
        form.save()
        messages.success(request, "Saved.")
        return redirect("cohorts:member", public_id, pk)
    overrides = list(cohort.overrides.all())
    context = {
        "cohort": cohort,
        "seat": saved,
        "form": form,
        "policies": [
            (item_of(each), whys(policy_of(saved, each, overrides), each.kind))
            for each in cohort.assignments.order_by(F("due_at").asc(nulls_last=True), "pk")
        ],
        "zone": timezone.get_current_timezone_name(),
    }
    status = INVALID if form.is_bound else 200
    return render(request, "cohorts/member.html", context, status=status)


@require_POST
@learner_required
def move(request: HttpRequest, public_id: UUID, pk: int) -> HttpResponseBase:
    """Take a member out of the cohort, or bring them back."""
    cohort = managed_or_404(request, public_id)
    seat = get_object_or_404(cohort.memberships.select_related("person"), pk=pk)
    if request.POST.get("do") == "back":
        if enrolment.readmit(seat):
            messages.success(request, f"{seat} is back.")
    elif enrolment.remove(seat):
        messages.success(request, f"{seat} is out of the cohort. What they did is kept.")
    return redirect("cohorts:member", public_id, pk)

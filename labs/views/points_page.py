"""Points by hand: an instructor gives one part of a mark other points than the rule, and says why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from courseware.people import instructor_required, signed_in
from labs import mark_changes
from labs.debrief.parts import parts_shown
from labs.models import Attempt
from labs.points_forms import PointsForm, TakeBackForm

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest, HttpResponse, HttpResponseBase

MOVED = (
    "The mark has changed since this page was shown. Nothing was written; look at it as it is now."
)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@instructor_required
def show(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Show a mark with its trail, and a form that gives one part its points by hand."""
    attempt = _marked_or_404(public_id)
    form = PointsForm(request.POST or None, initial={"version": attempt.mark_version})
    if not form.is_bound:
        return _page(request, attempt, form)
    if not form.is_valid():
        return _page(request, attempt, form, status=422)
    said = form.cleaned_data
    try:
        mark_changes.override(
            attempt,
            said["part"],
            said["points"],
            reason=said["reason"],
            by=signed_in(request),
            version=said["version"],
        )
    except mark_changes.MovedOn:
        return _moved(request, attempt)
    messages.success(request, "The points count from now on, and the learner sees why.")
    return redirect("labs:points", public_id)


@require_POST
@instructor_required
def take_back(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Let the rule's points for a part count again."""
    attempt, form = _marked_or_404(public_id), TakeBackForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Say which part, and why; nothing was changed.")
        return redirect("labs:points", public_id)
    said = form.cleaned_data
    try:
        mark_changes.withdraw(
            attempt,
            said["part"],
            reason=said["reason"],
            by=signed_in(request),
            version=said["version"],
        )
    except mark_changes.MovedOn:
        messages.warning(request, MOVED)
    return redirect("labs:points", public_id)


def _marked_or_404(public_id: UUID) -> Attempt:
    return get_object_or_404(
        Attempt.objects.select_related("learner"), public_id=public_id, mark__isnull=False
    )


def _moved(request: HttpRequest, attempt: Attempt) -> HttpResponse:
    attempt.refresh_from_db()
    form = PointsForm({**request.POST.dict(), "version": attempt.mark_version})
    form.add_error(None, MOVED)
    return _page(request, attempt, form, status=409)


def _page(
    request: HttpRequest, attempt: Attempt, form: PointsForm, status: int = 200
) -> HttpResponse:
    mark = attempt.mark or {}
    context = {
        "attempt": attempt,
        "spec": attempt.spec,
        "parts": parts_shown(attempt.spec, {part["name"]: part for part in mark.get("parts", [])}),
        "reason": mark.get("reason", ""),
        "trail": attempt.mark_changes.select_related("by"),
        "form": form,
        "address": reverse("labs:points-take-back", args=[attempt.public_id]),
    }
    return render(request, "labs/points.html", context, status=status)

"""The grader's own keys, the load of all graders, and how far they agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from courseware.people import (
    grader_required,
    instructor_required,
    may_author,
    reader_required,
    signed_in,
)
from labs import review_keys, review_load, review_queue
from labs.agreement import LEAST_ATTEMPTS, SUBSTANTIAL, place
from labs.agreement_rows import agreements
from labs.review_desk import pseudonym
from labs.review_forms import KeysForm
from labs.review_rows import page

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponseBase


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@reader_required
def keys(request: HttpRequest) -> HttpResponseBase:
    """Show which key does what; with POST, store a grader's own, or the defaults again."""
    grader = signed_in(request)
    stored = review_queue.settings_of(grader).keys
    if request.POST.get("do") == "defaults":
        review_queue.set_keys(grader, {})
        messages.success(request, "Every key is what it was at first.")
        return redirect("labs:review-keys")
    form = KeysForm(request.POST if request.method == "POST" else None, stored=stored)
    if form.is_valid():
        review_queue.set_keys(grader, review_keys.changes(form.cleaned_data))
        messages.success(request, "Saved. Your keys hold on every page of the review.")
        return redirect("labs:review-keys")
    status = 422 if form.is_bound else 200
    return page(request, "labs/review_keys.html", {"form": form, "changed": bool(stored)}, status)


@never_cache
@require_safe
@grader_required
def load(request: HttpRequest) -> HttpResponseBase:
    """Show who reads how much; and, to instructors, what came back unread and why."""
    viewer = signed_in(request)
    is_staff = may_author(viewer)
    returned = review_load.returned_to(viewer) if is_staff else ()
    context = {
        "loads": review_load.loads(timezone.now()),
        "is_staff": is_staff,
        "returned": [(pseudonym(each.review.attempt.public_id), each) for each in returned],
    }
    return page(request, "labs/review_load.html", context)


@never_cache
@require_safe
@instructor_required
def agreement(request: HttpRequest) -> HttpResponseBase:
    """Show how far readers agree: with each other, with what was settled, item by item."""
    axis = {"zero": place(0.0), "wanted": place(SUBSTANTIAL)}
    context = {"found": agreements(), "at": axis, "least": LEAST_ATTEMPTS}
    return page(request, "labs/review_agreement.html", context)

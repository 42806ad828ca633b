"""Without the fix: a grader has an attempt's world run again with one of its changes left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from courseware.people import reader_required
from labs import reruns, without, without_runs
from labs.logged import log_of
from labs.models import WithoutRun
from labs.review_desk import pseudonym
from labs.review_rows import review_or_404
from labs.without_page import cards_of

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest, HttpResponseBase

    from labs.models import Attempt, Review


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@reader_required
def show(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Show each change of an attempt with what leaving it out shows; with POST, have one left out."""
    review = review_or_404(request, public_id)
    if request.method == "POST":
        return _ask(request, review)
    is_part = request.headers.get("HX-Request") == "true"
    template = "labs/_without.html" if is_part else "labs/without.html"
    return render(request, template, {"review": review, **_context(review.attempt)})


def _ask(request: HttpRequest, review: Review) -> HttpResponseBase:
    attempt = review.attempt
    address = reverse("labs:review-without", args=[review.public_id])
    left_out = (request.POST.get("target", ""), request.POST.get("kind", ""))
    changes = without.changes_of(log_of(attempt))
    if left_out not in changes:
        messages.warning(request, "This attempt made no such change. Choose one of those below.")
        return redirect(address)
    without_runs.ask(attempt, left_out)
    return redirect(f"{address}#change-{changes.index(left_out) + 1}")


def _context(attempt: Attempt) -> dict[str, Any]:
    stored = getattr(attempt, "kept_reruns", None)
    kept = reruns.load(stored.kept) if stored else None
    changes = without.changes_of(log_of(attempt))
    runs = {(run.target, run.kind): run for run in WithoutRun.objects.filter(attempt=attempt)}
    done = {
        atom: without.load(run.found)
        for atom, run in runs.items()
        if run.status == WithoutRun.Status.DONE and run.found is not None
    }
    cards = (
        cards_of(attempt.spec, changes, kept.reruns.now, in_force=kept.reruns.in_force, found=done)
        if kept
        else ()
    )
    return {
        "attempt": attempt,
        "spec": attempt.spec,
        "name": pseudonym(attempt.public_id),
        "is_kept": kept is not None,
        "changes": changes,
        "cards": [(card, runs.get((card.target, card.kind))) for card in cards],
        "under_way": any(run.is_under_way for run in runs.values()),
    }

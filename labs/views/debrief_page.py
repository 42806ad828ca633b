"""The debrief of a marked attempt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from courseware.people import learner_required
from labs import outcomes, regrades
from labs.debrief import debrief
from labs.logged import entries_of
from labs.models import Action, Attempt, ReviewOutcome
from labs.room import room_of
from labs.story_page import story_page
from labs.views.access import attempt_or_404
from labs.views.prose import prose

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest, HttpResponseBase


@require_safe
@never_cache
@learner_required
def show(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Show a marked attempt: the mark with its reasons, and what computation knows about it."""
    attempt = attempt_or_404(request, public_id)
    if attempt.status != Attempt.Status.MARKED or attempt.mark is None:
        return redirect(attempt)
    found = room_of(attempt)
    said = found.log.explanation
    shown = debrief(
        attempt.spec,
        attempt.mark,
        entries_of(each for each in found.log.actions if each.status == Action.Status.DONE),
        clock_s=attempt.clock_s,
    )
    context = {
        "attempt": attempt,
        "spec": attempt.spec,
        "shown": shown,
        "text": prose(attempt.lab_key, "debrief.md"),
        "explanation": said.payload.get("text", "") if said else "",
        "trail": attempt.mark_changes.filter(version__gt=1),
        "review": outcomes.shown_to_learner(attempt),
        **_asked(attempt),
    }
    return render(request, "labs/debrief.html", context)


@require_safe
@never_cache
@learner_required
def story(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Show a learner their own marked attempt at one of its moments."""
    attempt = attempt_or_404(request, public_id)
    if attempt.status != Attempt.Status.MARKED or attempt.mark is None:
        return redirect(attempt)
    address = reverse("labs:story", args=[public_id])
    back = {"href": reverse("labs:debrief", args=[public_id]), "name": "The debrief"}
    return story_page(request, attempt, address=address, back=back, is_own=True)


def _asked(attempt: Attempt) -> dict[str, Any]:
    """Return what a learner has asked about the points of a person, and what they may still ask."""
    outcome = ReviewOutcome.objects.filter(attempt=attempt).first()
    if outcome is None:
        return {}
    outcome.attempt = attempt
    return {
        "lines": regrades.lines_of(outcome, timezone.now()),
        "requests_left": regrades.tokens_left(attempt.learner),
        "closes_at": regrades.closes_at(outcome),
        "points_changes": outcome.changes.all(),
    }

"""The lease of a live attempt: its card, looked at again and again; asked for, extended, cancelled."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from django.http import Http404
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from courseware.people import learner_required
from labs import leases
from labs.room import card_of, room_of
from labs.views.access import attempt_or_404
from labs.views.answers import BUSY, done, take
from labs.views.room_page import room_page

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest, HttpResponseBase

    from labs.models import Attempt, Lease

ANCHOR = "#lease"


@require_GET
@never_cache
@learner_required
def show(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Show the card alone, for a page that looks again; if more moved, the page is told to look at the whole room."""
    attempt = _live_or_404(request, public_id)
    response = render(request, "labs/_lease.html", {"attempt": attempt, "card": card_of(attempt)})
    if request.GET.get("seen") != room_of(attempt).version:
        response["HX-Trigger-After-Swap"] = json.dumps({"sse:moved": {"target": "#look"}})
    return response


@require_POST
@learner_required
def ask(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Ask for an engine; a quota's refusal is shown in the room."""
    attempt = _live_or_404(request, public_id)
    return take(request, attempt, lambda: leases.ask(attempt), ANCHOR)


@require_POST
@learner_required
def extend(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Give the engine more time, or say that there is none."""
    attempt = _live_or_404(request, public_id)
    if leases.extend(_lease_or_404(attempt)):
        return done(request, attempt, ANCHOR)
    problem = (
        "The engine's time was not extended: it does not run any more, or has had every extension."
    )
    return room_page(request, attempt, status=BUSY, problem=problem)


@require_POST
@learner_required
def cancel(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Leave the queue, or stop the engine. If it has just ended, the page shows that."""
    attempt = _live_or_404(request, public_id)
    leases.cancel(_lease_or_404(attempt))
    return done(request, attempt, ANCHOR)


def _live_or_404(request: HttpRequest, public_id: UUID) -> Attempt:
    attempt = attempt_or_404(request, public_id)
    if not attempt.is_live:
        raise Http404
    return attempt


def _lease_or_404(attempt: Attempt) -> Lease:
    lease = leases.of_attempt(attempt)
    if lease is None:
        raise Http404
    return lease

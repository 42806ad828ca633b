"""How an attempt ends: closed and marked, or given up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from courseware.people import learner_required
from labs import attempts
from labs.room import room_of
from labs.views.access import attempt_or_404
from labs.views.answers import BUSY, INVALID, take
from labs.views.room_page import room_page

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest, HttpResponseBase


@require_POST
@learner_required
def finish(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Close the incident and have it marked; without a diagnosis only if one says so."""
    attempt = attempt_or_404(request, public_id)
    found = room_of(attempt)
    lacks = found.state == "open" and not found.under_way and not found.diagnosed
    if lacks and not request.POST.get("undiagnosed"):
        return room_page(request, attempt, status=INVALID, unticked=True)
    return take(request, attempt, lambda: attempts.finish(attempt))


@learner_required
def give_up(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Ask, then end the attempt without a mark."""
    attempt = attempt_or_404(request, public_id)
    context = {"attempt": attempt, "spec": attempt.spec}
    if request.method != "POST":
        return render(request, "labs/give_up.html", context)
    try:
        attempts.give_up(attempt)
    except attempts.Busy:
        context["problem"] = "Something is still running. Cancel it or let it finish, then give up."
        return render(request, "labs/give_up.html", context, status=BUSY)
    messages.info(request, f"Attempt {attempt.number} is given up. It has no mark.")
    return redirect("labs:lab", attempt.lab_slug)

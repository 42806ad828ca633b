"""The room of an attempt: its page, and the parts of it that are drawn anew."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_safe

from courseware.people import learner_required
from labs.forms import (
    DiagnosisForm,
    ExplanationForm,
    FlagsForm,
    PredictionForm,
    diagnosis_initial,
)
from labs.models import Attempt
from labs.room import Room, room_of
from labs.views.access import attempt_or_404

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest, HttpResponseBase


@require_safe
@never_cache
@learner_required
def show(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Show the room of an attempt; a marked one goes to its debrief."""
    attempt = attempt_or_404(request, public_id)
    if attempt.status == Attempt.Status.MARKED:
        return redirect("labs:debrief", public_id)
    return room_page(request, attempt)


@require_GET
@never_cache
@learner_required
def parts(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Answer a page that looks again: 204 if it has seen everything, its progress bar, or the working parts."""
    attempt = attempt_or_404(request, public_id)
    if attempt.status == Attempt.Status.MARKED:
        response = HttpResponse(status=204)
        response["HX-Redirect"] = reverse("labs:debrief", args=[public_id])
        return response
    found = room_of(attempt)
    if request.GET.get("seen") != found.version:
        return room_page(request, attempt)
    if found.under_way is None:
        return HttpResponse(status=204)
    response = render(request, "labs/_under_way.html", {"room": found, "attempt": attempt})
    response["HX-Retarget"] = "#under-way"
    response["HX-Reswap"] = "outerHTML"
    return response


def room_page(
    request: HttpRequest,
    attempt: Attempt,
    *,
    status: int = 200,
    problem: str = "",
    line: str | None = None,
    taken: str = "",
    unticked: bool = False,
    **bound: Any,
) -> HttpResponse:
    """Render the room or its working parts.

    ``unticked`` marks the box that closes without a diagnosis. ``bound`` holds the form that did not validate, ``taken`` names the one that was just stored: both come anew,
    while what stands half-typed in the others stays.
    """
    found = room_of(attempt)
    context: dict[str, Any] = {
        "room": found,
        "attempt": attempt,
        "spec": found.spec,
        "problem": problem,
        "taken": taken,
        "unticked": unticked,
        "line": found.console.refused_line if line is None else line,
        "prediction_form": bound.get("prediction") or PredictionForm(),
        "flags_form": bound.get("flags") or FlagsForm(),
        "diagnosis_form": bound.get("diagnosis") or _diagnosis_form(found),
        "explanation_form": bound.get("explanation") or _explanation_form(found),
    }
    options = context["diagnosis_form"].options
    context["cites"] = [
        {**asdict(each), "field": each.field, "options": options[each.field]}
        for each in found.citable
    ]
    template = "labs/_room.html" if is_htmx(request) else "labs/room.html"
    return render(request, template, context, status=status)


def _diagnosis_form(found: Room) -> DiagnosisForm:
    said = found.log.diagnoses
    initial = diagnosis_initial(said[-1].payload, found.citable) if said else None
    return DiagnosisForm(found.spec, found.citable, initial=initial)


def _explanation_form(found: Room) -> ExplanationForm:
    said = found.log.explanation
    return ExplanationForm(initial={"text": said.payload.get("text", "")} if said else None)


def is_htmx(request: HttpRequest) -> bool:
    return bool(getattr(request, "htmx", False))

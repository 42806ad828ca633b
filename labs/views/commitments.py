"""What a learner commits in the room, free of charge: prediction, beliefs, diagnosis, explanation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.shortcuts import render
from django.views.decorators.http import require_POST

from courseware.people import learner_required
from labs import attempts
from labs.forms import BeliefsForm, DiagnosisForm, ExplanationForm, PredictionForm
from labs.models import Action
from labs.room import room_of
from labs.views.access import attempt_or_404
from labs.views.answers import INVALID, done, take
from labs.views.room_page import is_htmx, room_page

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest, HttpResponseBase

Kind = Action.Kind


@require_POST
@learner_required
def predict(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Commit the prediction; the world is shown from then on."""
    attempt = attempt_or_404(request, public_id)
    form = PredictionForm(request.POST, is_share=room_of(attempt).spec.alarm_is_share)
    if not form.is_valid():
        return room_page(request, attempt, status=INVALID, prediction=form)
    if room_of(attempt).log.prediction is not None:
        return done(request, attempt)
    return take(
        request,
        attempt,
        lambda: attempts.record(attempt, Kind.PREDICT, form.cleaned_data),
        prediction=form,
    )


@require_POST
@learner_required
def believe(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Note how likely the learner holds a hypothesis; the others stay as they are. Free, and never marked."""
    attempt = attempt_or_404(request, public_id)
    form = BeliefsForm(room_of(attempt).beliefs, request.POST)
    if not form.is_valid():
        problem = "A belief is a whole number from 0 to 100; 0 rules out."
        return _whole(room_page(request, attempt, status=INVALID, problem=problem))
    response = take(
        request,
        attempt,
        lambda: attempts.record(attempt, Kind.BELIEFS, form.moved()),
        "#hypotheses",
    )
    if is_htmx(request) and response.status_code == 200:  # noqa: PLR2004
        context = {"room": room_of(attempt), "attempt": attempt}
        return render(request, "labs/_beliefs.html", context)
    return _whole(response)


def _whole(response: HttpResponseBase) -> HttpResponseBase:
    """Have htmx put an answer in place of the whole room, whatever part had asked."""
    response["HX-Retarget"] = "#room"
    response["HX-Reswap"] = "innerHTML"
    response["HX-Reselect"] = "unset"
    return response


@require_POST
@learner_required
def diagnose(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Commit a diagnosis; a later one replaces it."""
    attempt = attempt_or_404(request, public_id)
    found = room_of(attempt)
    form = DiagnosisForm(found.spec, found.citable, request.POST)
    if not form.is_valid():
        return room_page(request, attempt, status=INVALID, diagnosis=form)
    return take(
        request,
        attempt,
        lambda: attempts.record(attempt, Kind.DIAGNOSE, form.payload()),
        "#diagnosis",
        form="diagnosis",
        diagnosis=form,
    )


@require_POST
@learner_required
def explain(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Keep the explanation; a later one replaces it."""
    attempt = attempt_or_404(request, public_id)
    form = ExplanationForm(request.POST)
    if not form.is_valid():
        return room_page(request, attempt, status=INVALID, explanation=form)
    return take(
        request,
        attempt,
        lambda: attempts.record(attempt, Kind.EXPLAIN, form.cleaned_data),
        "#explanation",
        form="explanation",
        explanation=form,
    )

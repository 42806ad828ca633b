"""A learner asks for another look at one item of what was released, or takes the request back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import Http404
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from courseware.people import learner_required, signed_in
from labs import regrades
from labs.models import ReviewOutcome
from labs.regrade_forms import AskForm
from labs.views.access import attempt_or_404

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest, HttpResponse, HttpResponseBase


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@learner_required
def ask(request: HttpRequest, public_id: UUID, item: str) -> HttpResponseBase:
    """Show an item with its points and a form; with POST, ask for another look."""
    attempt = attempt_or_404(request, public_id)
    outcome = ReviewOutcome.objects.filter(attempt=attempt).first()
    if outcome is None or regrades.item_of(attempt, item) is None:
        raise Http404
    outcome.attempt = attempt
    form = AskForm(request.POST if request.method == "POST" else None)
    if not form.is_bound:
        return _page(request, outcome, item, form, refusal=_why_not(outcome, item))
    if not form.is_valid():
        return _page(request, outcome, item, form, refusal=_why_not(outcome, item), status=422)
    try:
        regrades.ask(outcome, item, form.cleaned_data["reason"])
    except regrades.Refused as refused:
        return _page(request, outcome, item, form, refusal=str(refused), status=409)
    messages.success(request, "Asked. Somebody who has not read it yet will look at it.")
    return redirect(_read_by_a_person(attempt.public_id))


@require_POST
@learner_required
def withdraw(request: HttpRequest, public_id: UUID, item: str) -> HttpResponseBase:
    """Take a request back before anybody looks at it."""
    attempt = attempt_or_404(request, public_id)
    found = attempt.regrade_requests.filter(item=item).order_by("-pk").first()
    if found is None:
        raise Http404
    try:
        regrades.withdraw(found)
    except regrades.Refused as refused:
        messages.warning(request, str(refused))
    else:
        messages.success(request, "Withdrawn. You have the request back.")
    return redirect(_read_by_a_person(public_id))


def _why_not(outcome: ReviewOutcome, item: str) -> str:
    return regrades.why_not(outcome, item, timezone.now())


def _read_by_a_person(public_id: UUID) -> str:
    return f"{reverse('labs:debrief', args=[public_id])}#h-read"


def _page(
    request: HttpRequest,
    outcome: ReviewOutcome,
    key: str,
    form: AskForm,
    *,
    refusal: str,
    status: int = 200,
) -> HttpResponse:
    context = {
        "attempt": outcome.attempt,
        "spec": outcome.attempt.spec,
        "item": regrades.item_of(outcome.attempt, key),
        "points": regrades.points_now(outcome, key) or 0,
        "comment": outcome.comment,
        "form": form,
        "refusal": refusal,
        "left": regrades.tokens_left(signed_in(request)),
        "closes_at": regrades.closes_at(outcome),
    }
    return render(request, "labs/regrade_ask.html", context, status=status)

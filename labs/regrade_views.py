"""Requests for another look, for readers: one list, and a desk for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import Http404
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from courseware.people import reader_required, signed_in
from labs import regrades
from labs.models import Action, RegradeRequest, ReviewOutcome
from labs.names import author_of
from labs.readable import is_readable
from labs.reading_rules import rules_of_all
from labs.regrade_forms import AnswerForm
from labs.regrades import Conflict, Standing
from labs.review_desk import desk_of, pseudonym, waited
from labs.review_rows import ALMOST_A_MINUTE, page

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from uuid import UUID

    from django.http import HttpRequest, HttpResponse, HttpResponseBase

    from labs.models import ReadingRules

MOST_SHOWN = 50
OWNERS = {"free": "free", "yours": "yours", "taken": "held by others"}
"""What the list may be narrowed to: a request's standing, and the word for it."""


@never_cache
@require_safe
@reader_required
def index(request: HttpRequest) -> HttpResponseBase:
    """Show what waits for an answer, the oldest first, with its owner; and what was answered."""
    return _index(request)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@reader_required
def desk(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Show a request with the attempt that it is about; with POST, answer it, keep it, or hand it back."""
    reader, found = signed_in(request), _request_or_404(request, public_id)
    if request.method != "POST":
        return _desk(request, found)
    outcome = ReviewOutcome.objects.select_related("attempt").get(attempt=found.attempt_id)
    item = regrades.item_of(outcome.attempt, found.item)
    form = AnswerForm(item, regrades.points_now(outcome, found.item), request.POST)
    try:
        if request.POST.get("do") == "hand-back":
            regrades.hand_back(found, reader)
            messages.success(request, "It is back in the list.")
            return redirect("labs:regrades")
        if request.POST.get("do") == "claim":
            regrades.claim(found, reader)
        if not form.is_valid():
            return _desk(request, _request_or_404(request, public_id), form=form, status=422)
        said = form.cleaned_data
        status = regrades.answer(
            found, reader, points=said["points"], reason=said["reason"], version=said["version"]
        )
    except Conflict as conflict:
        return _desk(request, conflict.request, form=form, conflict=True, status=409)
    upheld = status == RegradeRequest.Status.UPHELD
    messages.success(
        request,
        "Upheld: the new points count, and the learner reads why."
        if upheld
        else "Declined: the points stay, and the learner reads why.",
    )
    return redirect("labs:regrades")


@require_POST
@reader_required
def claim(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Take a request for half an hour; the list says so if somebody was faster."""
    found = _request_or_404(request, public_id)
    try:
        regrades.claim(found, signed_in(request))
    except Conflict as conflict:
        return _index(request, conflict=conflict.request, status=409)
    return redirect("labs:regrade", public_id)


def _request_or_404(request: HttpRequest, public_id: UUID) -> RegradeRequest:
    """Return a request; about one's own attempt, or one that one has read, it is a 404."""
    found = regrades.open_to(signed_in(request)).filter(public_id=public_id).first()
    if found is None or not is_readable(found.attempt):
        raise Http404
    return found


def _row(
    found: RegradeRequest, request: HttpRequest, rules: Mapping[str, ReadingRules] | None = None
) -> dict[str, object]:
    reader, now = signed_in(request), timezone.now()
    left = found.lease_until - now if found.lease_until else None
    return {
        "request": found,
        "name": pseudonym(found.attempt.public_id),
        "author": author_of(
            found.attempt, reader, rules[found.attempt.lab_slug] if rules else None
        ),
        "lab": found.attempt.spec.title,
        "waited": waited(now - found.asked_at),
        "standing": regrades.standing(found, reader, now),
        "left": waited(left + ALMOST_A_MINUTE) if left and left.total_seconds() > 0 else "",
    }


def _readable(found: Iterable[RegradeRequest]) -> list[RegradeRequest]:
    return [each for each in found if is_readable(each.attempt)]


def _index(
    request: HttpRequest, *, conflict: RegradeRequest | None = None, status: int = 200
) -> HttpResponse:
    reader = signed_in(request)
    waiting = _readable(regrades.waiting(reader))
    answered = _readable(regrades.answered(reader)[:MOST_SHOWN])
    rules = rules_of_all(each.attempt.lab_slug for each in (*waiting, *answered))
    rows = [_row(each, request, rules) for each in waiting]
    whose = request.GET.get("whose", "")
    shown = [row for row in rows if row["standing"] == whose] if whose in OWNERS else rows
    context = {
        "rows": shown[:MOST_SHOWN],
        "more": len(shown) > MOST_SHOWN,
        "of": len(rows),
        "whose": whose,
        "owners": OWNERS.items(),
        "answered": [_row(each, request, rules) for each in answered],
        "conflict": conflict and _row(conflict, request),
    }
    return page(request, "labs/regrades.html", context, status)


def _desk(
    request: HttpRequest,
    found: RegradeRequest,
    *,
    form: AnswerForm | None = None,
    conflict: bool = False,
    status: int = 200,
) -> HttpResponse:
    outcome = ReviewOutcome.objects.select_related("attempt").get(attempt=found.attempt_id)
    attempt = found.attempt
    item, points = (
        regrades.item_of(attempt, found.item),
        regrades.points_now(outcome, found.item),
    )
    row = _row(found, request)
    if form is None and row["standing"] == Standing.YOURS:
        form = AnswerForm(item, points, initial={"version": outcome.version})
    context = {
        "row": row,
        "found": found,
        "spec": attempt.spec,
        "item": item,
        "points": points,
        "comment": outcome.comment,
        "changes": outcome.changes.filter(item=found.item),
        "form": form,
        "version": outcome.version,
        "conflict": conflict,
        "review": attempt.reviews.order_by("reading").first(),
        "desk": desk_of(
            attempt.spec, list(attempt.actions.filter(status=Action.Status.DONE)), attempt.mark
        ),
    }
    return page(request, "labs/regrade.html", context, status)

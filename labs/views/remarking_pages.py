"""Rounds of marking anew, for instructors: asked for, looked at, applied, undone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.db.models import Count
from django.http import Http404
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from courseware.people import instructor_required, signed_in
from labs import mark_diff, remarking
from labs.catalogue import labs
from labs.models import Remarking
from labs.remarking_forms import ApplyForm, AskForm

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest, HttpResponse, HttpResponseBase

    from labs.models import Attempt, PlannedMark

MOST_ROWS = 100
MOST_ROUNDS = 30
Status = Remarking.Status


@dataclass(frozen=True)
class Row:
    """One mark that a round would change, or has changed."""

    learner: str
    lab: str
    attempt: Attempt
    before: str
    after: str
    change: str
    parts: tuple[str, ...]


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@instructor_required
def index(request: HttpRequest) -> HttpResponseBase:
    """Show the rounds and a form that asks for another; a round that is asked for has its own page."""
    counted = remarking.attempts_at(list(labs())).values("lab_slug").annotate(n=Count("pk"))
    stored = {row["lab_slug"]: row["n"] for row in counted}
    form = AskForm(stored, request.POST or None)
    if request.method == "POST" and form.is_valid():
        found = remarking.ask(
            form.cleaned_data["labs"],
            by=signed_in(request),
            simulate=form.cleaned_data["simulate"],
        )
        return redirect("labs:remarking", found.public_id)
    context = {
        "form": form,
        "stored": stored,
        "rounds": Remarking.objects.select_related("by").order_by("-pk")[:MOST_ROUNDS],
    }
    return render(request, "labs/remarkings.html", context, status=422 if form.is_bound else 200)


@never_cache
@require_safe
@instructor_required
def show(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Show a round: how far it is, what it moves, and what may be done with it. For htmx, only what changes."""
    found = _round_or_404(public_id)
    if request.headers.get("HX-Request") == "true":
        return render(request, "labs/_remarking.html", _context(found))
    return _page(request, found)


@require_POST
@instructor_required
def apply(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Write what a round found."""
    found, form = _round_or_404(public_id), ApplyForm(request.POST)
    if not form.is_valid():
        return _page(request, found, form, status=422)
    try:
        begun = remarking.apply(found, by=signed_in(request), reason=form.cleaned_data["reason"])
    except remarking.Busy:
        form.add_error("reason", "Another round is writing marks. Apply this one when it is over.")
        return _page(request, found, form, status=409)
    if not begun:
        messages.warning(request, "Nothing was written: this round is not ready any more.")
    return redirect("labs:remarking", public_id)


@require_POST
@instructor_required
def undo(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Take back what a round wrote."""
    try:
        begun = remarking.undo(_round_or_404(public_id))
    except remarking.Busy:
        messages.warning(request, "Another round is writing marks. Undo this one when it is over.")
        return redirect("labs:remarking", public_id)
    if not begun:
        messages.warning(request, "Nothing was taken back: this round is not applied any more.")
    return redirect("labs:remarking", public_id)


@require_POST
@instructor_required
def cancel(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """End a round before it writes anything."""
    if not remarking.cancel(_round_or_404(public_id)):
        messages.warning(
            request, "Nothing was cancelled: this round writes marks already, or is over."
        )
    return redirect("labs:remarking", public_id)


# ----------------------------------------------------------------------------------------- the page


def _round_or_404(public_id: UUID) -> Remarking:
    found = Remarking.objects.select_related("by").filter(public_id=public_id).first()
    if found is None:
        raise Http404
    return found


def _page(
    request: HttpRequest, found: Remarking, form: ApplyForm | None = None, status: int = 200
) -> HttpResponse:
    return render(request, "labs/remarking.html", _context(found, form), status=status)


def _context(found: Remarking, form: ApplyForm | None = None) -> dict[str, Any]:
    before = remarking.before_of(found)
    planned = list(found.planned.select_related("attempt__learner"))
    if found.status in remarking.WRITTEN:
        planned = [each for each in planned if each.attempt_id in before]
    rows = sorted(planned, key=lambda each: -abs(_change(each, before)))
    summary = remarking.summary_of(found)
    return {
        "round": found,
        "labs": [labs()[slug].title for slug in found.labs if slug in labs()],
        "done": remarking.share_done(found),
        "summary": summary,
        "lowest": mark_diff.signed(summary.lowest),
        "highest": mark_diff.signed(summary.highest),
        "rows": [_row(each, before) for each in rows[:MOST_ROWS]],
        "more": max(0, len(rows) - MOST_ROWS),
        "faults": found.faults,
        "form": form or ApplyForm(),
    }


def _change(planned: PlannedMark, before: dict[int, dict[str, Any]]) -> float:
    was = (before.get(planned.attempt_id) or planned.attempt.mark or {}).get("total")
    return float(planned.total or 0) - float(was or 0)


def _row(planned: PlannedMark, before: dict[int, dict[str, Any]]) -> Row:
    attempt = planned.attempt
    was = before.get(planned.attempt_id) or attempt.mark or {}
    change = _change(planned, before)
    return Row(
        learner=str(attempt.learner),
        lab=attempt.spec.title,
        attempt=attempt,
        before=_points(was.get("total")),
        after=_points(planned.total),
        change=mark_diff.signed(change) if change else "0",
        parts=tuple(
            f"{each.part} {_points(each.before)} → {_points(each.after)}"
            for each in mark_diff.moved_parts(was, planned.mark)
        ),
    )


def _points(points: Any) -> str:
    return "–" if points is None else f"{float(points):g}"

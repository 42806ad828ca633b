"""The grader's desk: fetch, validate, call one function of the workflow, choose the page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import Http404
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from courseware.people import grader_required, may_author, signed_in
from labs import reviews
from labs.models import Action
from labs.review_desk import desk_of, pseudonym, waited
from labs.review_forms import ReviewForm
from labs.reviews import Conflict, Standing, Undecided

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest, HttpResponse, HttpResponseBase

    from courseware.models import User
    from labs.models import Review
    from labs.reviews import ShownReview

MOST_ROWS = 50
"""The queue shows its oldest; the rest is counted."""
ALMOST_A_MINUTE = timedelta(seconds=59)
"""Added to what is left of a lease, so that it is rounded up: the last minute reads "1 min"."""
OWN = (Standing.YOURS, Standing.OVER)


@dataclass(frozen=True)
class Row:
    """One review in the queue, as one grader sees it."""

    review: Review
    name: str
    lab: str
    waited: str
    standing: Standing
    left: str
    shown: ShownReview | None = None


# ------------------------------------------------------------------------------------------ queue


@never_cache
@require_safe
@grader_required
def queue(request: HttpRequest) -> HttpResponseBase:
    """Show what waits to be read, and what was released today."""
    return _queue_page(request)


@require_POST
@grader_required
def claim(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Take a review for half an hour; the queue says so if another grader was faster."""
    review = _review_or_404(request, public_id)
    try:
        reviews.claim(review, signed_in(request))
    except Conflict as conflict:
        return _queue_page(request, conflict=conflict, status=409)
    return redirect("labs:review", public_id)


def _queue_page(
    request: HttpRequest, *, conflict: Conflict | None = None, status: int = 200
) -> HttpResponse:
    grader, now = signed_in(request), timezone.now()
    midnight = timezone.localtime(now).replace(hour=0, minute=0, second=0, microsecond=0)
    released = [_row(each, grader, now) for each in reviews.released_since(grader, midnight)]
    listed = _queue(grader, now)
    # What one has begun comes first, then the oldest that is free.
    order = sorted(listed["rows"], key=lambda row: row.standing not in OWN)
    following = next((row for row in order if row.standing != Standing.TAKEN), None)
    context = {
        **listed,
        "next_pk": following.review.pk if following else None,
        "released": released,
        "midnight": midnight,
        "may_author": may_author(grader),
        "conflict": _row(conflict.review, grader, now) if conflict else None,
    }
    return _page(request, "labs/review_queue.html", context, status)


def _queue(grader: User, now: datetime) -> dict[str, Any]:
    waiting = reviews.waiting(grader)
    rows = [_row(each, grader, now) for each in waiting[:MOST_ROWS]]
    count = len(rows) if len(rows) < MOST_ROWS else waiting.count()
    return {"rows": rows, "count": count, "more": count - len(rows)}


def _row(review: Review, grader: User, now: datetime) -> Row:
    left = review.lease_until - now if review.lease_until else None
    return Row(
        review=review,
        name=pseudonym(review.attempt.public_id),
        lab=review.attempt.spec.title,
        waited=waited(now - review.created_at),
        standing=reviews.standing(review, grader, now),
        left=waited(left + ALMOST_A_MINUTE) if left else "",
        shown=reviews.shown_to_learner(review),
    )


# ------------------------------------------------------------------------------------------- desk


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@grader_required
def desk(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Show an attempt and its rubric; with POST, save, keep, hand back, or go on to the release."""
    review = _review_or_404(request, public_id)
    if request.method == "POST":
        return _work(request, review)
    form = None
    if reviews.standing(review, signed_in(request)) in OWN:
        form = _draft(review)
    return _desk_page(request, review, form=form)


def _work(request: HttpRequest, review: Review) -> HttpResponseBase:
    """Do what one of the form's buttons says. Whatever refuses it, what was typed comes back with the page."""
    grader, do = signed_in(request), request.POST.get("do", "save")
    form = ReviewForm(review.attempt.spec.rubric, request.POST)
    is_valid = form.is_valid()
    try:
        if do == "claim":
            reviews.claim(review, grader)
        if do == "extend":
            reviews.extend(review, grader)
        if not is_valid:
            return _desk_page(request, _again(request, review), form=form, status=422)
        draft = {
            "version": form.cleaned_data["version"],
            "points": form.points(),
            "comment": form.cleaned_data["comment"],
        }
        if do == "hand-back":
            reviews.hand_back(review, grader, **draft)
            name = pseudonym(review.attempt.public_id)
            messages.success(request, f"{name} is back in the queue, and the draft with it.")
            return redirect("labs:review-queue")
        version = reviews.save(review, grader, **draft)
    except Conflict as conflict:
        return _desk_page(request, conflict.review, form=form, conflict=True, status=409)
    if do != "release":
        messages.success(request, "Saved. Yours for another 30 minutes.")
        address = reverse("labs:review", args=[review.attempt.public_id])
        # Whoever saved in the rubric stays there; on a phone it is far below the head.
        return redirect(address if do == "extend" else f"{address}#rubric")
    places = [place for place, points in enumerate(form.points()) if points is None]
    if places:
        form.ask_to_decide(places)
        return _desk_page(
            request,
            _again(request, review),
            form=form,
            version=version,
            undecided=len(places),
            status=422,
        )
    return redirect("labs:review-release", review.attempt.public_id)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@grader_required
def release(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Show what the learner will see and ask once more; with POST, release it."""
    review, grader = _review_or_404(request, public_id), signed_in(request)
    if request.method == "POST":
        return _release(request, review)
    points = reviews.points_of(review)
    if reviews.standing(review, grader) not in OWN or None in points:
        return redirect("labs:review", public_id)
    rubric = review.attempt.spec.rubric
    context = {
        "review": review,
        "name": pseudonym(public_id),
        "spec": review.attempt.spec,
        "items": list(zip(rubric, points, strict=True)),
        "total": reviews.total_of(points),
        "of": sum(item.points for item in rubric),
    }
    return render(request, "labs/review_release.html", context)


def _release(request: HttpRequest, review: Review) -> HttpResponseBase:
    grader = signed_in(request)
    sent = request.POST.get("version", "")
    version = int(sent) if sent.isascii() and sent.isdecimal() else -1
    try:
        done = reviews.release(review, grader, version=version)
    except (Conflict, Undecided) as refused:
        now = _again(request, review)
        form = _draft(now) if reviews.standing(now, grader) in OWN else None
        if form is not None and isinstance(refused, Undecided):
            form = ReviewForm(now.attempt.spec.rubric, {"version": now.version, **form.initial})
            form.is_valid()
            form.ask_to_decide(refused.places)
        return _desk_page(request, now, form=form, unreleased=True, status=409)
    if done:
        name = pseudonym(review.attempt.public_id)
        messages.success(request, f"{name} is released: its learner sees your points and comment.")
    return redirect("labs:review-queue")


# ------------------------------------------------------------------------------------------ pieces


def _page(
    request: HttpRequest, template: str, context: dict[str, Any], status: int
) -> HttpResponse:
    """Answer with a page that says what was just done where the grader works, not in the site's frame."""
    told = [str(message) for message in messages.get_messages(request)]
    return render(request, template, {**context, "told": told, "messages": ()}, status=status)


def _review_or_404(request: HttpRequest, public_id: UUID) -> Review:
    """Return the review of an attempt. One's own attempt is a 404, as one that was never marked."""
    found = reviews.open_to(signed_in(request)).filter(attempt__public_id=public_id).first()
    if found is None:
        raise Http404
    return found


def _again(request: HttpRequest, review: Review) -> Review:
    return _review_or_404(request, review.attempt.public_id)


def _draft(review: Review) -> ReviewForm:
    rubric, points = review.attempt.spec.rubric, reviews.points_of(review)
    return ReviewForm.of_draft(rubric, points, review.comment, review.version)


def _desk_page(
    request: HttpRequest,
    review: Review,
    *,
    form: ReviewForm | None,
    version: int | None = None,
    conflict: bool = False,
    undecided: int = 0,
    unreleased: bool = False,
    status: int = 200,
) -> HttpResponse:
    """Answer with the desk. ``form`` holds a draft or what was typed; without it the rubric is only shown."""
    grader, now = signed_in(request), timezone.now()
    attempt, spec = review.attempt, review.attempt.spec
    row = _row(review, grader, now)
    if version is None:
        version = review.version
        # What was typed may replace a newer draft only once the page has shown that one beside it.
        if form is not None and form.is_bound and not (conflict and row.standing in OWN):
            version = form.cleaned_data.get("version", 0)
    log = list(attempt.actions.filter(status=Action.Status.DONE))
    stored = reviews.points_of(review)
    left_s = int((review.lease_until - now).total_seconds()) if review.lease_until else 0
    context = {
        **_queue(grader, now),
        "review": review,
        "row": row,
        "spec": spec,
        "desk": desk_of(spec, log, attempt.mark),
        "form": form,
        "version": version,
        "sum": reviews.total_of(form.sent()) if form else 0,
        "of": sum(item.points for item in spec.rubric),
        "left_s": max(0, left_s),
        "lease_s": int(reviews.LEASE.total_seconds()),
        "since": review.lease_until - reviews.LEASE if review.lease_until else None,
        "conflict": conflict,
        "undecided": undecided,
        "unreleased": unreleased,
        "stored": list(zip(spec.rubric, stored, strict=True)),
        "stored_total": reviews.total_of(stored),
        "most_characters": reviews.MOST_COMMENT_CHARACTERS,
    }
    return _page(request, "labs/review.html", context, status)

"""The grader's desk: fetch, validate, call one function of the workflow, choose the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from courseware.people import may_author, reader_required, signed_in
from labs import outcomes, queue_views, review_queue, reviews
from labs.models import Action
from labs.reading_rules import rules_of
from labs.review_desk import desk_of, pseudonym
from labs.review_forms import ReviewForm, SkipForm
from labs.review_points import points_of, total_of
from labs.review_rows import OWN, page, queue_of, review_or_404, row_of
from labs.reviews import Conflict, Standing, Undecided

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest, HttpResponse, HttpResponseBase

    from labs.models import Review
    from labs.review_points import Points


# ------------------------------------------------------------------------------------------- desk


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@reader_required
def desk(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Show an attempt and its rubric; with POST, save, keep, hand back, or go on to the release."""
    review = review_or_404(request, public_id)
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
        if do == "skip" and _is_stored(review, **draft):
            # Nothing was typed: the next reader is not told of a draft.
            reviews.extend(review, grader)
            return redirect("labs:review-skip", review.public_id)
        version = reviews.save(review, grader, **draft)
    except Conflict as conflict:
        return _desk_page(request, conflict.review, form=form, conflict=True, status=409)
    return _saved(request, review, form, do=do, version=version)


def _saved(
    request: HttpRequest, review: Review, form: ReviewForm, *, do: str, version: int
) -> HttpResponseBase:
    """Go where a button leads once the draft is stored."""
    if do == "next":
        return queue_views.go_on(request)
    if do == "skip":
        return redirect("labs:review-skip", review.public_id)
    if do != "release":
        messages.success(request, "Saved. Yours for another 30 minutes.")
        address = reverse("labs:review", args=[review.public_id])
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
    return redirect("labs:review-release", review.public_id)


@require_POST
@reader_required
def keep(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Renew the claim of a grader who is at work on the page; answer with what is left of it, or who has it now."""
    review, lost = review_or_404(request, public_id), False
    try:
        reviews.extend(review, signed_in(request))
    except Conflict:
        lost = True
    now = _again(request, review)
    return render(request, "labs/_review_lease.html", {**_lease(request, now), "lost": lost})


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@reader_required
def skip(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Ask why; with POST, put the review back and never give it to this grader again."""
    review, grader = review_or_404(request, public_id), signed_in(request)
    form = SkipForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            review_queue.skip(review, grader, reason=form.cleaned_data["reason"])
        except Conflict as conflict:
            return _desk_page(request, conflict.review, form=None, unskipped=True, status=409)
        name = pseudonym(review.attempt.public_id)
        messages.success(
            request, f"{name} is back in the queue. Next gives it to others, not to you."
        )
        return redirect("labs:review-queue")
    if request.method != "POST" and reviews.standing(review, grader) not in OWN:
        return redirect("labs:review", public_id)
    context = {
        "review": review,
        "name": pseudonym(review.attempt.public_id),
        "spec": review.attempt.spec,
    }
    status = 422 if form.is_bound else 200
    return page(request, "labs/review_skip.html", {**context, "form": form}, status)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@reader_required
def release(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Show what the learner will see and ask once more; with POST, release it."""
    review, grader = review_or_404(request, public_id), signed_in(request)
    if request.method == "POST":
        return _release(request, review)
    points = points_of(review)
    if reviews.standing(review, grader) not in OWN or None in points:
        return redirect("labs:review", public_id)
    rubric = review.attempt.spec.rubric
    context = {
        "review": review,
        "now": timezone.now(),
        "name": pseudonym(review.attempt.public_id),
        "spec": review.attempt.spec,
        "items": list(zip(rubric, points, strict=True)),
        "total": total_of(points),
        "of": sum(item.points for item in rubric),
        "rules": rules_of(review.attempt.lab_slug),
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
        messages.success(request, _what_follows(review))
    if request.POST.get("then") == "next":
        return queue_views.go_on(request)
    return redirect("labs:review-queue")


def _what_follows(review: Review) -> str:
    """Return what a release leads to, in a sentence."""
    name = pseudonym(review.attempt.public_id)
    match outcomes.open_readings([review.attempt_id]).get(review.attempt_id):
        case reviews.SECOND:
            return f"{name} is released. It was drawn for a second reading: its learner sees the points after that."
        case reviews.THIRD:
            return f"{name} is released. The two readings lie far apart: a third reader decides, then its learner sees it."
    if review.reading == reviews.SECOND:
        return f"{name} is released: its learner sees the mean of two readings, and both comments."
    return f"{name} is released: its learner sees your points and comment."


# ------------------------------------------------------------------------------------------ pieces


def _again(request: HttpRequest, review: Review) -> Review:
    return review_or_404(request, review.public_id)


def _is_stored(review: Review, *, version: int, points: Points, comment: str) -> bool:
    return (review.version, points_of(review), review.comment) == (version, points, comment)


def _lease(request: HttpRequest, review: Review) -> dict[str, Any]:
    """Return what the head of the desk says of the claim."""
    grader, now = signed_in(request), timezone.now()
    left_s = int((review.lease_until - now).total_seconds()) if review.lease_until else 0
    row = row_of(review, grader, now)
    is_returned = row.standing == Standing.FREE
    return {
        "review": review,
        "row": row,
        "is_own": row.standing in OWN,
        "left_s": max(0, left_s),
        "lease_s": int(reviews.LEASE.total_seconds()),
        "returned": review_queue.last_return(review) if is_returned else None,
    }


def _draft(review: Review) -> ReviewForm:
    rubric, points = review.attempt.spec.rubric, points_of(review)
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
    unskipped: bool = False,
    status: int = 200,
) -> HttpResponse:
    """Answer with the desk. ``form`` holds a draft or what was typed; without it the rubric is only shown."""
    grader, now = signed_in(request), timezone.now()
    attempt, spec = review.attempt, review.attempt.spec
    lease = _lease(request, review)
    if version is None:
        version = review.version
        # What was typed may replace a newer draft only once the page has shown that one beside it.
        if form is not None and form.is_bound and not (conflict and lease["is_own"]):
            version = form.cleaned_data.get("version", 0)
    log = list(attempt.actions.filter(status=Action.Status.DONE))
    stored = points_of(review)
    earlier = reviews.earlier_readings(review)
    context = {
        **queue_of(grader, now),
        **lease,
        "now": now,
        "spec": spec,
        "desk": desk_of(spec, log, attempt.mark),
        "form": form,
        "version": version,
        "sum": total_of(form.sent()) if form else 0,
        "of": sum(item.points for item in spec.rubric),
        "since": review.lease_until - reviews.LEASE if review.lease_until else None,
        "conflict": conflict,
        "undecided": undecided,
        "unreleased": unreleased,
        "unskipped": unskipped,
        "stored": list(zip(spec.rubric, stored, strict=True)),
        "earlier": earlier,
        "may_author": may_author(grader),
        "side_by_side": list(zip(spec.rubric, *map(points_of, earlier), strict=True)),
        "stored_total": total_of(stored),
        "most_characters": reviews.MOST_COMMENT_CHARACTERS,
    }
    return page(request, "labs/review.html", context, status)

"""The grader's desk: fetch, validate, call one function of the workflow, choose the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from courseware.people import reader_required, signed_in
from labs import outcomes, queue_views, review_queue, review_records, reviews
from labs.desk_page import (
    desk_page,
    draft_now,
    is_current,
    lease,
    moved_over,
    outdated,
    posted,
    rubric_shown,
    stored_form,
    undecided_form,
)
from labs.reading_rules import rules_of
from labs.review_desk import pseudonym
from labs.review_forms import MOST_COUNTED, SkipForm
from labs.review_points import points_of, total_of
from labs.review_rows import OWN, page, review_or_404
from labs.reviews import Conflict, RubricChanged, Undecided

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest, HttpResponseBase

    from labs.models import Review
    from labs.review_forms import ReviewForm
    from labs.rubric_editions import Edition


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
        form = stored_form(review)
    return desk_page(request, review, form=form)


def _work(request: HttpRequest, review: Review) -> HttpResponseBase:
    """Do what one of the form's buttons says. Whatever refuses it, what was typed comes back with the page."""
    grader, do = signed_in(request), request.POST.get("do", "save")
    form = posted(review, request.POST)
    is_valid = form.is_valid()
    try:
        if do == "claim":
            reviews.claim(review, grader)
        if do == "extend":
            reviews.extend(review, grader)
        if (old := outdated(review, form)) is not None:
            return _rubric_changed(request, review, old)
        if not is_valid:
            return desk_page(request, _again(request, review), form=form, status=422)
        draft, version = form.draft(), form.cleaned_data["version"]
        if do == "hand-back":
            reviews.hand_back(review, grader, draft, version=version)
            name = pseudonym(review.attempt.public_id)
            messages.success(request, f"{name} is back in the queue, and the draft with it.")
            return redirect("labs:review-queue")
        if do == "skip" and (review.version, draft_now(review)) == (version, draft):
            # Nothing was typed: the next reader is not told of a draft.
            reviews.extend(review, grader)
            return redirect("labs:review-skip", review.public_id)
        version = reviews.save(review, grader, draft, version=version)
    except Conflict as conflict:
        if is_valid:
            review_records.keep(conflict.review, grader, form.draft())
        return desk_page(request, conflict.review, form=form, conflict=True, status=409)
    return _saved(request, review, form, do=do, version=version)


def _rubric_changed(request: HttpRequest, review: Review, old: Edition) -> HttpResponseBase:
    """Answer a page that showed an earlier rubric: with the one that stands, and all that was typed."""
    now = _again(request, review)
    form = moved_over(now, request.POST)
    form.is_valid()
    is_own = reviews.standing(now, signed_in(request)) in OWN
    return desk_page(
        request,
        now,
        form=form,
        conflict=not is_own,
        changed_from=old,
        typed=request.POST,
        status=409,
    )


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
    keys = [key for key, points in form.draft().points.items() if points is None]
    if keys:
        form.ask_to_decide(keys)
        return desk_page(
            request,
            _again(request, review),
            form=form,
            version=version,
            undecided=len(keys),
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
    return render(request, "labs/_review_lease.html", {**lease(request, now), "lost": lost})


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
            return desk_page(request, conflict.review, form=None, unskipped=True, status=409)
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
    points, rubric = points_of(review), rubric_shown(review.attempt)
    is_ready = None not in points.values() and is_current(review)
    if reviews.standing(review, grader) not in OWN or not is_ready:
        return redirect("labs:review", public_id)
    context = {
        "review": review,
        "now": timezone.now(),
        "name": pseudonym(review.attempt.public_id),
        "spec": review.attempt.spec,
        "items": [(item, points[item.key]) for item in rubric.items],
        "total": total_of(points),
        "of": rubric.most,
        "rules": rules_of(review.attempt.lab_slug),
    }
    return page(request, "labs/review_release.html", context)


def _release(request: HttpRequest, review: Review) -> HttpResponseBase:
    grader = signed_in(request)
    sent = request.POST.get("version", "")
    is_number = sent.isascii() and sent.isdecimal() and len(sent) <= len(str(MOST_COUNTED))
    version = int(sent) if is_number else -1
    try:
        done = reviews.release(review, grader, version=version)
    except (Conflict, RubricChanged, Undecided) as refused:
        now = _again(request, review)
        form = stored_form(now) if reviews.standing(now, grader) in OWN else None
        if form is not None and isinstance(refused, Undecided):
            form = undecided_form(now, refused.keys)
        return desk_page(request, now, form=form, unreleased=True, status=409)
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

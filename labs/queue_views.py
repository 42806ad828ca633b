"""The grader's queue: what waits, the next one, and what instructors take back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from courseware.people import (
    instructor_required,
    may_author,
    may_review,
    reader_required,
    signed_in,
)
from labs import regrades, review_queue, reviews, training
from labs.catalogue import labs
from labs.models import GraderSettings
from labs.names import sees_names
from labs.reading_rules import EVERY_LAB, newest
from labs.review_desk import pseudonym
from labs.review_forms import FreeForm
from labs.review_rows import OWN, page, queue_of, review_or_404, row_of, rows_of
from labs.reviews import Conflict, Standing

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from django.http import HttpRequest, HttpResponse, HttpResponseBase

    from courseware.models import User
    from labs.models import Review


@never_cache
@require_safe
@reader_required
def queue(request: HttpRequest) -> HttpResponseBase:
    """Show what waits to be read, and what was released today."""
    return _queue_page(request)


@require_POST
@reader_required
def claim(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Take a review for half an hour; the queue says so if another grader was faster."""
    review = review_or_404(request, public_id)
    try:
        reviews.claim(review, signed_in(request))
    except Conflict as conflict:
        return _queue_page(request, conflict=conflict, status=409)
    return redirect("labs:review", public_id)


@require_POST
@reader_required
def following(request: HttpRequest) -> HttpResponseBase:
    """Claim the next free review and open it."""
    return go_on(request)


def go_on(request: HttpRequest) -> HttpResponseBase:
    """Open the next free review, or the queue with the reason why there is none."""
    try:
        review = review_queue.take_next(signed_in(request), asked_from=_asked_from(request))
    except review_queue.HoldsEnough:
        most = review_queue.MOST_HELD
        messages.warning(
            request,
            f"You hold {most} already. Release one, hand it back or skip it: then Next gives you another.",
        )
        return redirect("labs:review-queue")
    if review is None:
        messages.info(
            request, "Nothing is free for you now: others hold the rest, or you have skipped it."
        )
        return redirect("labs:review-queue")
    return redirect("labs:review", review.public_id)


@require_POST
@reader_required
def order(request: HttpRequest) -> HttpResponseBase:
    """Store in which order Next hands reviews out; an order that there is not changes nothing."""
    wanted = request.POST.get("order", "")
    if wanted in GraderSettings.Order.values:
        review_queue.set_order(signed_in(request), wanted)
    return redirect("labs:review-queue")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@instructor_required
def free(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Ask why a review is taken from its holder; with POST, take it."""
    review, instructor, now = (
        review_or_404(request, public_id),
        signed_in(request),
        timezone.now(),
    )
    if request.method == "POST":
        return _free(request, review)
    if reviews.standing(review, instructor, now) != Standing.TAKEN:
        return redirect("labs:review-queue")
    return _free_page(request, review, FreeForm(initial={"holder": review.claimed_by_id}))


def _free(request: HttpRequest, review: Review) -> HttpResponseBase:
    form = FreeForm(request.POST)
    if not form.is_valid():
        return _free_page(request, review, form, status=422)
    said = form.cleaned_data
    try:
        review_queue.free(
            review, signed_in(request), holder_pk=said["holder"], reason=said["reason"]
        )
    except Conflict as conflict:
        return _queue_page(request, conflict=conflict, status=409)
    name = pseudonym(review.attempt.public_id)
    messages.success(request, f"{name} is free again. Its holder is told why when they save.")
    return redirect("labs:review-queue")


# ------------------------------------------------------------------------------------------ pieces


def _asked_from(request: HttpRequest) -> datetime | None:
    """Return when the page with the button was made, if it says so."""
    try:
        moment = parse_datetime(request.POST.get("asked_from", ""))
    except ValueError:
        return None
    return moment if moment is not None and timezone.is_aware(moment) else None


def _free_page(
    request: HttpRequest, review: Review, form: FreeForm, status: int = 200
) -> HttpResponse:
    row = row_of(review, signed_in(request), timezone.now())
    context = {"row": row, "review": review, "spec": review.attempt.spec, "form": form}
    return page(request, "labs/review_free.html", context, status)


def _to_train(grader: User) -> list[dict[str, Any]]:
    """Return the labs that ask a grader to train first, how far they are, and how much waits there."""
    untrained = training.untrained_labs(grader)
    return [
        {
            "spec": spec,
            "progress": training.progress(grader, slug),
            "waiting": reviews.waiting_untrained(grader, slug).count(),
        }
        for slug, spec in labs().items()
        if slug in untrained
    ]


def _queue_page(
    request: HttpRequest, *, conflict: Conflict | None = None, status: int = 200
) -> HttpResponse:
    grader, now = signed_in(request), timezone.now()
    midnight = timezone.localtime(now).replace(hour=0, minute=0, second=0, microsecond=0)
    listed, everywhere = queue_of(grader, now), newest(EVERY_LAB)
    context = {
        **listed,
        "now": now,
        "order": review_queue.settings_of(grader).order,
        "has_begun": any(row.standing in OWN for row in listed["rows"]),
        "released": rows_of(list(reviews.released_since(grader, midnight)), grader, now),
        "midnight": midnight,
        "may_author": may_author(grader),
        "to_train": _to_train(grader),
        "regrades": regrades.waiting(grader).count(),
        "reads_everybody": may_review(grader),
        "sees_names": sees_names(grader, everywhere),
        "readers_named": everywhere.learners_see_readers,
        "conflict": row_of(conflict.review, grader, now) if conflict else None,
    }
    return page(request, "labs/review_queue.html", context, status)

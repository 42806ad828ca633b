"""What the queue's page and the desk have in common: reviews as rows, the form with a draft, and the frame of a page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.db.models import Q
from django.http import Http404
from django.shortcuts import render

from courseware.people import may_author, signed_in
from labs import outcomes, review_keys, review_queue, reviews
from labs.names import author_of
from labs.readable import is_readable
from labs.reading_rules import rules_of_all
from labs.review_desk import pseudonym, waited
from labs.review_points import points_of, total_of
from labs.reviews import Standing
from labs.rubric_editions import currents
from labs.training import untrained_labs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from django.http import HttpRequest, HttpResponse

    from courseware.models import User
    from labs.models import ReadingRules, Review
    from labs.rubric_editions import Edition

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
    author: str
    """Who wrote it; empty for whoever is not told."""
    lab: str
    waited: str
    standing: Standing
    left: str
    skips: int = 0
    """How often it was skipped; 0 for whoever is not told."""
    total: float = 0
    """Points that a released one was given, of how many there are."""
    of: int = 0
    open_reading: int = 0
    """A reading of the same attempt that is still to be done, where this one is released; 0 is none."""
    is_kept_from: bool = False
    """Whether the points are not for this grader's eyes: they may have to give theirs without knowing them."""


def rows_of(found: Sequence[Review], grader: User, now: datetime) -> list[Row]:
    """Return reviews as rows, without those whose lab cannot be read any more; instructors are told of skips."""
    found = [each for each in found if is_readable(each.attempt)]
    skips = review_queue.skips_of(found) if may_author(grader) else {}
    still_open = outcomes.open_readings(each.attempt_id for each in found if each.released_at)
    untrained = untrained_labs(grader) if any(each.released_at for each in found) else set()
    rules = rules_of_all(each.attempt.lab_slug for each in found)
    editions = currents({each.attempt.lab_slug for each in found if each.released_at})
    return [
        _row(
            each,
            grader,
            now,
            rules=rules[each.attempt.lab_slug],
            edition=editions.get(each.attempt.lab_slug) if each.released_at else None,
            skips=skips.get(each.pk, 0),
            open_reading=still_open.get(each.attempt_id, 0) if each.released_at else 0,
            is_untrained=each.attempt.lab_slug in untrained,
        )
        for each in found
    ]


def row_of(review: Review, grader: User, now: datetime) -> Row:
    """Return a review as a row."""
    return rows_of([review], grader, now)[0]


def _row(
    review: Review,
    grader: User,
    now: datetime,
    *,
    rules: ReadingRules,
    edition: Edition | None,
    skips: int,
    open_reading: int,
    is_untrained: bool,
) -> Row:
    left = review.lease_until - now if review.lease_until else None
    return Row(
        review=review,
        name=pseudonym(review.attempt.public_id),
        author=author_of(review.attempt, grader, rules),
        lab=review.attempt.spec.title,
        waited=waited(now - review.created_at),
        standing=reviews.standing(review, grader, now),
        left=waited(left + ALMOST_A_MINUTE) if left else "",
        skips=skips,
        total=total_of(points_of(review, edition)) if edition else 0,
        of=edition.rubric.most if edition else 0,
        open_reading=open_reading,
        is_kept_from=reviews.is_kept_from(review, grader, open_reading, is_untrained=is_untrained),
    )


def queue_of(grader: User, now: datetime) -> dict[str, Any]:
    """Return what waits: the oldest rows, how many wait in all, and how many are not shown."""
    waiting = reviews.waiting(grader)
    shown = list(waiting[:MOST_ROWS])
    rows = rows_of(shown, grader, now)
    count = len(shown) if len(shown) < MOST_ROWS else waiting.count()
    count -= len(shown) - len(rows)
    return {"rows": rows, "count": count, "more": count - len(rows)}


def page(
    request: HttpRequest, template: str, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    """Answer with a page that says what was just done where the grader works, not in the site's frame."""
    told = list(messages.get_messages(request))
    bindings = review_keys.bindings(review_queue.settings_of(signed_in(request)).keys)
    frame = {
        "told": told,
        "messages": (),
        "bindings": bindings,
        "keys": {each.action: each.key for each in bindings},
    }
    return render(request, template, {**context, **frame}, status=status)


def review_or_404(request: HttpRequest, public_id: UUID) -> Review:
    """Return a review; the address of an attempt leads to its first.

    One's own attempt is a 404, as is one never marked and one whose lab cannot be read any more.
    """
    asked = Q(public_id=public_id) | Q(attempt__public_id=public_id, reading=1)
    found = reviews.open_to(signed_in(request)).filter(asked).first()
    if found is None or not is_readable(found.attempt):
        raise Http404
    return found

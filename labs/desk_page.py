"""The desk as a page: an attempt, its rubric with what was given or typed, and what became of either meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils import timezone

from courseware.people import may_author, may_review, signed_in
from labs import outcomes, review_queue, review_records, reviews, rubric_editions
from labs.models import Action
from labs.review_desk import desk_of, moments_of
from labs.review_forms import ReviewForm
from labs.review_points import Draft, points_of, total_of
from labs.review_rows import OWN, page, queue_of, row_of
from labs.reviews import Standing
from labs.rubric_points import changes, is_reordered
from labs.rubric_words import values_of
from labs.rubrics import Rubric, with_values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.http import HttpRequest, HttpResponse, QueryDict

    from labs.models import Attempt, Review
    from labs.rubric_editions import Edition
    from labs.rubric_points import Change


# -------------------------------------------------------------------------------------- the form


def rubric_shown(attempt: Attempt, edition: Edition | None = None) -> Rubric:
    """Return the rubric by which an attempt is read, with what it names of the attempt's own world."""
    rubric = (edition or rubric_editions.current(attempt.lab_slug)).rubric
    return with_values(rubric, values_of(attempt.spec, attempt.seed, attempt.mark))


def posted(review: Review, data: QueryDict) -> ReviewForm:
    """Return what a grader sent, under the rubric as it stands."""
    return ReviewForm(rubric_shown(review.attempt), data, moments=_addresses(review.attempt))


def stored_form(review: Review) -> ReviewForm:
    """Return the form with the stored draft, carried over to the rubric as it stands."""
    attempt = review.attempt
    draft, rubric = draft_now(review), rubric_shown(attempt)
    return ReviewForm.of_draft(rubric, draft, review.version, _addresses(attempt))


def draft_now(review: Review) -> Draft:
    """Return the stored draft, carried over to the rubric as it stands."""
    now = rubric_editions.current(review.attempt.lab_slug)
    moments = {key: at for key, at in review.moments.items() if now.rubric.item(key)}
    return Draft(points_of(review, now), review.comment, moments, now.number)


def is_current(review: Review) -> bool:
    """Whether the stored points were given by the rubric as it stands."""
    return review.edition == rubric_editions.current(review.attempt.lab_slug).number


def undecided_form(review: Review, keys: tuple[str, ...]) -> ReviewForm:
    """Return the stored draft with the items marked that still want points."""
    attempt, initial = review.attempt, stored_form(review).initial
    form = ReviewForm(rubric_shown(attempt), initial, moments=_addresses(attempt))
    form.is_valid()
    form.ask_to_decide(keys)
    return form


def _addresses(attempt: Attempt) -> tuple[int, ...]:
    return tuple(each.seq for each in _log(attempt))


def _log(attempt: Attempt) -> list[Action]:
    return list(attempt.actions.filter(status=Action.Status.DONE))


# ----------------------------------------------------------------- a rubric that changed meanwhile


def outdated(review: Review, form: ReviewForm) -> Edition | None:
    """Return the edition of the rubric that a page showed, if that is not the one that stands."""
    sent = str(form.data.get("edition", ""))
    if not (sent.isascii() and sent.isdecimal() and len(sent) < 9):  # noqa: PLR2004
        return None
    slug = review.attempt.lab_slug
    now = rubric_editions.current(slug)
    return None if int(sent) == now.number else rubric_editions.at(slug, int(sent))


def moved_over(review: Review, data: QueryDict) -> ReviewForm:
    """Return what was typed under the rubric as it stands: by key, and open where it may not be given any more."""
    now = rubric_editions.current(review.attempt.lab_slug)
    kept = data.copy()
    kept["edition"] = str(now.number)
    for item in now.rubric.items:
        if kept.get(f"points_{item.key}", "") not in {str(each) for each in item.choices}:
            kept[f"points_{item.key}"] = ""
    return posted(review, kept)


def told(old: Rubric, new: Rubric, given: dict[str, Any]) -> Iterator[tuple[Change, str]]:
    """Yield each change of a rubric with the points that had been given; empty where there were none."""
    for each in changes(old, new):
        points = given.get(each.key)
        yield each, "" if points in {None, ""} else str(points).replace("-", "−")


# ------------------------------------------------------------------------------------- the page


def lease(request: HttpRequest, review: Review) -> dict[str, Any]:
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
        "settled_by_hand": outcomes.settled_by_hand(review.attempt_id)
        if row.standing == Standing.RELEASED
        else None,
    }


def desk_page(
    request: HttpRequest,
    review: Review,
    *,
    form: ReviewForm | None,
    version: int | None = None,
    conflict: bool = False,
    undecided: int = 0,
    unreleased: bool = False,
    unskipped: bool = False,
    changed_from: Edition | None = None,
    typed: QueryDict | None = None,
    status: int = 200,
) -> HttpResponse:
    """Answer with the desk. ``form`` holds a draft or what was typed; without it the rubric is only shown.

    ``changed_from`` is the edition of the rubric by which it was typed, if that is not the one that stands; ``typed``
    is then what was sent.
    """
    grader, now = signed_in(request), timezone.now()
    attempt, spec = review.attempt, review.attempt.spec
    claim = lease(request, review)
    if version is None:
        version = review.version
        # What was typed may replace a newer draft only once the page has shown that one beside it.
        if form is not None and form.is_bound and not (conflict and claim["is_own"]):
            form.is_valid()
            version = form.cleaned_data.get("version", 0)
    log = _log(attempt)
    edition = rubric_editions.current(attempt.lab_slug)
    rubric = rubric_shown(attempt, edition)
    stored = points_of(review, edition)
    earlier = reviews.earlier_readings(review)
    sides = [points_of(each, edition) for each in earlier]
    is_draft = form is not None and not form.is_bound and review.has_draft
    if is_draft and review.edition != edition.number:
        changed_from = rubric_editions.at(attempt.lab_slug, review.edition)
    given = _given(review, typed)
    context = {
        **queue_of(grader, now),
        **claim,
        "now": now,
        "spec": spec,
        "desk": desk_of(spec, log, attempt.mark),
        "form": form,
        "version": version,
        "rubric": rubric,
        "edition": edition,
        "changed_from": changed_from,
        "changes": list(told(changed_from.rubric, edition.rubric, given)) if changed_from else [],
        "is_reordered": changed_from is not None
        and is_reordered(changed_from.rubric, edition.rubric),
        "pointed_at": [each for each in moments_of(spec, log) if each.kind != "beliefs"],
        "records": review_records.records_of(review, grader),
        "sum": total_of(form.given()) if form else 0,
        "of": rubric.most,
        "since": review.lease_until - reviews.LEASE if review.lease_until else None,
        "conflict": conflict,
        "undecided": undecided,
        "unreleased": unreleased,
        "unskipped": unskipped,
        "stored": [(item, stored[item.key]) for item in rubric.items],
        "earlier": earlier,
        "may_author": may_author(grader),
        "may_edit_rubric": may_review(grader),
        "side_by_side": [(item, *(each[item.key] for each in sides)) for item in rubric.items],
        "stored_total": total_of(stored),
        "most_characters": reviews.MOST_COMMENT_CHARACTERS,
    }
    return page(request, "labs/review.html", context, status)


def _given(review: Review, typed: QueryDict | None) -> dict[str, Any]:
    """Return the points that a grader had given when the rubric changed: what was sent, or what is stored."""
    if typed is None:
        return dict(review.points)
    prefix = "points_"
    return {key.removeprefix(prefix): typed[key] for key in typed if key.startswith(prefix)}

"""Training: the labs that ask for it, one case after the other, and the sets that instructors make."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import Http404
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from courseware.people import instructor_required, may_author, reader_required, signed_in
from labs import training
from labs.catalogue import labs
from labs.models import Action, ReviewOutcome, TrainingCase, TrainingRun
from labs.readable import is_readable
from labs.reading_rules import rules_of, rules_of_all
from labs.review_desk import desk_of, pseudonym
from labs.review_points import by_item, items_of
from labs.review_rows import page, review_or_404
from labs.training_forms import CaseForm, PointsForm

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest, HttpResponse, HttpResponseBase

    from courseware.models import User
    from labs.models import Review, TrainingAnswer


@never_cache
@require_safe
@reader_required
def index(request: HttpRequest) -> HttpResponseBase:
    """Show the labs with a training set, how far the reader is, and to instructors who has passed."""
    reader = signed_in(request)
    rules = rules_of_all(labs())
    in_force = TrainingCase.objects.filter(removed_at=None)
    slugs = Counter(in_force.values_list("attempt__lab_slug", flat=True))
    known = [(slug, spec) for slug, spec in labs().items() if slug in slugs]
    passed = training.passed_by([slug for slug, _ in known])
    rows = [
        {
            "spec": spec,
            "needs": rules[slug].needs_training,
            "progress": training.progress(reader, slug),
            "cases": slugs[slug],
            "passed": passed[slug],
        }
        for slug, spec in known
    ]
    asked_without = [
        spec for slug, spec in labs().items() if rules[slug].needs_training and slug not in slugs
    ]
    context = {"rows": rows, "asked_without": asked_without, "is_staff": may_author(reader)}
    return page(request, "labs/training_index.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@reader_required
def lab(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Show how far a reader is with a lab's training; with POST, begin a try or go on with it."""
    if slug not in labs():
        raise Http404
    reader = signed_in(request)
    if request.method == "POST":
        run = training.begin(reader, slug)
        following = training.progress(reader, slug).following
        if run is None or following is None:
            messages.info(request, "There is no case here that you could train with.")
            return redirect("labs:training-lab", slug)
        return redirect("labs:training-case", slug, following.public_id)
    progress = training.progress(reader, slug)
    is_staff = may_author(reader)
    context = {
        "spec": labs()[slug],
        "progress": progress,
        "rules": rules_of(slug),
        "runs": TrainingRun.objects.filter(grader=reader, lab_slug=slug),
        "answers": [
            _row(each)
            for each in training.answered_in(progress.run)
            if is_readable(each.case.attempt)
        ]
        if progress.run
        else [],
        "is_staff": is_staff,
        "cases": [(pseudonym(each.attempt.public_id), each) for each in training.cases_of(slug)]
        if is_staff
        else [],
    }
    return page(request, "labs/training_lab.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@reader_required
def case(request: HttpRequest, slug: str, public_id: UUID) -> HttpResponseBase:
    """Show a case of the reader's try, with the reference once they gave their points; with POST, take these."""
    reader = signed_in(request)
    found, run = _case_or_404(reader, slug, public_id)
    items = items_of(found.attempt)
    if request.method != "POST":
        return _case(request, found, run, PointsForm(items))
    form = PointsForm(items, request.POST)
    if not form.is_valid():
        return _case(request, found, run, form, status=422)
    training.answer(run, found, form.points())
    return redirect("labs:training-case", slug, public_id)


def _case_or_404(reader: User, slug: str, public_id: UUID) -> tuple[TrainingCase, TrainingRun]:
    """Return a case with the reader's newest try, if that holds it."""
    run = TrainingRun.objects.filter(grader=reader, lab_slug=slug).first()
    rows = TrainingCase.objects.select_related("attempt", "by").filter(public_id=public_id)
    found = rows.first()
    if run is None or found is None or found.pk not in run.cases or slug not in labs():
        raise Http404
    if not is_readable(found.attempt):
        raise Http404
    return found, run


def _case(
    request: HttpRequest,
    found: TrainingCase,
    run: TrainingRun,
    form: PointsForm,
    status: int = 200,
) -> HttpResponse:
    attempt, reader = found.attempt, signed_in(request)
    given = run.answers.filter(case=found).select_related("case__attempt").first()
    progress = training.progress(reader, run.lab_slug)
    log = list(attempt.actions.filter(status=Action.Status.DONE))
    context = {
        "spec": attempt.spec,
        "name": pseudonym(attempt.public_id),
        "found": found,
        "run": run,
        "form": form,
        "progress": progress,
        "given": given,
        "lines": _lines(given) if given else [],
        "desk": desk_of(attempt.spec, log, attempt.mark),
        "is_training": True,
    }
    return page(request, "labs/training_case.html", context, status)


def _lines(answer: TrainingAnswer) -> list[dict[str, Any]]:
    yours, right = training.given_in(answer), training.reference(answer.case)
    return [
        {"item": item, "yours": yours.get(item.key), "reference": right.get(item.key)}
        for item in items_of(answer.case.attempt)
    ]


def _row(each: TrainingAnswer) -> dict[str, Any]:
    lines = [line for line in _lines(each) if line["reference"] is not None]
    apart = [line for line in lines if line["yours"] != line["reference"]]
    return {
        "case": each.case,
        "name": pseudonym(each.case.attempt.public_id),
        "apart": len(apart),
        "of": len(lines),
    }


# ---------------------------------------------------------------------------------------- the sets


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@instructor_required
def add(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Ask for the reference points of a settled review, and why; with POST, put it into its lab's training set."""
    review = review_or_404(request, public_id)
    outcome = ReviewOutcome.objects.filter(attempt=review.attempt_id).first()
    if outcome is None:
        messages.info(request, "It can train others once it is settled and its learner sees it.")
        return redirect("labs:review", public_id)
    attempt = review.attempt
    stored = training.cases_of(attempt.lab_slug).filter(attempt=attempt).first()
    given = training.reference(stored) if stored else by_item(attempt, outcome.points)
    form = CaseForm(
        items_of(attempt),
        request.POST if request.method == "POST" else None,
        given=given,
        initial={"note": stored.note if stored else ""},
    )
    if not form.is_valid():
        return _add(request, review, form, stored, status=422 if form.is_bound else 200)
    training.add(attempt, form.points(), form.cleaned_data["note"], by=signed_in(request))
    messages.success(request, f"{pseudonym(attempt.public_id)} trains graders from now on.")
    return redirect("labs:training-lab", attempt.lab_slug)


def _add(
    request: HttpRequest,
    review: Review,
    form: CaseForm,
    stored: TrainingCase | None,
    status: int,
) -> HttpResponse:
    context = {
        "review": review,
        "spec": review.attempt.spec,
        "name": pseudonym(review.attempt.public_id),
        "form": form,
        "stored": stored,
    }
    return page(request, "labs/training_add.html", context, status)


@require_POST
@instructor_required
def remove(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Take a case out of its lab's training set."""
    found = get_object_or_404(TrainingCase.objects.select_related("attempt"), public_id=public_id)
    training.remove(found)
    messages.success(
        request,
        f"{pseudonym(found.attempt.public_id)} is out of the set. Who has passed, has passed.",
    )
    return redirect("labs:training-lab", found.attempt.lab_slug)

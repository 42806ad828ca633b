"""Steps of a walkthrough: a line is run, and its answer looked for."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from django.db import transaction
from django.http import Http404
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from courseware.people import learner_required, signed_in
from lessons import computing, runs, tasks, views
from lessons.run_cards import run_card
from lessons.run_forms import RunForm

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponseBase

    from lessons.content import Lesson, Station
    from lessons.models import ComputedAnswer
    from lessons.walkthroughs import Step, Walkthrough

MANY = 429


@never_cache
def run(request: HttpRequest, lesson: str, step: str) -> HttpResponseBase:
    """Show a step as it stands (GET), or run a line at it (POST)."""
    return _run(request, lesson, step) if request.method == "POST" else _now(request, lesson, step)


@require_POST
@learner_required
def _run(request: HttpRequest, lesson: str, key: str) -> HttpResponseBase:
    found, here, walk, step = _step_or_404(lesson, key)
    earlier = runs.runs_of(request.user, found).get(key, [])
    asks = bool(here.runs[key].ask) and all(row.line != step.line for row in earlier)
    form = RunForm(walk, step, request.POST, asks=asks)
    if not form.is_valid():
        return _step(request, found, here, key, form=form)
    line, expected = form.cleaned_data["command"], form.cleaned_data["expected"]
    try:
        row = runs.run(
            signed_in(request), found, walk, step, line, expected=expected if asks else ""
        )
    except runs.TooManyError as error:
        return _step(request, found, here, key, form=form, problem=str(error))
    _have_computed(row.answer)
    return _step(request, found, here, key)


@require_GET
@learner_required
def _now(request: HttpRequest, lesson: str, key: str) -> HttpResponseBase:
    found, here, _, _ = _step_or_404(lesson, key)
    for row in runs.runs_of(request.user, found).get(key, []):
        _have_computed(row.answer)
    return _step(request, found, here, key)


def _have_computed(answer: ComputedAnswer) -> None:
    """Have a worker compute an answer that is not there; each lapse publishes it once.

    A broker that is away stops no page: the next look publishes again.
    """
    if not answer.is_done and computing.claim_forgotten(answer):
        transaction.on_commit(partial(tasks.compute_answer.delay, answer.pk), robust=True)


def _step(
    request: HttpRequest,
    found: Lesson,
    here: Station,
    key: str,
    *,
    form: RunForm | None = None,
    problem: str = "",
) -> HttpResponseBase:
    """Answer with the fragment or, without JavaScript, with the page."""
    if form is None and not views.is_htmx(request):
        return redirect(views.address(found, here) + f"#run-{key}")
    rows = runs.runs_of(request.user, found).get(key, [])
    fresh = form is None and request.method == "POST"
    card = run_card(found, here.runs[key], rows, form=form, problem=problem, fresh=fresh)
    if views.is_htmx(request):
        # htmx shows what comes with 422, and the site refuses with nothing else.
        status = 200 if form is None else 422
        return render(request, "lessons/_run.html", {"card": card}, status=status)
    status = MANY if problem else 422
    return views.station_page(request, found, here, replaced={f"run:{key}": card}, status=status)


def _step_or_404(lesson: str, key: str) -> tuple[Lesson, Station, Walkthrough, Step]:
    found = views.lesson_or_404(lesson)
    here, walk = found.with_run(key), found.walkthrough
    step = None if walk is None else walk.step(key)
    if here is None or walk is None or step is None:
        raise Http404
    return found, here, walk, step

"""Steps of a walkthrough: a line is run, and its answer looked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache

from courseware.people import learner_required, signed_in
from lessons import runs, tasks, views
from lessons.by_method import by_method
from lessons.run_cards import run_card
from lessons.run_forms import RunForm

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponseBase

    from lessons.content import Lesson, Station
    from lessons.walkthroughs import Step, Walkthrough

MANY = 429


@learner_required
def _run(request: HttpRequest, lesson: str, step: str) -> HttpResponseBase:
    found, here, walk, at = _step_or_404(lesson, step)
    earlier = runs.runs_of(request.user, found).get(step, [])
    asks = bool(here.runs[step].ask) and all(row.line != at.line for row in earlier)
    form = RunForm(walk, at, request.POST, asks=asks)
    if not form.is_valid():
        return _step(request, found, here, step, form=form)
    line, expected = form.cleaned_data["command"], form.cleaned_data["expected"]
    try:
        row = runs.run(signed_in(request), found, walk, at, line, expected=expected if asks else "")
    except runs.TooManyError as error:
        return _step(request, found, here, step, form=form, problem=str(error))
    tasks.have_computed(row.answer)
    return _step(request, found, here, step)


@learner_required
def _now(request: HttpRequest, lesson: str, step: str) -> HttpResponseBase:
    found, here, _, _ = _step_or_404(lesson, step)
    for row in runs.runs_of(request.user, found).get(step, []):
        tasks.have_computed(row.answer)
    return _step(request, found, here, step)


run = never_cache(by_method(show=_now, take=_run))


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

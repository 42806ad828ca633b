"""The pages of the lessons: fetch, validate, call one function, choose page or fragment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from courseware.people import learner_required, may_author, signed_in
from lessons import (
    check_lines,
    computing,
    content,
    notes,
    pages,
    predictions,
    progress,
    runs,
    tasks,
)
from lessons.by_method import by_method
from lessons.forms import PredictionForm, SeenForm
from lessons.prediction_cards import committed, prediction_card

if TYPE_CHECKING:
    from django.http import HttpResponseBase

    from lessons.content import Lesson, PredictionText, Station
    from lessons.models import ComputedAnswer, PredictionCommit
    from lessons.progress import Progress

# -------------------------------------------------------------------------------------------- reading


@require_safe
def index(request: HttpRequest) -> HttpResponseBase:
    """Show the course: units, lessons, and how far one has come."""
    units = [
        (unit, [(found, progress.progress_of(request.user, found)) for found in unit.lessons])
        for unit in content.course()
    ]
    shown = [
        (
            unit,
            [
                {
                    "lesson": found,
                    "marks": pages.ruler(found, mine),
                    "read": mine.stations_read(found),
                    "begun": bool(mine.tries or mine.commits),
                    "counts": mine.counts(found),
                }
                for found, mine in rows
            ],
        )
        for unit, rows in units
    ]
    reported = check_lines.reports(done=False).count() if may_author(request.user) else None
    return render(request, "lessons/index.html", {"units": shown, "reported": reported})


@require_safe
def lesson(request: HttpRequest, lesson: str) -> HttpResponseBase:
    """Show a lesson's front page."""
    found = lesson_or_404(lesson)
    mine = progress.progress_of(request.user, found)
    marks = pages.ruler(found, mine)
    ahead = [mark for mark in marks if mark.state != "done"]
    context = {
        "lesson": found,
        "marks": [(mark, pages.takeaway_html(mark.station)) for mark in marks],
        "next_mark": ahead[0] if ahead else marks[0],
        "begun": any(mark.state != "ahead" for mark in marks),
        "read": mine.stations_read(found),
        "tried": mine.checks_tried(found),
        "checks": sum(len(station.checks) for station in found.stations),
        "counts": mine.counts(found),
        "committed": committed(found, mine.commits),
    }
    return render(request, "lessons/lesson.html", context)


@require_safe
def station(request: HttpRequest, lesson: str, station: str) -> HttpResponseBase:
    """Show one station."""
    found = lesson_or_404(lesson)
    return station_page(request, found, _station_or_404(found, station))


def station_page(
    request: HttpRequest,
    found: Lesson,
    station: Station,
    *,
    replaced: dict[str, Any] | None = None,
    status: int = 200,
) -> HttpResponse:
    """Answer with a station. ``replaced`` holds cards by key that a bound form stands in."""
    mine = progress.progress_of(request.user, found)
    place = found.stations.index(station)
    context = {
        "lesson": found,
        "station": station,
        "marks": pages.ruler(found, mine, station),
        "number": place + 1,
        "slots": pages.slots(
            found,
            station,
            mine,
            computing.answered_now,
            lines=check_lines.lines_of(request.user, found),
            everybody=progress.everybody_asked(
                mine.commits[key] for key in station.predictions if key in mine.commits
            ),
            runs=runs.runs_of(request.user, found) if station.runs else {},
            replaced=replaced,
            asked=request.GET.dict(),
        ),
        "has_order": station.has_order,
        "has_sketch": station.has_sketch,
        "has_demo": bool(station.demos),
        "has_chart": station.has_chart(commits=request.user.is_authenticated),
        "read": station.slug in mine.read,
        "untried": untried_in(station, mine),
        "note": notes.note_on(request.user, found, station),
        "previous": found.stations[place - 1] if place else None,
        "following": found.stations[place + 1] if place + 1 < len(found.stations) else None,
    }
    return render(request, "lessons/station.html", context, status=status)


def untried_in(station: Station, mine: Progress) -> list[str]:
    """Return the checks of a station that its reader has not tried."""
    return [key for key in station.checks if key not in mine.tries]


@require_POST
@learner_required
def read(request: HttpRequest, lesson: str, station: str) -> HttpResponseBase:
    """Note that a station was read, and go on to the next."""
    found = lesson_or_404(lesson)
    here = _station_or_404(found, station)
    progress.mark_read(signed_in(request), found, here)
    place = found.stations.index(here) + 1
    if place < len(found.stations):
        return redirect("lessons:station", found.slug, found.stations[place].slug)
    return redirect("lessons:lesson", found.slug)


# ---------------------------------------------------------------------------------------- predictions


@learner_required
def _commit(request: HttpRequest, lesson: str, prediction: str) -> HttpResponseBase:
    found, here, text = _prediction_or_404(lesson, prediction)
    question = predictions.QUESTIONS[text.key]
    form = PredictionForm(question, request.POST)
    if not form.is_valid():
        return _prediction(request, found, here, text, form=form)
    commit = progress.commit_prediction(
        signed_in(request),
        found,
        text.key,
        guess=form.cleaned_data["guess"],
        confidence=form.cleaned_data["confidence"],
        why=form.cleaned_data["why"],
    )
    _have_computed(commit.answer)
    return _prediction(request, found, here, text)


@learner_required
def _prediction_now(request: HttpRequest, lesson: str, prediction: str) -> HttpResponseBase:
    found, here, text = _prediction_or_404(lesson, prediction)
    commit = _commit_of(request, found, text)
    if commit is not None and not commit.answer.is_done:
        _have_computed(commit.answer)
    return _prediction(request, found, here, text)


prediction = by_method(show=_prediction_now, take=_commit)


@require_POST
@learner_required
def seen(request: HttpRequest, lesson: str, prediction: str) -> HttpResponseBase:
    """Store what the learner saw; the explanation follows."""
    found, here, text = _prediction_or_404(lesson, prediction)
    commit = _commit_of(request, found, text)
    if commit is None or not commit.answer.is_done:
        raise Http404
    form = SeenForm(request.POST)
    if not form.is_valid():
        return _prediction(request, found, here, text, seen_form=form)
    progress.note_seen(commit, form.cleaned_data["seen"])
    return _prediction(request, found, here, text)


@require_POST
@learner_required
def again(request: HttpRequest, lesson: str, prediction: str) -> HttpResponseBase:
    """Compute a failed answer again."""
    found, here, text = _prediction_or_404(lesson, prediction)
    commit = _commit_of(request, found, text)
    if commit is None:
        raise Http404
    computing.ask_again(commit.answer)
    _have_computed(commit.answer)
    return _prediction(request, found, here, text)


def _have_computed(answer: ComputedAnswer) -> None:
    """Have an answer computed: a short one here, a long one by a worker. The guess is stored."""
    if predictions.QUESTIONS[answer.name.partition(":")[2]].is_long:
        tasks.have_computed(answer)
    else:
        computing.claim_forgotten(answer)
        computing.compute(answer.pk)


def _prediction(
    request: HttpRequest,
    found: Lesson,
    here: Station,
    text: PredictionText,
    *,
    form: PredictionForm | None = None,
    seen_form: SeenForm | None = None,
) -> HttpResponseBase:
    """Answer with the fragment or, without JavaScript, with the page."""
    bad = form is not None or seen_form is not None
    if not bad and not is_htmx(request):
        return redirect(address(found, here) + f"#prediction-{text.key}")
    commit = _commit_of(request, found, text)
    everybody = progress.everybody_asked([commit] if commit else [])
    card = prediction_card(
        found,
        text,
        commit,
        cohort=everybody.get(commit.answer_id, ()) if commit else (),
        form=form,
        seen_form=seen_form,
        fresh=request.method == "POST" and not bad,
    )
    status = 422 if bad else 200
    if is_htmx(request):
        return render(request, "lessons/_prediction.html", {"card": card}, status=status)
    return station_page(request, found, here, replaced={text.key: card}, status=status)


def _commit_of(
    request: HttpRequest, found: Lesson, text: PredictionText
) -> PredictionCommit | None:
    return progress.progress_of(request.user, found).commits.get(text.key)


# ------------------------------------------------------------------------------------------ addresses


def is_htmx(request: HttpRequest) -> bool:
    """Tell whether htmx asks, and so wants a fragment."""
    return bool(request.htmx)  # type: ignore[attr-defined]


def address(found: Lesson, station: Station) -> str:
    """Return where a station is."""
    return reverse("lessons:station", args=[found.slug, station.slug])


def lesson_or_404(slug: str) -> Lesson:
    """Return a lesson of the course."""
    found = content.lessons().get(slug)
    if found is None:
        raise Http404
    return found


def _station_or_404(found: Lesson, slug: str) -> Station:
    here = found.station(slug)
    if here is None:
        raise Http404
    return here


def _prediction_or_404(lesson: str, key: str) -> tuple[Lesson, Station, PredictionText]:
    found = lesson_or_404(lesson)
    here = found.with_prediction(key)
    if here is None:
        raise Http404
    return found, here, here.predictions[key]

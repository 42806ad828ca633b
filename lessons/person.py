"""A person's own pages: what they have shown, their notes, their data. Only ever about whoever asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from courseware.people import learner_required, signed_in
from lessons import content, export, record
from lessons import notes as keeping
from lessons.calibration_cards import calibration_card
from lessons.person_forms import NoteForm
from lessons.shown import map_of_layers, weakest

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponseBase

    from lessons.content import Lesson, Station


@require_safe
@never_cache
@learner_required
def shown(request: HttpRequest) -> HttpResponseBase:
    """Show how sure one was and how right, the map of the five layers, and where to go on."""
    learner = signed_in(request)
    mine = record.progress_everywhere(learner)
    layers = map_of_layers(
        content.lessons().values(),
        first_tries=record.first_tries(mine),
        done=record.stations_done(mine),
        drills=record.drills_by_layer(),
        solved=record.drills_solved(learner),
        labs_passed=record.labs_passed(learner),
    )
    context = {
        "layers": layers,
        "weakest": weakest(layers),
        "nothing_yet": all(row.is_empty for row in layers),
        "go_on": record.where_to_go_on(mine),
        "begun": any(each.read or each.tries or each.commits for each in mine.values()),
        **calibration_card(record.predictions_told(learner)),
    }
    return render(request, "lessons/you.html", context)


@require_safe
@never_cache
@learner_required
def data(request: HttpRequest) -> HttpResponseBase:
    """Hand out everything that is stored about whoever asks, as a file."""
    return JsonResponse(
        export.everything_about(signed_in(request)),
        json_dumps_params={"indent": 2, "ensure_ascii": False},
        headers={"Content-Disposition": 'attachment; filename="debugging-llm-serving.json"'},
    )


# ---------------------------------------------------------------------------------------------- notes


@require_safe
@never_cache
@learner_required
def notes(request: HttpRequest) -> HttpResponseBase:
    """Show all notes and bookmarks, the newest first."""
    return render(request, "lessons/notes.html", {"kept": keeping.all_kept(signed_in(request))})


@require_POST
@learner_required
def note(request: HttpRequest, lesson: str, station: str) -> HttpResponseBase:
    """Keep the note of a station as it is typed, and its bookmark if that button was pressed."""
    found, here = _station_or_404(lesson, station)
    form = NoteForm(request.POST)
    if not form.is_valid():
        context = {
            "lesson": found,
            "station": here,
            "note": keeping.note_on(request.user, found, here),
            "note_form": form,
        }
        return render(request, "lessons/note.html", context, status=422)
    bookmark = form.cleaned_data["bookmark"]
    keeping.keep(
        signed_in(request),
        found,
        here,
        text=form.cleaned_data["text"],
        bookmarked=bookmark == "yes" if bookmark else None,
    )
    return redirect(reverse("lessons:station", args=[found.slug, here.slug]) + "#note")


def _station_or_404(lesson: str, station: str) -> tuple[Lesson, Station]:
    found = content.lessons().get(lesson)
    here = found.station(station) if found else None
    if found is None or here is None:
        raise Http404
    return found, here

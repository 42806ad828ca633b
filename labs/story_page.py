"""The page of an attempt moment by moment, whoever looks at it; with htmx, the scene of one moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.shortcuts import render

from labs import pool
from labs.charts import number
from labs.models import Action
from labs.room.healthy import healthy_medians
from labs.story import scene_of, story_of

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from labs.marking.table import Table
    from labs.models import Attempt
    from labs.review_desk import Moment
    from labs.specs import LabSpec
    from labs.story import Story


def story_page(
    request: HttpRequest,
    attempt: Attempt,
    *,
    address: str,
    back: dict[str, str],
    is_own: bool = False,
) -> HttpResponse:
    """Answer with the moment that the query names. ``address`` is the page's own, ``back`` where it was come from."""
    spec = attempt.spec
    done = attempt.actions.filter(status=Action.Status.DONE).order_by("seq")
    story = story_of(spec, list(done), attempt.panel, attempt.mark)
    context: dict[str, Any] = {
        "spec": spec,
        "address": address,
        "back": back,
        "is_own": is_own,
        "story": story,
    }
    if not story.moments:
        return render(request, "labs/story.html", context)
    moment = _chosen(request, story)
    context["scene"] = scene_of(story, moment, table=_table(spec), healthy=_healthy(spec))
    is_part = request.headers.get("HX-Request") == "true"
    response = render(request, "labs/_scene.html" if is_part else "labs/story.html", context)
    if is_part:
        response["HX-Replace-Url"] = f"{address}?at={moment.seq}#m{moment.seq}"
    return response


def _chosen(request: HttpRequest, story: Story) -> Moment:
    """Return the moment that is asked for by its address or its place; the first if neither can be read."""
    at, place = request.GET.get("at", ""), request.GET.get("place", "")
    if _is_number(place):
        return story.at_place(int(place))
    return story.at(int(at)) if _is_number(at) else story.moments[0]


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10  # noqa: PLR2004


def _table(spec: LabSpec) -> Table | None:
    try:
        return pool.table(spec.key)
    except pool.NotProved:
        return None


def _healthy(spec: LabSpec) -> dict[str, str]:
    return {
        key: number(value, spec.signals[key].healthy_decimals)
        for key, value in healthy_medians(spec.key).items()
        if key in spec.signals
    }

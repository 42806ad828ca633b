"""Keywords: the address that hears of one that was unfolded, and the page for instructors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from courseware.glossary import glossary
from courseware.people import learner_required, signed_in
from courseware.taught import taught
from lessons import content, keywords
from lessons.check_cards import plain
from lessons.keyword_insight import LEAST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.http import HttpRequest, HttpResponseBase

    from courseware.taught import Taught
    from lessons.keyword_insight import Found, Group


@require_POST
@learner_required
def opened(request: HttpRequest, lesson: str, station: str) -> HttpResponseBase:
    """Keep that a keyword was unfolded at a station. Nothing is shown of it."""
    found = content.lessons().get(lesson)
    here = found.station(station) if found else None
    if found is None or here is None:
        raise Http404
    try:
        keywords.note_opened(signed_in(request), found, here, request.POST.get("term", ""))
    except keywords.UnknownTerm:
        return HttpResponse(
            "term: the glossary has no such term; send the name of one.",
            status=422,
            content_type="text/plain; charset=utf-8",
        )
    return HttpResponse(status=204)


@never_cache
@require_safe
@learner_required
def insight(request: HttpRequest) -> HttpResponseBase:
    """Show which keywords stand before wrong answers, and which are opened most at each station."""
    course, whose = content.lessons(), taught(request)
    found = keywords.before_wrong_answers(course, whose.learners)
    context = {
        "found": found,
        "rows": list(_rows(found, whose)),
        "beyond": sum(each.is_beyond_chance for each in found.rows),
        "by_chance": round(found.compared / 20),
        "stations": list(_stations(whose)),
        "least": LEAST,
        "taught": whose,
    }
    return render(request, "lessons/keywords.html", context)


def _rows(found: Found, whose: Taught) -> Iterator[dict[str, Any]]:
    for each in found.rows:
        lesson = content.lessons()[each.lesson]
        here = lesson.with_check(each.check)
        if here is None:
            continue
        low, high = each.could_be
        yield {
            "term": glossary().get(each.term),
            "name": each.term,
            "question": plain(here.checks[each.check].text),
            "url": reverse("lessons:insight-item", args=[lesson.slug, each.check]) + whose.query,
            "where": f"{lesson.title}, {here.title}",
            "station_url": reverse("lessons:station", args=[lesson.slug, here.slug]),
            "opened": _group(each.opened),
            "others": _group(each.others),
            "more": f"{100 * each.difference:+.0f}",
            "could_be": f"{100 * low:+.0f} to {100 * high:+.0f}".replace("-", "\N{MINUS SIGN}"),
            "is_beyond_chance": each.is_beyond_chance,
        }


def _group(group: Group) -> dict[str, Any]:
    return {"share": f"{100 * group.share:.0f} %", "wrong": group.wrong, "n": group.n}


def _stations(whose: Taught) -> Iterator[dict[str, Any]]:
    """Yield the stations at which keywords are opened, in the order of the course."""
    found = keywords.opened_most(content.lessons(), whose.learners)
    for lesson in content.lessons().values():
        for station in lesson.stations:
            terms = found.get((lesson.slug, station.slug))
            if terms is not None:
                yield {
                    "lesson": lesson,
                    "station": station,
                    "readers": terms.readers,
                    "terms": [
                        {
                            "name": name,
                            "slug": glossary()[name].slug if name in glossary() else "",
                            "count": count,
                            "share": f"{100 * count / terms.readers:.0f} %",
                        }
                        for name, count in terms.terms
                    ],
                }

"""The pages in which one looks things up: symptoms, glossary, triage card, search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404
from django.shortcuts import render
from django.urls import reverse
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_safe

from courseware import glossary as terms
from courseware.people import may_read
from labs.catalogue import labs
from lessons.check_cards import inline
from lessons.content import lessons
from lessons.drills.spec import drills
from lessons.markdown import LAYERS
from lessons.search import Entry, search
from lessons.symptoms import GROUPS, Symptom, symptoms
from lessons.triage import triage

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponseBase

MOST_CHARACTERS = 80


@require_safe
def symptom_index(request: HttpRequest) -> HttpResponseBase:
    """Show the rows of the index, by group; ``layer`` keeps those of some layers."""
    layers = [each for each in request.GET.getlist("layer") if each in LAYERS]
    rows = [each for each in symptoms().values() if not layers or each.layer in layers]
    groups = [(group, [_row(each) for each in rows if each.group == group]) for group in GROUPS]
    context = {
        "groups": [(group, found) for group, found in groups if found],
        "count": len(rows),
        "all": len(symptoms()),
        "layers": [{"name": name, "chosen": name in layers} for name in LAYERS],
    }
    return render(request, "lessons/symptoms.html", context)


def _row(symptom: Symptom) -> dict[str, Any]:
    return {"symptom": symptom, "first": _inline(symptom.first)}


@require_safe
def symptom(request: HttpRequest, number: str) -> HttpResponseBase:
    """Show a symptom: what to measure first, and to whom its tier is open why, with the arithmetic."""
    found = symptoms().get(number)
    if found is None:
        raise Http404
    numbers = list(symptoms())
    place = numbers.index(number)
    catalogue = labs()
    context = {
        "symptom": found,
        "first": _inline(found.first),
        "open": may_read(request.user, found.tier),
        "html": mark_safe(found.html),  # noqa: S308  (the course's own text)
        "drill": drills().get(number),
        "labs": [catalogue[slug] for slug in found.labs if slug in catalogue],
        "previous": symptoms()[numbers[place - 1]] if place else None,
        "next": symptoms()[numbers[place + 1]] if place + 1 < len(numbers) else None,
    }
    return render(request, "lessons/symptom.html", context)


@require_safe
def glossary(request: HttpRequest) -> HttpResponseBase:
    """Show every term, once."""
    known = terms.glossary()
    letters: dict[str, list[dict[str, Any]]] = {}
    for term in known.values():
        shown = {
            "term": term,
            "means": _inline(term.means),
            "see": [known[name] for name in term.see],
        }
        letters.setdefault(term.term[0].upper(), []).append(shown)
    return render(request, "lessons/glossary.html", {"letters": letters, "count": len(known)})


@require_safe
def triage_card(request: HttpRequest) -> HttpResponseBase:
    """Show the card that one prints: layers, first readings, what rules them out."""
    return render(request, "lessons/triage.html", {"card": triage()})


@require_safe
def find(request: HttpRequest) -> HttpResponseBase:
    """Search; the whole page, or only what was found while one types."""
    query = " ".join(request.GET.get("q", "").split())[:MOST_CHARACTERS]
    found = {
        kind: [
            {"title": each.title, "note": _inline(each.note), "url": _url(each)} for each in entries
        ]
        for kind, entries in search(query).items()
    }
    context = {
        "query": query,
        "found": found,
        "count": sum(map(len, found.values())),
        "all": {} if query else _all(),
    }
    typed = request.headers.get("HX-Request") == "true"
    return render(request, "lessons/_found.html" if typed else "lessons/search.html", context)


def _all() -> dict[str, int]:
    """Return how much of each kind there is to be found."""
    return {
        "symptoms": len(symptoms()),
        "stations": sum(len(lesson.stations) for lesson in lessons().values()),
        "terms": len(terms.glossary()),
        "labs": len(labs()),
    }


def _url(entry: Entry) -> str:
    name, *arguments = entry.address
    anchors = [each for each in arguments if each.startswith("#")]
    return reverse(name, args=[each for each in arguments if each not in anchors]) + "".join(
        anchors
    )


def _inline(source: str) -> str:
    return mark_safe(inline(source))  # noqa: S308  (the course's own text)

"""Sure and wrong: the page for instructors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from courseware.people import learner_required
from courseware.taught import taught
from labs.catalogue import labs
from lessons import class_sure, content
from lessons.check_cards import plain
from lessons.sure import LEAST, SURE_PERCENT
from lessons.symptoms import symptoms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.http import HttpRequest, HttpResponseBase

    from courseware.taught import Taught
    from lessons.sure import Item

KINDS = {
    "prediction": "Prediction",
    "lab prediction": "Prediction in a lab",
    "diagnosis": "Diagnosis",
    "drill": "First measurement in a drill",
}


@never_cache
@require_safe
@learner_required
def insight(request: HttpRequest) -> HttpResponseBase:
    """Show where the class was sure and wrong, of all kinds or of one."""
    whose = taught(request)
    found = class_sure.found_in(content.lessons(), whose.learners)
    kind = request.GET.get("kind", "")
    items = [each for each in found.items if kind not in KINDS or each.kind == kind]
    context = {
        "rows": [_row(each, whose) for each in items],
        "found": found,
        "share": f"{100 * found.wrong / found.sure:.0f} %" if found.sure else "",
        "kinds": KINDS.items(),
        "kind": kind if kind in KINDS else "",
        "least": LEAST,
        "taught": whose,
        "sure_percent": SURE_PERCENT,
    }
    return render(request, "lessons/sure.html", context)


def _row(item: Item, whose: Taught) -> dict[str, Any]:
    low, high = item.interval
    return {
        "item": item,
        "kind": KINDS[item.kind],
        **_named(item, whose),
        "share": f"{100 * item.share:.0f} %",
        "could_be": f"{100 * low:.0f} % to {100 * high:.0f} %",
    }


def _named(item: Item, whose: Taught) -> Mapping[str, str]:
    """Return what an item asks, where, and its address."""
    if item.kind == "prediction":
        slug, _, key = item.key.partition("/")
        lesson = content.lessons()[slug]
        here = lesson.with_prediction(key)
        if here is not None:
            address = reverse("lessons:station", args=[slug, here.slug])
            return {
                "asked": plain(here.predictions[key].ask),
                "where": f"{lesson.title}, {here.title}",
                "url": f"{address}#prediction-{key}",
            }
    if item.kind == "drill":
        symptom = symptoms().get(item.key)
        return {
            "asked": symptom.symptom if symptom else item.key,
            "where": f"Drill {item.key}",
            "url": reverse("lookup:drill", args=[item.key]),
        }
    spec = labs().get(item.key)
    asked = spec.prediction.question if spec and item.kind == "lab prediction" else "What is wrong?"
    return {
        "asked": asked,
        "where": f"Lab {spec.number}, {spec.title}" if spec else item.key,
        "url": reverse("labs:insight-lab", args=[item.key.partition("/")[0]]) + whose.query,
    }

"""A person's own pages: what they have shown. Only ever about whoever asks; nobody else is shown them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from courseware.people import learner_required, signed_in
from lessons import content, record
from lessons.calibration import LAST, calibration_of
from lessons.shown import map_of_layers, weakest

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponseBase

    from labs.marking.predictions import Level
    from lessons.calibration import Calibration


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
        labs_passed=record.labs_passed(learner),
    )
    found = calibration_of(record.predictions_told(learner, mine))
    context = {
        "layers": layers,
        "weakest": weakest(layers),
        "nothing_yet": all(row.is_empty for row in layers),
        "go_on": record.where_to_go_on(mine),
        "begun": any(each.read or each.tries or each.commits for each in mine.values()),
        "calibration": found,
        "percents": _percents(found) if found else {},
        "bins": [_bin(each) for each in found.strip] if found else [],
        "last": LAST,
    }
    return render(request, "lessons/you.html", context)


def _percents(found: Calibration) -> dict[str, str]:
    return {
        "share": f"{found.whole.share:.0%}",
        "stated": f"{found.whole.stated:.0%}",
    }


def _bin(level: Level) -> dict[str, Any]:
    """Return one bin as the strip draws it: lengths are per cent of its width."""
    share = level.hits / level.count if level.count else None
    return {
        "percent": level.percent,
        "hits": level.hits,
        "count": level.count,
        "happened": None if share is None else f"{share:.0%}",
        "interval": level.interval and [f"{end:.0%}" for end in level.interval],
    }

"""What a class did in the labs, for its instructors: every lab in a line, and one with its measurements, fixes and stops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from courseware.people import learner_required
from courseware.served import tree
from courseware.taught import taught
from labs import class_attempts
from labs.catalogue import labs
from labs.incident import clock
from labs.lab_insight import LEAST, LEAST_OF_GROUP
from labs.views.access import spec_or_404

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from django.http import HttpRequest, HttpResponseBase

    from labs.lab_insight import Insight, Interval, Mean, Quartiles, Share
    from labs.lab_stops import Stops
    from labs.specs import LabSpec


@never_cache
@require_safe
@learner_required
def index(request: HttpRequest) -> HttpResponseBase:
    """Show every lab in a line."""
    whose = taught(request)
    found = class_attempts.briefs(whose.learners)
    rows = [
        {
            "spec": spec,
            "learners": brief.learners,
            "enough": brief.learners >= LEAST,
            "mean": f"{brief.mean:.1f}" if brief.mean is not None else "",
            "passed": _percent(brief.passed / brief.learners) if brief.learners else "",
        }
        for slug, spec in labs().items()
        for brief in [found[slug]]
    ]
    rows.sort(key=lambda row: not row["enough"])
    told = sum(bool(row["enough"]) for row in rows)
    context = {"rows": rows, "told": told, "least": LEAST, "taught": whose}
    return render(request, "labs/insight.html", context)


@never_cache
@require_safe
@learner_required
def lab(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Show what a class did in one version of a lab: the newest, unless another is asked for."""
    spec, whose = spec_or_404(slug), taught(request)
    versions = class_attempts.versions_of(slug, whose.learners)
    asked = request.GET.get("version", "")
    known = {str(each): each for each in versions}
    version = known.get(asked, versions[0] if versions else tree().number(f"labs/{slug}"))
    then = class_attempts.spec_of(spec, version)
    found = class_attempts.insight(then, version, whose.learners)
    stops = class_attempts.stops(slug, version, whose.learners, timezone.now())
    context = {
        "spec": spec,
        "versions": versions,
        "version": version,
        "unknown": asked if asked and asked not in known else "",
        "taught": whose,
        "least": LEAST,
        "least_of_group": LEAST_OF_GROUP,
        "shown": _shown(then, found) if found else None,
        "stops": _stops(stops) if stops.begun >= LEAST else None,
    }
    return render(request, "labs/lab_insight.html", context)


# -------------------------------------------------------------------------------------------- in words


@dataclass(frozen=True)
class Span:
    """An interval drawn on an axis from 0 to 100 %."""

    value: str
    left: str
    width: str


def _shown(spec: LabSpec, found: Insight) -> dict[str, Any]:
    best = next((each for each in found.firsts if each.is_best), None)
    top = best.worth.value if best else 0.0
    longest = max(found.clock.high, found.worked.high, 1.0)
    return {
        "n": found.n,
        "mean": f"{found.mark.value:.1f}",
        "mean_could_be": _points(found.mark.interval),
        "passed": _share(found.passed),
        "of_best": _percent(found.of_best),
        "in_vain": _share(found.changed_in_vain),
        "best": best,
        "best_chosen": _share(best.chosen) if best else None,
        "firsts": [
            {
                "title": each.worth.title,
                "is_best": each.is_best,
                "value": f"{each.worth.value:.2f}",
                "drawn": _percent(each.worth.value / top if top else 0.0),
                "cost": clock(each.worth.seconds),
                **_share(each.chosen),
            }
            for each in found.firsts
        ],
        "none_first": found.none_first,
        "fixes": [
            {
                "title": each.title,
                "made": each.made,
                "in_vain": each.in_vain,
                "drawn": _percent(each.in_vain / found.n),
                "made_drawn": _percent(each.made / found.n),
                "helps_in": _worlds(spec, each.helps_in),
                "vain_in": _worlds(spec, each.vain_in),
            }
            for each in found.fixes
        ],
        "parts": list(_parts(found)),
        "times": [
            {"name": "Incident clock", **_quartiles(found.clock, longest)},
            {"name": "At work", **_quartiles(found.worked, longest)},
        ],
        "worlds": [
            {
                "title": _world(spec, each.key),
                "n": each.n,
                "mean": f"{each.mark.value:.1f}" if each.mark else "",
                "could_be": _points(each.mark.interval) if each.mark else "",
                "span": _span(each.mark, 100.0) if each.mark else None,
                "passed": _percent(each.passed.share) if each.passed else "",
            }
            for each in found.worlds
        ],
        "levels": [
            {
                "percent": each.percent,
                "n": each.n,
                **(_share(each.right) if each.right else {}),
            }
            for each in found.levels
        ],
        "wrong": found.wrong,
    }


def _stops(found: Stops) -> dict[str, Any]:
    most = max((count for _, count in found.phases), default=0)
    return {
        "begun": found.begun,
        "given_up": found.given_up,
        "left": found.left,
        "phases": [
            {"name": name, "count": count, "drawn": _percent(count / most if most else 0.0)}
            for name, count in found.phases
        ],
        "clock": found.clock
        and {name: clock(getattr(found.clock, name)) for name in ("low", "middle", "high")},
    }


def _world(spec: LabSpec, key: str) -> str:
    return spec.hypotheses[key].title if key in spec.hypotheses else key


def _worlds(spec: LabSpec, keys: Sequence[str]) -> str:
    return "; ".join(_world(spec, key) for key in keys)


def _parts(found: Insight) -> Iterator[dict[str, Any]]:
    for name, points, of in found.parts:
        yield {
            "title": name.capitalize(),
            "mean": f"{points.value:.1f}",
            "of": f"{of:g}",
            "could_be": _points(points.interval, most=of),
            "span": _span(points, of),
            "share": _percent(points.value / of),
        }


def _span(found: Mean, most: float) -> Span | None:
    if found.interval is None:
        return None
    low, high = (min(most, max(0.0, end)) / most for end in found.interval)
    return Span(
        f"{100 * found.value / most:.1f}%", f"{100 * low:.1f}%", f"{100 * (high - low):.1f}%"
    )


def _quartiles(found: Quartiles, longest: float) -> dict[str, Any]:
    return {
        **{name: clock(getattr(found, name)) for name in ("low", "middle", "high")},
        "left": f"{100 * found.low / longest:.1f}%",
        "width": f"{100 * (found.high - found.low) / longest:.1f}%",
        "at": f"{100 * found.middle / longest:.1f}%",
    }


def _share(found: Share) -> dict[str, Any]:
    low, high = found.interval
    return {
        "count": found.count,
        "of": found.n,
        "share": _percent(found.share),
        "could_be": f"{_percent(low)} to {_percent(high)}",
        "low": f"{100 * low:.1f}%",
        "reach": f"{100 * (high - low):.1f}%",
    }


def _points(interval: Interval | None, most: float = 100.0) -> str:
    if interval is None:
        return ""
    low, high = (min(most, max(0.0, end)) for end in interval)
    return f"{low:.1f} to {high:.1f}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"

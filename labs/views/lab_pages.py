"""What stands before the room: every lab, the front page of one, and the start of an attempt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from courseware.admission import why_not
from courseware.people import learner_required, may_author, signed_in
from courseware.served import tree
from labs import attempts, leases, pool
from labs.catalogue import lab as lab_of
from labs.catalogue import labs, live_keys
from labs.incident import clock
from labs.lease_order import boxes_up
from labs.lease_words import span
from labs.marking.total import kept_score
from labs.models import Attempt
from labs.specs import LIVE, SpecError, unit_word
from labs.views.access import spec_or_404
from labs.views.prose import prose

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponseBase

    from labs.specs import LabSpec


FAMILIES = (
    ("First tokens come late", ("ttft",)),
    ("Answers stutter or crawl", ("itl", "gap", "tpot", "step", "slow")),
    (
        "Answers fail or do not come",
        (
            "lost",
            "unanswered",
            "unfinished",
            "stranded",
            "open",
            "hung",
            "http",
            "error",
            "failed",
            "clamped",
        ),
    ),
    (
        "Memory and machines",
        (
            "memory",
            "used",
            "free",
            "gpu",
            "growth",
            "reserved",
            "ready",
            "restarts",
            "host",
            "far_numa",
        ),
    ),
    ("Load", ("queue", "running", "kv", "slots", "arrival", "offered", "busy")),
)
"""What rang, in words, and how the names of its signals begin. Never a cause: that is what a lab asks for."""


@require_safe
def index(request: HttpRequest) -> HttpResponseBase:
    """Show every lab, with the visitor's attempts at it."""
    mine = _attempts_of(request)
    rows = [
        _lab_row(spec, [each for each in mine if each.lab_slug == slug])
        for slug, spec in labs().items()
    ]
    under_way = [row for row in rows if row["open"] is not None]
    families = [
        (title, found)
        for title, starts in FAMILIES
        if (found := [row for row in rows if row["spec"].alarm.signal.startswith(starts)])
    ]
    rest = [row for row in rows if not any(row in found for _, found in families)]
    if rest:
        families.append(("Other alarms", rest))
    context = {"under_way": under_way, "families": families, "labs": len(rows)}
    context["teaches"] = may_author(request.user)
    return render(request, "labs/index.html", context)


@require_safe
def lab(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Show a lab's front page: its brief, and one's attempts so far."""
    spec = spec_or_404(slug)
    mine = [each for each in _attempts_of(request) if each.lab_slug == slug]
    live = _live(slug)
    context = {
        **_lab_row(spec, mine),
        "live_brief": "" if live is None else prose(live.spec.key, "brief.md"),
        "brief": prose(slug, "brief.md"),
        "proved": _is_proved(slug),
        "live": live,
        "why_not": _why_not(request, spec),
        "instruments": sum(not each.is_panel for each in spec.instruments.values()),
        "cheapest": clock(min(each.cost_s for each in spec.instruments.values())),
    }
    return render(request, "labs/lab.html", context)


def _paged_at(spec: LabSpec) -> str:
    """Return what rings, in words: the alarm's signal and the value that it must not pass."""
    alarm, unit = spec.alarm, unit_word(spec.alarm_unit)
    side = "above" if alarm.above is not None else "below"
    return f"{spec.alarm_title} {side} {alarm.target:g}{f' {unit}' if unit else ''}"


def _lab_row(spec: LabSpec, mine: list[Attempt]) -> dict[str, Any]:
    scores = [float(each.total) for each in mine if each.total is not None]
    unfinished = (Attempt.Status.OPEN, Attempt.Status.MARKING)
    return {
        "spec": spec,
        "paged_at": _paged_at(spec),
        "attempts": mine,
        "open": next((each for each in mine if each.status in unfinished), None),
        "kept": kept_score(scores) if scores else None,
    }


def _attempts_of(request: HttpRequest) -> list[Attempt]:
    if not request.user.is_authenticated:
        return []
    return list(
        Attempt.objects.of(signed_in(request))
        .filter(trial=tree().trial or None)
        .defer("panel", "mark")
        .order_by("started_at", "pk")
    )


def _why_not(request: HttpRequest, spec: LabSpec) -> str:
    if not request.user.is_authenticated:
        return ""
    learner = signed_in(request)
    return why_not(learner, "lab", spec.slug, lambda: attempts.begun(learner, spec))


START_S = 30
"""What an engine takes to start, about."""


@dataclass(frozen=True)
class _Live:
    """What a lab's page says of real engines."""

    spec: LabSpec
    boxes: int
    """How many are up."""

    @property
    def takes(self) -> str:
        """How long from a free box to the page, in words."""
        return span(START_S - self.spec.timeline.starts_at_s)


def _live(slug: str) -> _Live | None:
    """Return what is offered on real engines; None for a lab that runs on none, or whose scale is not proved."""
    key = f"{slug}{LIVE}"
    if key not in live_keys() or not _is_proved(key):
        return None
    try:
        spec = lab_of(key)
    except SpecError:
        return None
    return _Live(spec, len(boxes_up(timezone.now(), spec.live.boxes if spec.live else ())))


def _is_proved(slug: str) -> bool:
    try:
        pool.admitted(slug)
    except pool.NotProved:
        return False
    return True


@require_POST
@learner_required
def start(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Begin an attempt, on a real engine if that was asked for, or go on with the one that is open."""
    spec = spec_or_404(slug)
    if request.POST.get("backend") == Attempt.Backend.LIVE:
        offered = _live(slug)
        if offered is None:
            messages.error(request, "This lab runs on no real engine now. It is simulated here.")
            return redirect("labs:lab", slug)
        spec = offered.spec
    try:
        attempt = leases.begin(learner=signed_in(request), spec=spec)
    except pool.NotProved:
        messages.error(
            request,
            "This lab is being proved anew and takes no attempts now. Nothing was lost; come back later.",
        )
        return redirect("labs:lab", slug)
    except attempts.NotNow as refused:
        messages.error(request, str(refused))
        return redirect("labs:lab", slug)
    return redirect(attempt)

"""The pages of the drills: one page a drill, which grows with each decision."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_POST, require_safe

from courseware.people import learner_required, may_read, signed_in
from labs.incident import clock
from lessons import drilling
from lessons.by_method import by_method
from lessons.check_cards import inline
from lessons.check_forms import HintForm
from lessons.drill_forms import CommitForm, FixForm, MechanismForm, StrikeForm
from lessons.drills.marking import HINT, left
from lessons.drills.spec import drills, folder_of
from lessons.drills.tables import worth
from lessons.models import DrillAttempt
from lessons.prose import text_html
from lessons.symptoms import symptoms
from lessons.views import is_htmx

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from django import forms
    from django.http import HttpRequest, HttpResponseBase

    from lessons.drills.spec import DrillSpec
    from lessons.symptoms import Symptom

Stage = DrillAttempt.Stage
STAGES = tuple(Stage)
_FORMS: Mapping[Stage, type[CommitForm | StrikeForm | MechanismForm | FixForm]] = {
    Stage.MEASURE: CommitForm,
    Stage.STRIKE: StrikeForm,
    Stage.MECHANISM: MechanismForm,
    Stage.FIX: FixForm,
}
TOTAL = 20
TAKEN = "Nothing was taken: you have that reading, or you have struck suspects out since."
NOT_DUE = (
    "Nothing was changed: that decision was made before, by another click or in another tab, or it "
    "is not due yet. What was decided first stands."
)
NOT_UNDER_WAY = (
    "Nothing was stored: this drill is not under way for you. It ended in another tab, was rewritten "
    "since, or was not begun."
)


@require_safe
def drill(request: HttpRequest, number: str) -> HttpResponseBase:
    """Show a drill as far as one has come in it."""
    spec, _ = _drill_or_404(request, number)
    attempt = None
    if request.user.is_authenticated:
        attempt = drilling.last_attempt(signed_in(request), spec)
    return _page(request, drilling.spec_of(attempt) if attempt else spec, attempt)


@require_POST
@learner_required
def begin(request: HttpRequest, number: str) -> HttpResponseBase:
    """Begin a drill, or go on with it."""
    spec, is_open = _drill_or_404(request, number)
    if is_open:
        drilling.start(signed_in(request), spec)
    return redirect(reverse("lookup:drill", args=[number]) + "#now")


@require_POST
@learner_required
def commit(request: HttpRequest, number: str) -> HttpResponseBase:
    """Commit the first measurement."""
    return _decide(request, number, Stage.MEASURE, drilling.commit)


@require_POST
@learner_required
def take(request: HttpRequest, number: str) -> HttpResponseBase:
    """Take one more measurement."""
    spec, attempt = _under_way(request, number)
    key = request.POST.get("measurement", "")
    if attempt is None:
        return _not_under_way(request, number)
    if key not in spec.measurements:
        messages.error(request, "This drill has no such measurement. Nothing was taken.")
    elif not drilling.take(attempt, key):
        messages.info(request, TAKEN)
    return redirect(reverse("lookup:drill", args=[number]) + "#evidence")


@require_POST
@learner_required
def strike(request: HttpRequest, number: str) -> HttpResponseBase:
    """Strike suspects out."""
    return _decide(request, number, Stage.STRIKE, drilling.strike)


@require_POST
@learner_required
def explain(request: HttpRequest, number: str) -> HttpResponseBase:
    """Say what happens."""
    return _decide(request, number, Stage.MECHANISM, drilling.explain)


@require_POST
@learner_required
def mend(request: HttpRequest, number: str) -> HttpResponseBase:
    """Choose the fix, and be marked."""
    return _decide(request, number, Stage.FIX, drilling.mend)


@learner_required
def _ask_hint(request: HttpRequest, number: str) -> HttpResponseBase:
    spec, attempt = _under_way(request, number)
    if attempt is None:
        return _not_under_way(request, number)
    form = HintForm(request.POST)
    wanted = form.cleaned_data["hint"] if form.is_valid() else 0
    stage = request.GET.get("stage", "")
    if stage not in {"", attempt.stage}:
        return _made_before(request, number)
    asked = "now" if drilling.ask_hint(attempt, wanted, stage=stage) else "none"
    if is_htmx(request):
        return _hints(request, spec, attempt, asked)
    kept = _form(spec, attempt, request.POST)
    return _page(request, spec, attempt, kept, asked=asked)


@learner_required
def _hints_now(request: HttpRequest, number: str) -> HttpResponseBase:
    spec, attempt = _under_way(request, number)
    if is_htmx(request) and attempt is not None:
        return _hints(request, spec, attempt, "")
    return _back(request, number)


hint = by_method(show=_hints_now, take=_ask_hint)


def _hints(
    request: HttpRequest, spec: DrillSpec, attempt: DrillAttempt, asked: str
) -> HttpResponseBase:
    context = {"spec": spec, "hints": _hints_of(spec, attempt, asked)}
    return render(request, "lessons/_drill_hints.html", context)


def _drill_or_404(request: HttpRequest, number: str) -> tuple[DrillSpec, bool]:
    spec, symptom = drills().get(number), symptoms().get(number)
    if spec is None or symptom is None:
        raise Http404
    return spec, may_read(request.user, symptom.tier)


def _under_way(request: HttpRequest, number: str) -> tuple[DrillSpec, DrillAttempt | None]:
    spec, is_open = _drill_or_404(request, number)
    attempt = drilling.open_attempt(signed_in(request), spec) if is_open else None
    return (drilling.spec_of(attempt) if attempt else spec), attempt


def _back(request: HttpRequest, number: str) -> HttpResponseBase:
    """Lead to the decision that is due, from wherever the request came."""
    address = reverse("lookup:drill", args=[number]) + "#now"
    if is_htmx(request):
        return HttpResponse(headers={"HX-Redirect": address})
    return redirect(address)


def _not_under_way(request: HttpRequest, number: str) -> HttpResponseBase:
    kept = f" You wrote: “{why}”" if (why := request.POST.get("why", "").strip()[:300]) else ""
    messages.info(request, f"{NOT_UNDER_WAY}{kept}")
    return _back(request, number)


def _made_before(request: HttpRequest, number: str) -> HttpResponseBase:
    messages.info(request, NOT_DUE)
    return _back(request, number)


def _decide(
    request: HttpRequest, number: str, stage: Stage, decide: Callable[..., bool]
) -> HttpResponseBase:
    """Take a decision if it is the one that is due; ``decide`` tells whether it was."""
    spec, attempt = _under_way(request, number)
    if attempt is None:
        return _not_under_way(request, number)
    if attempt.stage != stage:
        return _made_before(request, number)
    form = _FORMS[stage](spec, request.POST)
    if not form.is_valid():
        return _page(request, spec, attempt, form, status=422)
    if not decide(attempt, **form.cleaned_data):
        return _made_before(request, number)
    return _back(request, number)


# ------------------------------------------------------------------------------------- what is shown


def _page(
    request: HttpRequest,
    spec: DrillSpec,
    attempt: DrillAttempt | None,
    form: forms.Form | None = None,
    *,
    status: int = 200,
    asked: str = "",
) -> HttpResponseBase:
    symptom = symptoms()[spec.number]
    context: dict[str, Any] = {
        "spec": spec,
        "symptom": symptom,
        "open": may_read(request.user, symptom.tier),
        "scene": _html(spec, "scene.md"),
        "attempt": attempt,
        "steps": _steps(attempt),
        "form": form if form is not None else _form(spec, attempt),
        "measurements": _measurements(spec, attempt),
        "readings": [] if attempt is None else _readings(spec, attempt),
        "suspects": _suspects(spec, attempt),
    }
    if attempt is not None and attempt.stage != Stage.DONE:
        context["hints"] = _hints_of(spec, attempt, asked)
    if attempt is not None and attempt.stage == Stage.DONE:
        context["told"] = _told(spec, symptom, attempt)
    return render(request, "lessons/drill.html", context, status=status)


def _form(
    spec: DrillSpec, attempt: DrillAttempt | None, typed: Mapping[str, Any] | None = None
) -> forms.Form | None:
    """Return the form of the decision that is due; with what was ``typed``, but not judged."""
    chosen = None if attempt is None else _FORMS.get(Stage(attempt.stage))
    return None if chosen is None else chosen(spec, typed, judged=typed is None)


def _hints_of(spec: DrillSpec, attempt: DrillAttempt, asked: str) -> dict[str, Any] | None:
    """Return the hints of the decision under way; None if it has none. What is not open is left out."""
    texts = spec.hints_for(attempt.stage)
    if not texts:
        return None
    now, opens = timezone.now(), drilling.hints_of(attempt)
    opened = sum(at <= now for at in opens)
    waits = opens[opened:]
    return {
        "stage": attempt.stage,
        "opened": [inline(line) for line in texts[:opened]],
        "waits_s": math.ceil((waits[0] - now).total_seconds()) if waits else 0,
        # The button stays when there is none left: only asking tells.
        "number": 0 if waits or asked == "none" else len(opens) + 1,
        "wait_s": drilling.HINT_WAIT_S,
        "price": f"{HINT:g}",
        "asked": asked,
    }


def _steps(attempt: DrillAttempt | None) -> list[dict[str, Any]]:
    at = -1 if attempt is None else STAGES.index(Stage(attempt.stage))
    return [
        {"title": stage.label, "state": "done" if place < at else "now" if place == at else "ahead"}
        for place, stage in enumerate(STAGES)
    ]


def _measurements(spec: DrillSpec, attempt: DrillAttempt | None) -> list[dict[str, Any]]:
    taken = [] if attempt is None else attempt.taken
    return [
        {"key": key, "measurement": each, "cost": clock(each.cost_s), "taken": key in taken}
        for key, each in spec.measurements.items()
    ]


def _readings(spec: DrillSpec, attempt: DrillAttempt) -> list[dict[str, Any]]:
    prints = drilling.observed(attempt).prints
    return [
        {
            "measurement": spec.measurements[key],
            "lines": prints[key],
            "cost": clock(spec.measurements[key].cost_s),
        }
        for key in attempt.taken
    ]


def _suspects(spec: DrillSpec, attempt: DrillAttempt | None) -> list[dict[str, Any]]:
    struck = [] if attempt is None else attempt.struck
    return [
        {"key": key, "title": each.title, "struck": key in struck}
        for key, each in spec.suspects.items()
    ]


def _told(spec: DrillSpec, symptom: Symptom, attempt: DrillAttempt) -> dict[str, Any]:
    world = spec.world_of(attempt.seed)
    before, after = drilling.observed(attempt), drilling.observed(attempt, fix=attempt.fix)
    likely = left(spec, before.values, attempt.taken)
    known, alarm = worth(spec), spec.signals[spec.symptom.signal]
    most = max(each.value for each in known.values()) or 1.0
    return {
        "world": spec.suspects[world],
        "total": f"{attempt.total:g}",
        "of": TOTAL,
        "parts": attempt.parts,
        "mechanism": spec.mechanisms[attempt.mechanism],
        "fix": spec.fixes[attempt.fix],
        "right_mechanism": spec.mechanisms[spec.suspects[world].mechanism],
        "right_fix": spec.fixes[spec.suspects[world].fix],
        "alarm": alarm,
        "before": _number(before.values[spec.symptom.signal], alarm.unit),
        "after": _number(after.values[spec.symptom.signal], alarm.unit),
        "held": _number(spec.symptom.held, alarm.unit),
        "is_held": _value(after.values[spec.symptom.signal]) <= spec.symptom.held,
        "likely": [
            {"title": each.title, "share": round(100 * likely[key]), "true": key == world}
            for key, each in spec.suspects.items()
        ],
        "worth": [
            {
                "title": spec.measurements[key].title,
                "bits": f"{known[key].information:.2f}",
                "value": f"{known[key].value:.2f}",
                "width": round(100 * known[key].value / most),
                "yours": key == attempt.taken[0],
            }
            for key in sorted(known, key=lambda key: -known[key].value)
        ],
        "debrief": _html(spec, "debrief.md"),
        "symptom": symptom,
    }


def _value(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _number(value: object, unit: str) -> str:
    """Return a reading in a sentence: a share as per cent, a ratio as times, anything else with its unit."""
    number = _value(value)
    if unit == "share":
        return f"{100 * number:.0f} %"
    words = f"{number:,.0f}" if number >= 10 else f"{number:.3g}"  # noqa: PLR2004
    return f"{words} {'times' if unit == 'ratio' else unit}".strip()


def _html(spec: DrillSpec, name: Any) -> str:
    return mark_safe(text_html(folder_of(spec.key) / name))  # noqa: S308  (the course's own text)

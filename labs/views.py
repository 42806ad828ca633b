"""The pages of the labs: fetch what is the learner's own, validate a form, call one function, choose page or fragment."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import markdown
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.safestring import mark_safe
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST, require_safe

from courseware.people import learner_required, signed_in
from labs import attempts, debrief, pool, room
from labs.catalogue import labs, text_of
from labs.forms import (
    BeliefsForm,
    DiagnosisForm,
    ExplanationForm,
    FlagsForm,
    PredictionForm,
    diagnosis_initial,
)
from labs.incident import clock
from labs.marking.total import kept_score
from labs.models import Action, Attempt

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from django.http import HttpResponseBase

    from labs.specs import LabSpec


Kind = Action.Kind
BUSY, INVALID = 409, 422
SOON_S = 0.5
"""Most readings are there within so long: then they come with the answer to the click, and without a flicker."""
LOOK_EVERY_S = 0.02


# ----------------------------------------------------------------------------------- before the room


@require_safe
def index(request: HttpRequest) -> HttpResponseBase:
    """Show every lab, with the visitor's attempts at it."""
    mine = _attempts_of(request)
    rows = [
        _lab_row(spec, [each for each in mine if each.lab_slug == slug])
        for slug, spec in labs().items()
    ]
    # A lab that is under way comes first.
    rows.sort(key=lambda row: row["open"] is None)
    return render(request, "labs/index.html", {"rows": rows})


@require_safe
def lab(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Show a lab's front page: its brief, and one's attempts so far."""
    spec = _spec_or_404(slug)
    mine = [each for each in _attempts_of(request) if each.lab_slug == slug]
    context = {
        **_lab_row(spec, mine),
        "brief": _html(text_of(slug, "brief.md")),
        "proved": _is_proved(slug),
        "cheapest": clock(min(each.cost_s for each in spec.instruments.values())),
    }
    return render(request, "labs/lab.html", context)


def _lab_row(spec: LabSpec, mine: list[Attempt]) -> dict[str, Any]:
    scores = [float(each.total) for each in mine if each.total is not None]
    unfinished = (Attempt.Status.OPEN, Attempt.Status.MARKING)
    return {
        "spec": spec,
        "attempts": mine,
        "open": next((each for each in mine if each.status in unfinished), None),
        "kept": kept_score(scores) if scores else None,
    }


def _attempts_of(request: HttpRequest) -> list[Attempt]:
    if not request.user.is_authenticated:
        return []
    return list(
        Attempt.objects.of(signed_in(request)).defer("panel", "mark").order_by("started_at", "pk")
    )


def _is_proved(slug: str) -> bool:
    try:
        pool.admitted(slug)
    except pool.NotProved:
        return False
    return True


@require_POST
@learner_required
def start(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Begin an attempt, or go on with the one that is open."""
    spec = _spec_or_404(slug)
    try:
        attempt = attempts.start_attempt(learner=signed_in(request), spec=spec)
    except pool.NotProved:
        messages.error(
            request,
            "This lab is being proved anew and takes no attempts now. Nothing was lost; come back later.",
        )
        return redirect("labs:lab", slug)
    return redirect(attempt)


# ------------------------------------------------------------------------------------------ the room


@require_safe
@never_cache
@learner_required
def show(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Show the room of an attempt; a marked one goes to its debrief."""
    attempt = _attempt_or_404(request, public_id)
    if attempt.status == Attempt.Status.MARKED:
        return redirect("labs:debrief", public_id)
    return _room(request, attempt)


@require_GET
@never_cache
@learner_required
def parts(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Answer a page that looks again: 204 if it has seen everything, its progress bar, or the working parts."""
    attempt = _attempt_or_404(request, public_id)
    if attempt.status == Attempt.Status.MARKED:
        response = HttpResponse(status=204)
        response["HX-Redirect"] = _debrief_url(attempt)
        return response
    found = room.room_of(attempt)
    if request.GET.get("seen") != found.version:
        return _room(request, attempt)
    if found.under_way is None:
        return HttpResponse(status=204)
    response = render(request, "labs/_under_way.html", {"room": found, "attempt": attempt})
    response["HX-Retarget"] = "#under-way"
    response["HX-Reswap"] = "outerHTML"
    return response


def _room(
    request: HttpRequest,
    attempt: Attempt,
    *,
    status: int = 200,
    problem: str = "",
    line: str | None = None,
    taken: str = "",
    **bound: Any,
) -> HttpResponse:
    """Render the room or its working parts.

    ``bound`` holds the form that did not validate, ``taken`` names the one that was just stored: both come anew,
    while what stands half-typed in the others stays.
    """
    found = room.room_of(attempt)
    context: dict[str, Any] = {
        "room": found,
        "attempt": attempt,
        "spec": found.spec,
        "problem": problem,
        "taken": taken,
        "line": found.refused_line if line is None else line,
        "prediction_form": bound.get("prediction") or PredictionForm(),
        "flags_form": bound.get("flags") or FlagsForm(),
        "diagnosis_form": bound.get("diagnosis") or _diagnosis_form(found),
        "explanation_form": bound.get("explanation") or _explanation_form(found),
    }
    options = context["diagnosis_form"].options
    context["cites"] = [
        {**asdict(each), "field": each.field, "options": options[each.field]}
        for each in found.citable
    ]
    template = "labs/_room.html" if _is_htmx(request) else "labs/room.html"
    return render(request, template, context, status=status)


def _diagnosis_form(found: room.Room) -> DiagnosisForm:
    initial = (
        diagnosis_initial(found.diagnoses[-1].payload, found.citable) if found.diagnoses else None
    )
    return DiagnosisForm(found.spec, found.citable, initial=initial)


def _explanation_form(found: room.Room) -> ExplanationForm:
    said = found.explanation
    return ExplanationForm(initial={"text": said.payload.get("text", "")} if said else None)


def _done(
    request: HttpRequest, attempt: Attempt, anchor: str = "", *, taken: str = ""
) -> HttpResponseBase:
    """Answer a form that was taken: the working parts anew, or back to the room."""
    if _is_htmx(request):
        attempt.refresh_from_db()
        return _room(request, attempt, taken=taken)
    return redirect(f"{attempt.get_absolute_url()}{anchor}")


def _taken(
    request: HttpRequest,
    attempt: Attempt,
    do: Callable[[], object],
    anchor: str = "",
    *,
    form: str = "",
    **typed: Any,
) -> HttpResponseBase:
    """Do what a form asks for; while something is under way or the attempt is closed, say so and keep the input."""
    try:
        do()
    except attempts.Busy:
        attempt.refresh_from_db()
        busy = room.room_of(attempt).under_way
        problem = (
            f"One thing at a time: “{busy.what}” is still running. Nothing was charged."
            if busy
            else "You have another attempt at this lab under way. Close it or give it up first."
            if attempt.status == Attempt.Status.NOT_GRADED
            else "One thing at a time: something else was just taken. Try again."
        )
        return _room(request, attempt, status=BUSY, problem=problem, **typed)
    except attempts.Closed:
        attempt.refresh_from_db()
        problem = "This attempt is closed and takes no more actions."
        return _room(request, attempt, status=BUSY, problem=problem, **typed)
    return _done(request, attempt, anchor, taken=form)


@require_POST
@learner_required
def command(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Take a typed or clicked command."""
    attempt = _attempt_or_404(request, public_id)
    line = request.POST.get("command", "")
    if _not_predicted(attempt):
        return _room(request, attempt, status=BUSY, problem="Commit your prediction first.")
    found: list[Action] = []

    def do() -> None:
        found.append(attempts.command(attempt, line))
        _wait_a_moment(found[0])

    response = _taken(request, attempt, do, "#console", line=line)
    if found and found[0].status == Action.Status.REFUSED and not _is_htmx(request):
        return _room(request, attempt, status=INVALID, line=line)
    return response


def _wait_a_moment(action: Action) -> None:
    """Return when an action is over, or after SOON_S: the page is told of the rest by its stream."""
    until = time.monotonic() + SOON_S
    rows = Action.objects.filter(pk=action.pk).under_way()
    while time.monotonic() < until and rows.exists():
        time.sleep(LOOK_EVERY_S)


def _not_predicted(attempt: Attempt) -> bool:
    return not attempt.actions.filter(kind=Kind.PREDICT, status=Action.Status.DONE).exists()


@require_POST
@learner_required
def restart(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Take the small form of engine flags: the same as typing its restart line."""
    attempt = _attempt_or_404(request, public_id)
    form = FlagsForm(request.POST)
    if not form.is_valid():
        return _room(request, attempt, status=INVALID, flags=form)
    if _not_predicted(attempt):
        return _room(request, attempt, status=BUSY, problem="Commit your prediction first.")
    line = form.line()
    return _taken(
        request,
        attempt,
        lambda: _wait_a_moment(attempts.command(attempt, line)),
        "#console",
        form="flags",
        flags=form,
        line="",
    )


@require_GET
@learner_required
def price(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Say what a typed line would cost, before it is run."""
    attempt = _attempt_or_404(request, public_id)
    return HttpResponse(
        room.price(attempt.spec, request.GET.get("command", "")), content_type="text/plain"
    )


@require_POST
@learner_required
def predict(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Commit the prediction; the world is shown from then on."""
    attempt = _attempt_or_404(request, public_id)
    form = PredictionForm(request.POST)
    if not form.is_valid():
        return _room(request, attempt, status=INVALID, prediction=form)
    if not _not_predicted(attempt):
        return _done(request, attempt)
    return _taken(
        request,
        attempt,
        lambda: attempts.record(attempt, Kind.PREDICT, form.cleaned_data),
        prediction=form,
    )


@require_POST
@learner_required
def believe(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Note how likely the learner holds each hypothesis. Free, and never marked."""
    attempt = _attempt_or_404(request, public_id)
    form = BeliefsForm(attempt.spec, request.POST)
    if not form.is_valid():
        problem = "A belief is a whole number from 0 to 100; 0 rules out."
        return _whole(_room(request, attempt, status=INVALID, problem=problem))
    response = _taken(
        request,
        attempt,
        lambda: attempts.record(attempt, Kind.BELIEFS, form.beliefs()),
        "#hypotheses",
    )
    if _is_htmx(request) and response.status_code == 200:  # noqa: PLR2004
        found = room.room_of(attempt)
        return render(request, "labs/_beliefs.html", {"room": found, "attempt": attempt})
    return _whole(response)


def _whole(response: HttpResponseBase) -> HttpResponseBase:
    """Have htmx put an answer in place of the whole room, whatever part had asked."""
    response["HX-Retarget"] = "#room"
    response["HX-Reswap"] = "innerHTML"
    return response


@require_POST
@learner_required
def diagnose(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Commit a diagnosis; a later one replaces it."""
    attempt = _attempt_or_404(request, public_id)
    found = room.room_of(attempt)
    form = DiagnosisForm(found.spec, found.citable, request.POST)
    if not form.is_valid():
        return _room(request, attempt, status=INVALID, diagnosis=form)
    return _taken(
        request,
        attempt,
        lambda: attempts.record(attempt, Kind.DIAGNOSE, form.payload()),
        "#diagnosis",
        form="diagnosis",
        diagnosis=form,
    )


@require_POST
@learner_required
def explain(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Keep the explanation; a later one replaces it."""
    attempt = _attempt_or_404(request, public_id)
    form = ExplanationForm(request.POST)
    if not form.is_valid():
        return _room(request, attempt, status=INVALID, explanation=form)
    return _taken(
        request,
        attempt,
        lambda: attempts.record(attempt, Kind.EXPLAIN, form.cleaned_data),
        "#explanation",
        form="explanation",
        explanation=form,
    )


@require_POST
@learner_required
def finish(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Close the incident and have it marked."""
    attempt = _attempt_or_404(request, public_id)
    return _taken(request, attempt, lambda: attempts.finish(attempt))


@require_POST
@learner_required
def cancel(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Cancel what is under way. If it has just finished, the page shows that."""
    attempt = _attempt_or_404(request, public_id)
    action = attempt.actions.filter(seq=_seq(request)).first()
    if action is None:
        raise Http404
    attempts.cancel(action)
    return _done(request, attempt, "#console")


@require_POST
@learner_required
def again(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Take up again what failed: bringing the world to its page, or the marking."""
    attempt = _attempt_or_404(request, public_id)

    def do() -> None:
        if attempt.status == Attempt.Status.NOT_GRADED:
            attempts.mark_again(attempt)
        else:
            attempts.take_up_again(attempt)

    return _taken(request, attempt, do)


@learner_required
def give_up(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Ask, then end the attempt without a mark."""
    attempt = _attempt_or_404(request, public_id)
    context = {"attempt": attempt, "spec": attempt.spec}
    if request.method != "POST":
        return render(request, "labs/give_up.html", context)
    try:
        attempts.give_up(attempt)
    except attempts.Busy:
        context["problem"] = "Something is still running. Cancel it or let it finish, then give up."
        return render(request, "labs/give_up.html", context, status=BUSY)
    messages.info(request, f"Attempt {attempt.number} is given up. It has no mark.")
    return redirect("labs:lab", attempt.lab_slug)


# --------------------------------------------------------------------------------------- the debrief


@require_safe
@never_cache
@learner_required
def show_debrief(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Show a marked attempt: the mark with its reasons, and what computation knows about it."""
    attempt = _attempt_or_404(request, public_id)
    if attempt.status != Attempt.Status.MARKED or attempt.mark is None:
        return redirect(attempt)
    found = room.room_of(attempt)
    review = getattr(attempt, "review", None)
    shown = debrief.debrief(
        attempt.spec,
        attempt.mark,
        [
            debrief.Entry(each.kind, each.payload, each.outcome or {}, each.at_s or 0, each.cost_s)
            for each in found.actions
            if each.status == Action.Status.DONE
        ],
        clock_s=attempt.clock_s,
    )
    context = {
        "attempt": attempt,
        "spec": attempt.spec,
        "shown": shown,
        "text": _html(text_of(attempt.lab_slug, "debrief.md")),
        "explanation": found.explanation.payload.get("text", "") if found.explanation else "",
        "review": debrief.review(attempt.spec, review.points, review.comment)
        if review is not None and review.released_at is not None
        else None,
        "waits_for_review": review is not None and review.released_at is None,
    }
    return render(request, "labs/debrief.html", context)


# --------------------------------------------------------------------------------------------- parts


def _spec_or_404(slug: str) -> LabSpec:
    try:
        return labs()[slug]
    except KeyError:
        raise Http404 from None


def _attempt_or_404(request: HttpRequest, public_id: UUID) -> Attempt:
    """Return one's own attempt. Another's is a 404: that it exists is not said."""
    attempt = (
        Attempt.objects.of(signed_in(request))
        .select_related("review")
        .filter(public_id=public_id)
        .first()
    )
    if attempt is None or attempt.lab_slug not in labs():
        raise Http404
    return attempt


def _debrief_url(attempt: Attempt) -> str:
    return f"{attempt.get_absolute_url()}debrief/"


def _is_htmx(request: HttpRequest) -> bool:
    return bool(getattr(request, "htmx", False))


def _seq(request: HttpRequest) -> int:
    try:
        return int(request.POST.get("seq", ""))
    except ValueError:
        raise Http404 from None


def _html(text: str) -> str:
    """Render our own Markdown; tables scroll by themselves."""
    html = markdown.markdown(text, extensions=["tables", "sane_lists"])
    html = html.replace(
        "<table>",
        '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>',
    ).replace("</table>", "</table></div>")
    # A corner without words is no heading.
    html = html.replace("<th></th>", "<td></td>")
    return mark_safe(html)  # noqa: S308  (the text of the lab's own folder)

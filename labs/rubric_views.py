"""The rubric of a lab for those who read by it: edited item by item, looked at before it counts, applied, taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import messages
from django.http import Http404
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from courseware.people import grader_required, signed_in
from labs import rubric_edits, rubric_forms
from labs.catalogue import labs
from labs.review_rows import page
from labs.rubric_editions import at, current, currents, history
from labs.rubric_edits import MOST_REASON_CHARACTERS, Stale, Unchanged
from labs.rubric_points import changes, is_reordered, summary
from labs.rubric_words import names_of

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse, HttpResponseBase

    from labs.rubric_editions import Edition
    from labs.rubric_forms import RubricForm, TypedItem
    from labs.rubrics import Item


class ReasonForm(forms.Form):
    """Why a rubric is changed."""

    reason = forms.CharField(
        max_length=MOST_REASON_CHARACTERS,
        error_messages={
            "required": "Say why: learners whose points move read it.",
            "max_length": f"{MOST_REASON_CHARACTERS} characters at most; this has %(show_value)s.",
        },
    )


@require_safe
@grader_required
def index(request: HttpRequest) -> HttpResponseBase:
    """List the rubrics of all labs."""
    found = currents(labs())
    rows = [(spec, found[slug]) for slug, spec in labs().items()]
    return page(request, "labs/rubrics.html", {"rows": rows})


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@grader_required
def edit(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Show a lab's rubric as a form; with POST, do what one of its buttons says."""
    if slug not in labs():
        raise Http404
    now = current(slug)
    if request.method != "POST":
        return _page(request, now, rubric_forms.shown(now.rubric))
    based_on = _based_on(request, now)
    do = request.POST.get("do", "preview")
    form = rubric_forms.typed(request.POST.dict(), now.rubric)
    if (moved := rubric_forms.done(form, do)) is not None:
        return _page(request, now, moved, based_on=based_on)
    form = rubric_forms.checked(form, now.rubric, names_of(labs()[slug]))
    if based_on != now.number:
        return _page(request, now, form, conflict=at(slug, based_on), status=409)
    if form.rubric is None:
        return _page(request, now, form, status=422)
    if do != "apply" or request.POST.get("previewed") != form.digest:
        return _page(request, now, form, is_preview=True, is_other=do == "apply")
    return _apply(request, now, form)


def _apply(request: HttpRequest, now: Edition, form: RubricForm) -> HttpResponseBase:
    reason = ReasonForm(request.POST)
    if not reason.is_valid() or form.rubric is None:
        return _page(request, now, form, is_preview=True, reason=reason, status=422)
    try:
        stored = rubric_edits.apply(
            now.lab_slug,
            form.rubric,
            based_on=now.number,
            author=signed_in(request),
            reason=reason.cleaned_data["reason"],
        )
    except Stale as stale:
        return _page(request, stale.now, form, conflict=now, reason=reason, status=409)
    except Unchanged:
        messages.info(request, "It says what it said: nothing was stored.")
        return redirect("labs:rubric", now.lab_slug)
    told = summary(rubric_edits.moves_of(stored))
    messages.success(request, f"Edition {stored.number} stands; it {told}.")
    return redirect("labs:rubric", now.lab_slug)


@require_POST
@grader_required
def undo(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Take the newest edition of a rubric back, with what it did to points."""
    if slug not in labs():
        raise Http404
    now, reason = current(slug), ReasonForm(request.POST)
    if not reason.is_valid():
        form = rubric_forms.shown(now.rubric)
        return _page(request, now, form, undo=reason, status=422)
    try:
        stored = rubric_edits.undo(
            slug,
            _based_on(request, now),
            author=signed_in(request),
            reason=reason.cleaned_data["reason"],
        )
    except Stale:
        messages.warning(request, "Not taken back: there is a newer edition. Look at it first.")
        return redirect("labs:rubric", slug)
    except Unchanged:
        messages.info(request, "This is the lab's own file: there is nothing to take back.")
        return redirect("labs:rubric", slug)
    messages.success(
        request, f"Edition {stored.number} says again what edition {stored.number - 2} said."
    )
    return redirect("labs:rubric", slug)


def _based_on(request: HttpRequest, now: Edition) -> int:
    sent = request.POST.get("based_on", "")
    return int(sent) if sent.isascii() and sent.isdecimal() and len(sent) < 9 else now.number  # noqa: PLR2004


def _page(
    request: HttpRequest,
    now: Edition,
    form: RubricForm,
    *,
    based_on: int | None = None,
    is_preview: bool = False,
    is_other: bool = False,
    conflict: Edition | None = None,
    reason: ReasonForm | None = None,
    undo: ReasonForm | None = None,
    status: int = 200,
) -> HttpResponse:
    """Answer with the form. ``conflict`` is the edition on which it was based, if that is not the newest."""
    spec = labs()[now.lab_slug]
    context: dict[str, Any] = {
        "spec": spec,
        "now": now,
        "form": form,
        "based_on": now.number if conflict or based_on is None else based_on,
        "names": [f"{{{{ {name} }}}}" for name in names_of(spec)],
        "conflict": conflict,
        "is_other": is_other,
        "reason": reason,
        "undo": undo,
        "most_reason": MOST_REASON_CHARACTERS,
        "editions": [
            (each, rubric_edits.moves_of(each), summary(rubric_edits.moves_of(each)))
            for each in history(now.lab_slug)
        ],
    }
    if conflict:
        context["sides"] = _sides(now, form)
    if is_preview and form.rubric is not None:
        context |= {
            "effect": rubric_edits.effect_of(now, form.rubric),
            "changes": list(changes(now.rubric, form.rubric)),
            "is_reordered": is_reordered(now.rubric, form.rubric),
        }
    return page(request, "labs/rubric.html", context, status)


def _sides(now: Edition, form: RubricForm) -> list[dict[str, Any]]:
    """Return what stands beside what was typed, item by item."""
    typed = {each.key: each for each in form.items}
    keys = [*now.rubric.keys, *(key for key in typed if now.rubric.item(key) is None)]
    return [_side(now.rubric.item(key), typed.get(key)) for key in keys]


def _side(stands: Item | None, typed: TypedItem | None) -> dict[str, Any]:
    same = (
        stands is not None
        and typed is not None
        and (stands.title, str(stands.points), stands.note)
        == (typed.title.strip(), typed.points, typed.note.strip())
    )
    return {"stands": stands, "typed": typed, "apart": not same}

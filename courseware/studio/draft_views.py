"""The writing desk: one file of a draft at a time, what is wrong with it, and how it would be shown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import Http404
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from courseware import served
from courseware.models import Draft
from courseware.people import instructor_required, signed_in
from courseware.studio import drafts, store, trials
from courseware.studio.diffs import differences
from courseware.studio.forms import PublishForm
from courseware.studio.looking import Look, look_at
from courseware.studio.pieces import piece_at, texts_in
from courseware.studio.publishing import Conflict, Refused
from courseware.studio.titles import page_of, title_of
from labs import draft_proofs
from labs.models import DraftProof

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest, HttpResponse, HttpResponseBase

_LINE = re.compile(r":(?P<line>\d+):")
_COUNT = re.compile(r"(?P<stage>table|pool|plays): (?P<done>\d+)(?: of (?P<of>\d+))?")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@instructor_required
def draft(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Show one file of a draft in an editor; with POST, save it and go where a button leads."""
    found = _draft_or_404(public_id)
    if request.method == "POST":
        return _save(request, found)
    return _page(request, found, _file_of(found, request.GET.get("file", "")))


@require_POST
@instructor_required
def look(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Answer with what is wrong with a text that is being typed, and how it would be shown. Nothing is stored."""
    found = _draft_or_404(public_id)
    name = _file_of(found, request.POST.get("file", ""))
    text = _typed(request)
    return render(request, "studio/_look.html", _looked(found, name, text))


@never_cache
@require_safe
@instructor_required
def preview(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Show a text of a draft by itself, as its readers see it."""
    found = _draft_or_404(public_id)
    name = _file_of(found, request.GET.get("file", ""))
    looked = _look(found, name, found.texts[name], request.GET.dict())
    if looked.preview is None:
        raise Http404
    return render(
        request,
        "preview/page.html",
        {
            **looked.preview.context,
            "preview": looked.preview,
            "template": f"preview/_{looked.preview.kind}.html",
            "seen": "draft",
        },
    )


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@instructor_required
def files(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Show a draft's files; with POST, add one, or take one away."""
    found = _draft_or_404(public_id)
    if request.method != "POST":
        return redirect(found)
    name, version = request.POST.get("name", "").strip(), _version(request)
    is_gone = request.POST.get("do") == "remove"
    if is_gone and name not in found.texts:
        return redirect(found)
    try:
        if not is_gone:
            drafts.refuse_name(found, name)
        texts = {name: None if is_gone else found.texts.get(name, "")}
        drafts.save(found, version=version, by=signed_in(request), texts=texts)
    except drafts.Unfit as unfit:
        return _page(
            request, found, _file_of(found, ""), name_fault=f"{unfit}.", new_name=name, status=422
        )
    except drafts.Stale:
        messages.error(
            request, "The draft was saved from another page since. Look, and do it again."
        )
        return redirect(found)
    where = "" if is_gone else f"?file={name}"
    return redirect(f"{found.get_absolute_url()}{where}")


def _save(request: HttpRequest, found: Draft) -> HttpResponseBase:
    name, text, do = _file_of(found, request.POST.get("file", "")), _typed(request), "save"
    do = request.POST.get("do", do)
    try:
        drafts.save(found, version=_version(request), by=signed_in(request), texts={name: text})
    except drafts.Unfit as unfit:
        return _page(request, found, name, text=text, fault=f"{unfit}.", status=422)
    except drafts.Stale as stale:
        return _page(request, stale.draft, name, text=text, is_stale=True, status=409)
    here = f"{found.get_absolute_url()}?file={name}"
    if do == "publish":
        return redirect("studio:publish", found.public_id)
    if do == "prove":
        return prove(request, found.public_id)
    if do == "try":
        return try_it(request, found.public_id)
    messages.success(request, f"{name} is saved in the draft. Readers see it once it is published.")
    return redirect(here)


# ----------------------------------------------------------------------------------- proving, trying


@require_POST
@instructor_required
def prove(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Have a lab's draft proved on the workers."""
    found = _draft_or_404(public_id)
    if piece_at(found.piece).kind != "lab":
        raise Http404
    looked = _look(found, "lab.toml", found.texts.get("lab.toml", ""))
    if looked.faults:
        messages.error(request, "lab.toml cannot be read yet: mend what stands beside it first.")
        return redirect(f"{found.get_absolute_url()}?file=lab.toml")
    draft_proofs.ask(drafts.state_to_prove(found))
    return redirect("studio:proof", found.public_id)


@never_cache
@require_safe
@instructor_required
def proof(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Show how far a draft's proof is, and what it found."""
    found = _draft_or_404(public_id)
    context = {
        "draft": found,
        "piece": piece_at(found.piece),
        "title": title_of(found.piece),
        **_proved(found),
    }
    is_part = request.headers.get("HX-Request") == "true"
    return render(request, "studio/_proof.html" if is_part else "studio/proof.html", context)


@require_POST
@instructor_required
def cancel_proof(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Stop a proof that is under way."""
    found = _draft_or_404(public_id)
    known = drafts.proof_of(found)
    if known is not None and draft_proofs.cancel(known):
        messages.success(request, "The proof is cancelled. What the draft says is as it was.")
    return redirect("studio:proof", found.public_id)


@require_POST
@instructor_required
def try_it(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Let the author read the course with the draft in it, as a learner does."""
    found = _draft_or_404(public_id)
    faults = trials.begin(request, found)
    if faults:
        return _page(request, found, _file_of(found, ""), refused=faults, status=422)
    return redirect(_trial_page(request, found))


@require_POST
@instructor_required
def end_trial(request: HttpRequest) -> HttpResponseBase:
    """Let the author read the course as it is served again."""
    tried = trials.under_way(request)
    trials.end(request)
    there = Draft.objects.filter(public_id=tried["draft"]).first() if tried else None
    return redirect(there or "studio:index")


def _trial_page(request: HttpRequest, found: Draft) -> str:
    with served.trying_or_not(trials.tree_for(request)):
        return page_of(found.piece) or "/"


# --------------------------------------------------------------------------------------- publishing


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@instructor_required
def publish(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Show what a draft changes; with POST, publish it, or say what stands against that."""
    found = _draft_or_404(public_id)
    if request.method != "POST":
        return _publish_page(request, found, PublishForm(initial={"version": found.version}))
    form = PublishForm(request.POST)
    if not form.is_valid():
        return _publish_page(request, found, form, status=422)
    try:
        made = drafts.publish(
            found,
            version=form.cleaned_data["version"],
            by=signed_in(request),
            note=form.cleaned_data["note"],
        )
    except drafts.Stale:
        return _publish_page(request, _draft_or_404(public_id), form, is_stale=True, status=409)
    except Conflict:
        return _publish_page(request, found, form, status=409)
    except Refused as refused:
        return _publish_page(request, found, form, refused=refused.faults, status=422)
    messages.success(
        request,
        f"Version {made.number} of {title_of(made.piece)} is published. Attempts that began before stay on theirs.",
    )
    return redirect("studio:piece", made.piece)


@require_POST
@instructor_required
def take_over(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Let a draft follow the newest version, which its author was shown."""
    found = _draft_or_404(public_id)
    sent = request.POST.get("newest", "")
    newest = store.newest_of(found.piece)
    is_seen = newest is not None and sent == str(newest.number)
    if (
        is_seen
        and newest
        and drafts.take_over(found, version=_version(request), newest=newest.number)
    ):
        messages.success(
            request,
            f"The draft follows version {newest.number} now. Publishing it replaces that one.",
        )
    else:
        messages.error(request, "Something moved meanwhile. Look at what differs once more.")
    return redirect("studio:publish", found.public_id)


@require_POST
@instructor_required
def throw_away(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Delete a draft."""
    found = _draft_or_404(public_id)
    if drafts.throw_away(found, version=_version(request)):
        messages.success(request, f"The draft of {title_of(found.piece)} is thrown away.")
        return redirect("studio:index")
    messages.error(
        request, "The draft was saved from another page since. It is as it was saved there."
    )
    return redirect(found)


# -------------------------------------------------------------------------------------------- pieces


@dataclass(frozen=True)
class Stage:
    """How far a proof is."""

    word: str
    done: int
    of: int


STAGES = {
    "table": "Running every world on many seeds",
    "pool": "Choosing seeds for learners",
    "plays": "Playing the reference, the tempting fixes and the cheats",
}


def _draft_or_404(public_id: UUID) -> Draft:
    return get_object_or_404(Draft.objects.select_related("by", "last_by"), public_id=public_id)


def _file_of(found: Draft, asked: str) -> str:
    """Return the file that a page is about: the one that was asked for, else the one that one begins with."""
    if asked in found.texts:
        return asked
    first = [name for name in ("lab.toml", "drill.toml", "lesson.toml") if name in found.texts]
    return (first or sorted(found.texts))[0]


def _typed(request: HttpRequest) -> str:
    return request.POST.get("text", "").replace("\r\n", "\n")


def _version(request: HttpRequest) -> int:
    sent = request.POST.get("version", "")
    if not (sent.isascii() and sent.isdecimal() and len(sent) < 10):  # noqa: PLR2004
        raise BadRequest("version: the page sends the number of the draft that it showed")
    return int(sent)


def _look(found: Draft, name: str, text: str, asked: dict[str, str] | None = None) -> Look:
    held = {**drafts.files_of(found), name: text.encode()}
    return look_at(piece_at(found.piece), held, name, asked)


def _looked(found: Draft, name: str, text: str) -> dict[str, Any]:
    looked = _look(found, name, text)
    lines = [int(match["line"]) for each in looked.faults if (match := _LINE.search(each))]
    shown: dict[str, Any] = {}
    if looked.preview is not None and not looked.faults:
        shown = {**looked.preview.context, "template": f"preview/_{looked.preview.kind}.html"}
    return {
        **shown,
        "draft": found,
        "file": name,
        "look": looked,
        "fault_lines": lines,
        "facts": looked.preview.facts if looked.preview else (),
        "spec": looked.spec,
    }


def _proved(found: Draft) -> dict[str, Any]:
    known = drafts.proof_of(found)
    match = _COUNT.search(known.doing) if known is not None else None
    stage = None
    if match:
        stage = Stage(STAGES[match["stage"]], int(match["done"]), int(match["of"] or 0))
    lines = draft_proofs.lines_of(known) if known is not None else []
    return {
        "proof": known,
        "stage": stage,
        "is_proving": known is not None and known.status == DraftProof.Status.RUNNING,
        "lines": lines,
        "red": [line for line in lines if line.verdict == "red"],
        "report": known.report if known is not None else None,
    }


def _page(
    request: HttpRequest,
    found: Draft,
    name: str,
    *,
    text: str | None = None,
    status: int = 200,
    **said: Any,
) -> HttpResponse:
    """Answer with the editor. ``text`` is what was typed, if that is not what is stored."""
    stored = found.texts.get(name, "")
    shown = stored if text is None else text
    piece = piece_at(found.piece)
    context = {
        **_looked(found, name, shown),
        "piece": piece,
        "title": title_of(found.piece),
        "has_rubric": piece.kind == "lab" and "rubric.toml" not in found.texts,
        "names": sorted(found.texts, key=lambda each: ("/" in each, each)),
        "text": shown,
        "theirs": differences({name: stored}, {name: shown}) if said.get("is_stale") else [],
        "newest": store.newest_of(found.piece),
        **(_proved(found) if piece.kind == "lab" else {}),
        **said,
    }
    return render(request, "studio/draft.html", context, status=status)


def _publish_page(
    request: HttpRequest, found: Draft, form: PublishForm, *, status: int = 200, **said: Any
) -> HttpResponse:
    newest = store.newest_of(found.piece)
    base = store.version_of(found.piece, found.base)
    is_behind = (newest.number if newest else 0) != found.base
    context = {
        "draft": found,
        "piece": piece_at(found.piece),
        "title": title_of(found.piece),
        "form": form,
        "newest": newest,
        "is_behind": is_behind,
        "theirs": differences(drafts.texts_of(base), drafts.texts_of(newest))
        if is_behind and base and newest
        else [],
        "diffs": differences(
            drafts.texts_of(newest) if newest else {}, texts_in(drafts.files_of(found))
        ),
        **(_proved(found) if found.piece.startswith("labs/") else {}),
        **said,
    }
    return render(request, "studio/publish.html", context, status=status)

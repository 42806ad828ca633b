"""The writing desk: one file of a draft at a time, saved, looked at while it is typed, and tried."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import Http404
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from courseware.people import instructor_required, signed_in
from courseware.studio import desk, drafts, proof_views, store, trials
from courseware.studio.desk import (
    draft_or_404,
    file_of,
    look_of,
    looked_at,
    proved,
    typed_in,
    version_sent,
)
from courseware.studio.diffs import differences
from courseware.studio.looking import Look
from courseware.studio.pieces import piece_at
from courseware.studio.titles import title_of

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest, HttpResponse, HttpResponseBase

    from courseware.models import Draft

GONE = "This draft is gone: somebody published it or threw it away. Copy what you typed before you leave the page"


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@instructor_required
def draft(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Show one file of a draft in an editor; with POST, save it and go where a button leads."""
    if request.method == "POST" and desk.draft(public_id) is None:
        return _gone(request)
    found = draft_or_404(public_id)
    if request.method == "POST":
        return _save(request, found)
    return _page(request, found, file_of(found, request.GET.get("file", "")))


@require_POST
@instructor_required
def look(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Answer with what is wrong with a text that is being typed, and how it would be shown. Nothing is stored."""
    found = desk.draft(public_id)
    if found is None:
        return render(request, "studio/_look.html", {"look": Look((GONE,), None)})
    name = file_of(found, request.POST.get("file", ""))
    text = typed_in(request)
    return render(request, "studio/_look.html", looked_at(found, name, text))


@never_cache
@require_safe
@instructor_required
def preview(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Show a text of a draft by itself, as its readers see it."""
    found = draft_or_404(public_id)
    name = file_of(found, request.GET.get("file", ""))
    looked = look_of(found, name, found.texts[name], request.GET.dict())
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
    found = draft_or_404(public_id)
    if request.method != "POST":
        return redirect(found)
    name, version = request.POST.get("name", "").strip(), version_sent(request)
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
            request, found, file_of(found, ""), name_fault=f"{unfit}.", new_name=name, status=422
        )
    except drafts.Stale:
        messages.error(
            request, "The draft was saved from another page since. Look, and do it again."
        )
        return redirect(found)
    where = "" if is_gone else f"?file={name}"
    return redirect(f"{found.get_absolute_url()}{where}")


def _save(request: HttpRequest, found: Draft) -> HttpResponseBase:
    name, text, do = file_of(found, request.POST.get("file", "")), typed_in(request), "save"
    do = request.POST.get("do", do)
    try:
        drafts.save(found, version=version_sent(request), by=signed_in(request), texts={name: text})
    except drafts.Unfit as unfit:
        return _page(request, found, name, text=text, fault=f"{unfit}.", status=422)
    except drafts.Stale as stale:
        return _page(request, stale.draft, name, text=text, is_stale=True, status=409)
    here = f"{found.get_absolute_url()}?file={name}"
    if do == "publish":
        return redirect("studio:publish", found.public_id)
    if do == "prove":
        return proof_views.prove(request, found.public_id)
    if do == "try":
        return try_it(request, found.public_id)
    messages.success(request, f"{name} is saved in the draft. Readers see it once it is published.")
    return redirect(here)


@require_POST
@instructor_required
def try_it(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Let the author read the course with the draft in it, as a learner does."""
    found = draft_or_404(public_id)
    faults = trials.begin(request, found)
    if faults:
        return _page(request, found, file_of(found, ""), refused=faults, status=422)
    return redirect(proof_views.trial_page(request, found))


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
        **looked_at(found, name, shown),
        "piece": piece,
        "title": title_of(found.piece),
        "has_rubric": piece.kind == "lab" and "rubric.toml" not in found.texts,
        "names": sorted(found.texts, key=lambda each: ("/" in each, each)),
        "text": shown,
        "theirs": differences({name: stored}, {name: shown}) if said.get("is_stale") else [],
        "newest": store.newest_of(found.piece),
        **(proved(found) if piece.kind == "lab" else {}),
        **said,
    }
    return render(request, "studio/draft.html", context, status=status)


def _gone(request: HttpRequest) -> HttpResponse:
    """Hand back what was typed in a draft that somebody published or threw away meanwhile."""
    piece = request.POST.get("piece", "")
    context = {
        "piece": piece if store.newest_of(piece) else "",
        "file": request.POST.get("file", ""),
        "text": typed_in(request),
    }
    return render(request, "studio/gone.html", context, status=410)

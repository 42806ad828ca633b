"""A draft's end: published, or thrown away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from courseware.people import instructor_required, signed_in
from courseware.studio import drafts, store
from courseware.studio.desk import draft_or_404, proved, version_sent
from courseware.studio.diffs import differences
from courseware.studio.forms import MOST_NOTE_CHARACTERS, PublishForm
from courseware.studio.pieces import piece_at, texts_in
from courseware.studio.publishing import Conflict, Refused
from courseware.studio.titles import title_of

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest, HttpResponse, HttpResponseBase

    from courseware.models import Draft


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@instructor_required
def publish(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Show what a draft changes; with POST, publish it, or say what stands against that."""
    found = draft_or_404(public_id)
    if request.method != "POST":
        return _publish_page(request, found, _form(request, found))
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
        return _publish_page(request, draft_or_404(public_id), form, is_stale=True, status=409)
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
    found = draft_or_404(public_id)
    sent = request.POST.get("newest", "")
    newest = store.newest_of(found.piece)
    is_seen = newest is not None and sent == str(newest.number)
    if (
        is_seen
        and newest
        and drafts.take_over(found, version=version_sent(request), newest=newest.number)
    ):
        messages.success(
            request,
            f"The draft follows version {newest.number} now. Publishing it replaces that one.",
        )
    else:
        messages.error(request, "Something moved meanwhile. Look at what differs once more.")
    note = urlencode({"note": request.POST.get("note", "")[:MOST_NOTE_CHARACTERS]})
    return redirect(f"{reverse('studio:publish', args=[found.public_id])}?{note}")


@require_POST
@instructor_required
def throw_away(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Delete a draft."""
    found = draft_or_404(public_id)
    if drafts.throw_away(found, version=version_sent(request)):
        messages.success(request, f"The draft of {title_of(found.piece)} is thrown away.")
        return redirect("studio:index")
    messages.error(
        request, "The draft was saved from another page since. It is as it was saved there."
    )
    return redirect(found)


def _form(request: HttpRequest, found: Draft) -> PublishForm:
    """Return an empty form, with the note that was typed before the draft followed a newer version."""
    return PublishForm(initial={"version": found.version, "note": request.GET.get("note", "")})


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
        **(proved(found) if found.piece.startswith("labs/") else {}),
        **said,
    }
    return render(request, "studio/publish.html", context, status=status)

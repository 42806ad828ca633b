"""A draft's proof, and its trial: asked for, followed, stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import Http404
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from courseware import served
from courseware.models import Draft
from courseware.people import instructor_required
from courseware.studio import drafts, trials
from courseware.studio.desk import draft_or_404, look_of, proved
from courseware.studio.pieces import piece_at
from courseware.studio.titles import page_of, title_of
from labs import draft_proofs, proving

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest, HttpResponseBase


@require_POST
@instructor_required
def prove(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Have a lab's draft proved on the workers."""
    found = draft_or_404(public_id)
    if piece_at(found.piece).kind != "lab":
        raise Http404
    looked = look_of(found, "lab.toml", found.texts.get("lab.toml", ""))
    if looked.faults:
        messages.error(request, "lab.toml cannot be read yet: mend what stands beside it first.")
        return redirect(f"{found.get_absolute_url()}?file=lab.toml")
    level = proving.LEVELS.get(request.POST.get("level", ""), proving.DRAFT)
    draft_proofs.ask(drafts.state_to_prove(found), level)
    return redirect("studio:proof", found.public_id)


@never_cache
@require_safe
@instructor_required
def proof(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Show how far a draft's proof is, and what it found."""
    found = draft_or_404(public_id)
    context = {
        "draft": found,
        "piece": piece_at(found.piece),
        "title": title_of(found.piece),
        **proved(found),
    }
    is_part = request.headers.get("HX-Request") == "true"
    return render(request, "studio/_proof.html" if is_part else "studio/proof.html", context)


@require_POST
@instructor_required
def cancel_proof(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Stop a proof that is under way."""
    found = draft_or_404(public_id)
    known = drafts.proof_of(found)
    if known is not None and draft_proofs.cancel(known):
        messages.success(request, "The proof is cancelled. What the draft says is as it was.")
    return redirect("studio:proof", found.public_id)


@require_POST
@instructor_required
def end_trial(request: HttpRequest) -> HttpResponseBase:
    """Let the author read the course as it is served again."""
    tried = trials.under_way(request)
    trials.end(request)
    there = Draft.objects.filter(public_id=tried["draft"]).first() if tried else None
    return redirect(there or "studio:index")


def trial_page(request: HttpRequest, found: Draft) -> str:
    """Return where a draft that is tried is read."""
    with served.trying_or_not(trials.tree_for(request)):
        return page_of(found.piece) or "/"

"""The rules of reading, for instructors: those of every lab, and those of a lab; and what is settled in spite of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import Http404
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from courseware.people import count_who_read_everybody, instructor_required, signed_in
from labs import outcomes, reading_rules
from labs.catalogue import labs
from labs.models import ReadingRules
from labs.reading_rules import EVERY_LAB
from labs.review_forms import SettleForm
from labs.review_rows import page, review_or_404, row_of
from labs.rules_forms import RulesForm

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest, HttpResponse, HttpResponseBase

MOST_SHOWN = 20


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@instructor_required
def rules(request: HttpRequest) -> HttpResponseBase:
    """Show the rules that hold for every lab; with POST, store them."""
    return _rules(request, EVERY_LAB)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@instructor_required
def rules_of_lab(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Show the rules of one lab; with POST, store them or drop them."""
    if slug not in labs():
        raise Http404
    return _rules(request, slug)


def _rules(request: HttpRequest, slug: str) -> HttpResponseBase:
    holds = reading_rules.rules_of(slug)
    if request.method != "POST":
        return _page(request, slug, RulesForm(instance=holds, is_of_lab=bool(slug)))
    form = RulesForm(request.POST, instance=ReadingRules(), is_of_lab=bool(slug))
    drop = bool(slug) and request.POST.get("do") == "drop"
    if not drop and not form.is_valid():
        return _page(request, slug, form, status=422)
    sent = request.POST.get("version", "")
    shown = int(sent) if sent.isascii() and sent.isdecimal() else -1
    try:
        if drop:
            reading_rules.as_elsewhere(slug, by=signed_in(request), version=shown)
        else:
            reading_rules.change(slug, form.said(), by=signed_in(request), version=shown)
    except reading_rules.MovedOn as moved:
        return _page(request, slug, form, status=409, moved=moved.now)
    messages.success(
        request,
        "This lab is read as every lab is."
        if drop
        else "Stored. They hold for what is released from now on.",
    )
    return redirect("labs:review-rules-lab", slug) if slug else redirect("labs:review-rules")


def _page(
    request: HttpRequest,
    slug: str,
    form: RulesForm,
    *,
    status: int = 200,
    moved: ReadingRules | None = None,
) -> HttpResponse:
    own = reading_rules.labs_with_own()
    version = form.data.get("version", "") if form.is_bound else reading_rules.newest(slug).version
    context = {
        "form": form,
        "version": moved.version if moved else version,
        "spec": labs().get(slug),
        "has_own": slug in own,
        "moved": moved,
        "labs": [(spec, own.get(key)) for key, spec in labs().items()],
        "holds": reading_rules.rules_of(slug),
        "readers": count_who_read_everybody(),
        "trail": ReadingRules.objects.filter(lab_slug=slug).select_related("by")[:MOST_SHOWN],
    }
    return page(request, "labs/review_rules.html", context, status)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@instructor_required
def settle(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Ask why an attempt is settled without the reading that is still to be done; with POST, settle it."""
    review, instructor = review_or_404(request, public_id), signed_in(request)
    row = row_of(review, instructor, timezone.now())
    form = SettleForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            outcomes.settle_without(
                review.attempt, by=instructor, reason=form.cleaned_data["reason"]
            )
        except outcomes.StillRead:
            messages.warning(
                request,
                "Not settled: somebody is reading it now, or it is settled already. Your reason was: "
                f"{form.cleaned_data['reason']}",
            )
        else:
            messages.success(request, f"{row.name} is settled: its learner sees it.")
        return redirect("labs:review", public_id)
    if not row.open_reading:
        return redirect("labs:review", public_id)
    context = {"row": row, "review": review, "spec": review.attempt.spec, "form": form}
    return page(request, "labs/review_settle.html", context, 422 if form.is_bound else 200)

"""The rules of reading, for instructors: those of every lab, and those of a lab that has its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import Http404
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from courseware.people import instructor_required, signed_in
from labs import reading_rules
from labs.catalogue import labs
from labs.models import ReadingRules
from labs.reading_rules import EVERY_LAB
from labs.review_rows import page
from labs.rules_forms import RulesForm

if TYPE_CHECKING:
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
        "trail": ReadingRules.objects.filter(lab_slug=slug).select_related("by")[:MOST_SHOWN],
    }
    return page(request, "labs/review_rules.html", context, status)

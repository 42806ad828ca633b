"""The studio's shelves: every piece of the course, its versions, and what each of them changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.db.models import Count
from django.http import Http404
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from courseware.models import Draft, Version
from courseware.people import instructor_required, signed_in
from courseware.studio import drafts, store
from courseware.studio.diffs import differences
from courseware.studio.forms import NewPieceForm
from courseware.studio.pieces import NoPiece, is_computed, piece_at
from courseware.studio.titles import page_of, title_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.http import HttpRequest, HttpResponseBase

    from courseware.studio.pieces import Piece

SHELVES = (
    ("lesson", "Lessons"),
    ("lab", "Labs"),
    ("drill", "Drills"),
    ("symptom", "Symptoms"),
    ("unit", "Units"),
    ("glossary", "Glossary"),
    ("triage", "Triage card"),
)


@dataclass(frozen=True)
class Row:
    """One piece as the list shows it."""

    piece: Piece
    title: str
    newest: Version
    drafts: int


@never_cache
@require_safe
@instructor_required
def index(request: HttpRequest) -> HttpResponseBase:
    """Show every piece of the course by kind, and the drafts that are open; with ``?find`` those that it names."""
    find = request.GET.get("find", "").strip()
    counts = dict(Draft.objects.order_by().values_list("piece").annotate(n=Count("pk")))
    rows = [
        Row(piece_at(path), title_of(path), newest, counts.get(path, 0))
        for path, newest in sorted(store.newest().items())
        if not newest.is_withdrawn
    ]
    shown = [row for row in rows if find.lower() in f"{row.piece.path} {row.title}".lower()]
    context = {
        "shelves": [
            (kind, word, [row for row in shown if row.piece.kind == kind]) for kind, word in SHELVES
        ],
        "find": find,
        "shown": len(shown),
        "of": len(rows),
        "drafts": [
            (each, title_of(each.piece)) for each in Draft.objects.select_related("by", "last_by")
        ],
    }
    return render(request, "studio/index.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@instructor_required
def piece(request: HttpRequest, path: str) -> HttpResponseBase:
    """Show a piece's versions; with POST, begin a draft of the newest."""
    found = _piece_or_404(path)
    if request.method == "POST":
        try:
            return redirect(drafts.begin(path, by=signed_in(request)))
        except drafts.Unfit as unfit:
            messages.error(request, f"{unfit}.")
            return redirect("studio:index")
    versions = list(Version.objects.filter(piece=path).select_related("author").order_by("-number"))
    if not versions:
        raise Http404
    context = {
        "piece": found,
        "title": title_of(path),
        "page": page_of(path),
        "versions": versions,
        "newest": versions[0],
        "drafts": Draft.objects.filter(piece=path).select_related("by", "last_by"),
        "insight": _insight(found),
    }
    return render(request, "studio/piece.html", context)


@never_cache
@require_safe
@instructor_required
def version(request: HttpRequest, path: str, number: int) -> HttpResponseBase:
    """Show one version: what it changed of the one before, or of ``?against``, and its files."""
    found = _piece_or_404(path)
    this = store.version_of(path, number)
    if this is None:
        raise Http404
    asked = request.GET.get("against", "")
    against = int(asked) if asked.isascii() and asked.isdecimal() else number - 1
    other = store.version_of(path, against) if against != number else None
    before = drafts.texts_of(other) if other else {}
    after = drafts.texts_of(this)
    context = {
        "piece": found,
        "title": title_of(path),
        "version": this,
        "other": other,
        "numbers": [each for each in _numbers(path) if each != number],
        "diffs": differences(before, after),
        "texts": sorted(after.items()),
        "computed": _computed_changed(other, this),
    }
    return render(request, "studio/version.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@instructor_required
def new(request: HttpRequest) -> HttpResponseBase:
    """Ask what a new piece is and how it begins; with POST, begin it."""
    known = [
        (path, f"{title_of(path)} ({piece_at(path).name})")
        for path, each in sorted(store.newest().items())
        if not each.is_withdrawn
    ]
    form = NewPieceForm(known, request.POST or None, initial=_asked(request))
    if request.method == "POST" and form.is_valid():
        asked = form.cleaned_data
        try:
            made = drafts.begin_new(
                asked["path"], by=signed_in(request), clone_of=asked["clone_of"]
            )
        except drafts.Unfit as unfit:
            form.add_error(None, f"{unfit}.")
        else:
            return redirect(made)
    return render(request, "studio/new.html", {"form": form}, status=422 if form.errors else 200)


def _asked(request: HttpRequest) -> Mapping[str, str]:
    """Return what a link to this page chose already."""
    path = request.GET.get("clone", "")
    try:
        return {"kind": piece_at(path).kind, "clone_of": path}
    except NoPiece:
        return {}


def _piece_or_404(path: str) -> Piece:
    try:
        return piece_at(path)
    except NoPiece:
        raise Http404 from None


def _numbers(path: str) -> list[int]:
    rows = Version.objects.filter(piece=path).order_by("-number")
    return list(rows.values_list("number", flat=True))


def _computed_changed(other: Version | None, this: Version) -> bool:
    digests: Mapping[str, Any] = other.files if other else {}
    names = {name for name in (*this.files, *digests) if is_computed(name)}
    return any(this.files.get(name) != digests.get(name) for name in names)


def _insight(found: Piece) -> str:
    """Return the address of what a class did in a piece; empty for a kind that counts nothing."""
    if found.kind == "lab":
        return reverse("labs:insight-lab", args=[found.name])
    return reverse("lessons:insight") if found.kind == "lesson" else ""

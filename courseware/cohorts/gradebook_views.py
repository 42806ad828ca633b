"""The gradebook of a cohort, its file, and the page of one person: for the cohort's instructors alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.text import slugify
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from courseware.cohorts import gradebook, gradebook_csv, grades, one_person
from courseware.cohorts.access import labelled, managed_or_404
from courseware.cohorts.gradebook import State, Wanted
from courseware.models import Membership
from courseware.people import learner_required, may_author, signed_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from django.http import HttpRequest, HttpResponseBase, QueryDict

    from courseware.cohorts.grades import Book

EVERY_ROLE = "every"
_MOST_CHARACTERS = 80


@never_cache
@require_safe
@learner_required
def show(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Show what counts of everything that was assigned, a row a person."""
    cohort = managed_or_404(request, public_id)
    book, wanted = grades.book(cohort), _wanted(request.GET)
    rows = gradebook.chosen(book.rows, book.columns, wanted)
    role = request.GET.get("role") or Membership.Role.LEARNER
    of = sum(wanted.role in {"", row.role} for row in book.rows)
    totals = [row.total for row in rows if row.total is not None]
    context = {
        "cohort": cohort,
        "rows": rows,
        "of": of,
        "heads": list(_heads(request, book, wanted)),
        "feet": [
            (column, gradebook.foot(rows, place)) if column.kind == "lab" else (None, None)
            for place, column in enumerate(book.columns)
        ],
        "mean": sum(totals) / len(totals) if totals else None,
        "wanted": wanted,
        "role": role,
        "roles": Membership.Role.choices,
        "labels": labelled(cohort),
        "states": list(State),
        "query": request.GET.urlencode(),
        "zone": timezone.get_current_timezone_name(),
    }
    return render(request, "cohorts/gradebook.html", context)


def _wanted(asked: QueryDict) -> Wanted:
    """Return what an address asks for; learners alone if it does not say whom. What is unknown finds nobody."""
    find, role, label, state, sort = (
        asked.get(name, "").strip()[:_MOST_CHARACTERS]
        for name in ("find", "role", "label", "state", "sort")
    )
    return Wanted(
        find=find,
        role="" if role == EVERY_ROLE else role or Membership.Role.LEARNER,
        label=label,
        state=state,
        sort=sort or "name",
        falling=asked.get("order") == "falling",
    )


def _heads(request: HttpRequest, book: Book, wanted: Wanted) -> Iterator[dict[str, Any]]:
    """Yield the heads of the table, each with the link that sorts by it: numbers fall first, names rise."""
    columns = [("name", None), ("total", None), *((str(each.key), each) for each in book.columns)]
    for key, column in columns:
        is_sorted = wanted.sort == key
        falls = not wanted.falling if is_sorted else key != "name"
        query = request.GET.copy()
        query["sort"], query["order"] = key, "falling" if falls else "rising"
        way = ("descending" if wanted.falling else "ascending") if is_sorted else ""
        yield {"key": key, "column": column, "query": query.urlencode(), "way": way}


@never_cache
@require_safe
@learner_required
def export(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Hand out the rows that the page shows, as a file."""
    cohort = managed_or_404(request, public_id)
    book = grades.book(cohort)
    rows = gradebook.chosen(book.rows, book.columns, _wanted(request.GET))
    name = f"gradebook-{slugify(cohort.name) or 'cohort'}-{timezone.localdate():%Y-%m-%d}.csv"
    return HttpResponse(
        # Excel takes a file without the mark for one of its own code page.
        "\ufeff" + gradebook_csv.table(book.columns, rows),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


@never_cache
@require_safe
@learner_required
def person(request: HttpRequest, public_id: UUID, pk: int) -> HttpResponseBase:
    """Show all that one person did since the cohort began."""
    cohort = managed_or_404(request, public_id)
    seat = get_object_or_404(cohort.memberships.select_related("person", "cohort"), pk=pk)
    context = {
        "cohort": cohort,
        "seat": seat,
        "may_author": may_author(signed_in(request)),
        "zone": timezone.get_current_timezone_name(),
        **one_person.everything_here(seat),
    }
    return render(request, "cohorts/person.html", context)

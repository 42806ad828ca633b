"""The rubric of a lab as it stands: its newest edition, or the file of the lab. Everybody asks here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from courseware.studio.serving import key_of
from labs.catalogue import text_of
from labs.models import RubricEdition
from labs.rubrics import FILE, Rubric, read

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from courseware.models import User


@dataclass(frozen=True)
class Edition:
    """A rubric with its number; 0 is the file of the lab."""

    lab_slug: str
    number: int
    rubric: Rubric
    text: str
    author: User | None = None
    reason: str = ""
    created_at: datetime | None = None


def current(lab_slug: str) -> Edition:
    """Return the rubric of a lab as it stands."""
    return currents([lab_slug])[lab_slug]


def currents(lab_slugs: Iterable[str]) -> dict[str, Edition]:
    """Return the rubrics of some labs as they stand, in one query."""
    wanted = set(lab_slugs)
    found: dict[str, Edition] = {}
    rows = RubricEdition.objects.filter(lab_slug__in=wanted).select_related("author")
    for row in rows.order_by("lab_slug", "-number"):
        if row.lab_slug not in found:
            found[row.lab_slug] = _edition(row)
    return {slug: found.get(slug) or _file(slug) for slug in wanted}


def at(lab_slug: str, number: int) -> Edition:
    """Return the edition of that number; the rubric as it stands if there is none."""
    if number == 0:
        return _file(lab_slug)
    rows = RubricEdition.objects.filter(lab_slug=lab_slug, number=number).select_related("author")
    row = rows.first()
    return _edition(row) if row else current(lab_slug)


def stood_at(lab_slug: str, moment: datetime) -> Edition:
    """Return the edition that stood at a moment."""
    rows = RubricEdition.objects.filter(lab_slug=lab_slug, created_at__lte=moment)
    row = rows.select_related("author").order_by("-number").first()
    return _edition(row) if row else _file(lab_slug)


def history(lab_slug: str) -> list[RubricEdition]:
    """Return the stored editions of a lab's rubric, the newest first, each with how many outcomes it moved."""
    rows = RubricEdition.objects.filter(lab_slug=lab_slug).select_related("author")
    return list(rows.prefetch_related("moves").order_by("-number"))


def _edition(row: RubricEdition) -> Edition:
    rubric = read(row.text, f"{row.lab_slug}/{FILE}")
    return Edition(
        row.lab_slug, row.number, rubric, row.text, row.author, row.reason, row.created_at
    )


def _file(lab_slug: str) -> Edition:
    """Return edition 0: the rubric of the lab's first version, whatever its file says by now."""
    try:
        text = text_of(key_of(f"labs/{lab_slug}", 1), FILE)
    except (LookupError, OSError):
        text = text_of(lab_slug, FILE)
    return Edition(lab_slug, 0, read(text, f"{lab_slug}/{FILE}"), text)

"""What pieces are called by those who read them, and where they stand on the site."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.urls import reverse

from courseware.glossary import MARK, named_by
from courseware.studio.pieces import piece_at
from labs.catalogue import labs
from lessons.content import course, lessons
from lessons.drills.spec import drills
from lessons.symptoms import symptoms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from courseware.studio.pieces import Piece


def title_of(path: str) -> str:
    """Return a piece's title as the served course has it; its name if the course does not have it."""
    piece = piece_at(path)
    return _TITLES.get(piece.kind, _name)(piece) or piece.name


def page_of(path: str) -> str:
    """Return the address of the page that shows a piece; empty if none does."""
    piece = piece_at(path)
    there: Mapping[str, Callable[[], str]] = {
        "lab": lambda: reverse("labs:lab", args=[piece.name]) if piece.name in labs() else "",
        "lesson": lambda: (
            reverse("lessons:lesson", args=[piece.name]) if piece.name in lessons() else ""
        ),
        "drill": lambda: (
            reverse("lookup:drill", args=[piece.name]) if piece.name in drills() else ""
        ),
        "symptom": lambda: (
            reverse("lookup:symptom", args=[piece.name]) if piece.name in symptoms() else ""
        ),
        "unit": lambda: reverse("lessons:index"),
        "glossary": lambda: reverse("lookup:glossary"),
        "triage": lambda: reverse("lookup:triage"),
    }
    return there[piece.kind]()


def _name(piece: Piece) -> str:
    return {"glossary": "The glossary", "triage": "The triage card"}.get(piece.kind, piece.name)


def _lab(piece: Piece) -> str:
    return labs()[piece.name].title if piece.name in labs() else ""


def _lesson(piece: Piece) -> str:
    found = lessons().get(piece.name)
    return found.title if found else ""


def _symptom(piece: Piece) -> str:
    found = symptoms().get(piece.name)
    return f"{piece.name} {_plain(found.symptom)}" if found else ""


def _drill(piece: Piece) -> str:
    found = symptoms().get(piece.name)
    return f"{piece.name} {_plain(found.symptom)}" if found else ""


def _unit(piece: Piece) -> str:
    slug = piece.name.partition("-")[2]
    return next((unit.title for unit in course() if unit.slug == slug), "")


def _plain(text: str) -> str:
    return MARK.sub(lambda mark: mark["shown"] or named_by(mark), text).replace("`", "")


_TITLES: Mapping[str, Callable[[Piece], str]] = {
    "lab": _lab,
    "lesson": _lesson,
    "symptom": _symptom,
    "drill": _drill,
    "unit": _unit,
}

"""A person's notes and bookmarks at stations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Q
from django.utils import timezone

from lessons import content
from lessons.models import StationNote

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from courseware.models import User
    from lessons.content import Lesson, Station


@dataclass(frozen=True)
class Kept:
    """One row of a person's notes, with the station that it is about."""

    note: StationNote
    lesson: Lesson
    station: Station


def note_on(user: User | AnonymousUser, lesson: Lesson, station: Station) -> StationNote | None:
    """Return what a person has kept at a station; None for a visitor, or if nothing is."""
    return (
        StationNote.objects.visible_to(user)
        .filter(lesson=lesson.slug, station=station.slug)
        .first()
    )


def keep(
    learner: User, lesson: Lesson, station: Station, *, text: str, bookmarked: bool | None = None
) -> StationNote:
    """Keep a note in place of the one before; set a bookmark or take it away, or leave it (None).

    An empty text takes the note away.
    """
    now = timezone.now()
    fields: dict[str, object] = {"text": text.strip(), "written_at": now}
    if bookmarked is not None:
        fields["bookmarked_at"] = now if bookmarked else None
    row, _ = StationNote.objects.update_or_create(
        learner=learner, lesson=lesson.slug, station=station.slug, defaults=fields
    )
    return row


def all_kept(learner: User) -> list[Kept]:
    """Return a person's notes and bookmarks, the newest first. A station that is no more is left out."""
    rows = StationNote.objects.visible_to(learner).filter(
        ~Q(text="") | Q(bookmarked_at__isnull=False)
    )
    found = [
        Kept(row, lesson, station)
        for row in rows
        if (lesson := content.lessons().get(row.lesson))
        and (station := lesson.station(row.station))
    ]
    return sorted(found, key=lambda each: each.note.changed_at, reverse=True)

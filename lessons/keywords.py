"""Which keywords learners unfold: kept once a learner and station, and never shown with a name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from courseware.glossary import glossary
from lessons.keyword_insight import Answered, Opened, found_in, stations_of
from lessons.models import CheckTry, KeywordOpening, StationRead

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.db.models import QuerySet

    from courseware.models import User
    from lessons.content import Lesson, Station
    from lessons.keyword_insight import Found, StationTerms


class UnknownTerm(ValueError):  # noqa: N818
    """The glossary has no such term."""


def note_opened(learner: User, lesson: Lesson, station: Station, term: str) -> bool:
    """Keep that a learner unfolded a keyword at a station; False if that was known. Raises UnknownTerm."""
    if term not in glossary():
        raise UnknownTerm
    _, is_new = KeywordOpening.objects.get_or_create(
        learner=learner, lesson=lesson.slug, station=station.slug, term=term
    )
    return is_new


def before_wrong_answers(lessons: Mapping[str, Lesson], learners: QuerySet[User]) -> Found:
    """Return the keywords whose openers got a check wrong more often than others did."""
    openings = _openings(lessons, learners)
    rows = CheckTry.objects.filter(learner__in=learners, lesson__in=lessons, number=1).values_list(
        "learner_id", "lesson", "check_key", "right", "tried_at"
    )
    return found_in((Answered(*row) for row in rows), openings)


def opened_most(
    lessons: Mapping[str, Lesson], learners: QuerySet[User]
) -> dict[tuple[str, str], StationTerms]:
    """Return the keywords that learners open at each station, among those who read it or opened one there."""
    rows = StationRead.objects.filter(learner__in=learners, lesson__in=lessons)
    reads = set(rows.values_list("learner_id", "lesson", "station"))
    return stations_of(_openings(lessons, learners), reads)


def _openings(lessons: Mapping[str, Lesson], learners: QuerySet[User]) -> list[Opened]:
    rows = KeywordOpening.objects.filter(learner__in=learners, lesson__in=lessons)
    return [
        Opened(*row)
        for row in rows.values_list("learner_id", "lesson", "station", "term", "opened_at")
    ]

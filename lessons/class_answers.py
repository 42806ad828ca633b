"""What a whole class answered, from the rows: only learners count, and nobody's name is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lessons.item_analysis import Tries, analysed
from lessons.models import CheckTry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.db.models import QuerySet

    from courseware.models import User
    from lessons.content import Lesson
    from lessons.item_analysis import Item


def item_key(lesson: str, check: str) -> str:
    """Return the key of a check among those of the whole course."""
    return f"{lesson}/{check}"


def items_of(lessons: Mapping[str, Lesson], learners: QuerySet[User]) -> dict[str, Item]:
    """Return the statistics of every check that enough of these learners answered, by ``item_key``."""
    rows = CheckTry.objects.filter(learner__in=learners, lesson__in=lessons)
    ordered = rows.order_by("learner_id", "lesson", "check_key", "number")
    found: dict[tuple[int, str], tuple[list[tuple[str, ...]], list[bool]]] = {}
    for learner, lesson, check, answer, right in ordered.values_list(
        "learner_id", "lesson", "check_key", "answer", "right"
    ):
        answers, rights = found.setdefault((learner, item_key(lesson, check)), ([], []))
        answers.append(tuple(str(each) for each in answer))
        rights.append(right)
    options = {
        item_key(lesson.slug, key): {each.key: each.right for each in question.options}
        for lesson in lessons.values()
        for station in lesson.stations
        for key, question in station.checks.items()
    }
    return analysed(
        (
            Tries(learner, key, tuple(answers), tuple(rights))
            for (learner, key), (answers, rights) in found.items()
        ),
        options,
    )

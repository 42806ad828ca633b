"""What a whole class answered, from the rows: only learners count, and nobody's name is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Count, Max, Min, Q

from labs.marking.predictions import wilson
from lessons.item_analysis import LEAST, Tries, analysed
from lessons.models import CheckTry

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from django.db.models import QuerySet

    from courseware.models import User
    from lessons.content import Lesson
    from lessons.item_analysis import Item
    from lessons.questions import Question


def item_key(lesson: str, check: str) -> str:
    """Return the key of a check among those of the whole course."""
    return f"{lesson}/{check}"


def items_of(lessons: Mapping[str, Lesson], learners: QuerySet[User]) -> dict[str, Item]:
    """Return the statistics of every check that enough of these learners answered, by ``item_key``.

    Whoever answered an earlier wording of a check first is not among them: theirs was another question.
    """
    rows = CheckTry.objects.filter(learner__in=learners, lesson__in=lessons)
    wordings = {
        item_key(lesson.slug, key): question.wording
        for lesson in lessons.values()
        for station in lesson.stations
        for key, question in station.checks.items()
    }
    ordered = rows.order_by("learner_id", "lesson", "check_key", "number")
    found: dict[tuple[int, str], tuple[list[tuple[str, ...]], list[bool]]] = {}
    others = set[tuple[int, str]]()
    for learner, lesson, check, answer, right, wording in ordered.values_list(
        "learner_id", "lesson", "check_key", "answer", "right", "wording"
    ):
        key = item_key(lesson, check)
        if wording not in {"", wordings.get(key)} and (learner, key) not in found:
            others.add((learner, key))
        if (learner, key) in others:
            continue
        answers, rights = found.setdefault((learner, key), ([], []))
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


@dataclass(frozen=True)
class Wording:
    """How an earlier wording of a check did."""

    first: datetime
    last: datetime
    n: int
    """Learners who answered it first."""
    right: int
    """Of them, those who had it right at once."""

    @property
    def facility(self) -> float:
        return self.right / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """Where the share could lie, at 90 % (Wilson's)."""
        return wilson(self.right, self.n)


def earlier_wordings(lesson: str, question: Question, learners: QuerySet[User]) -> list[Wording]:
    """Return how other wordings of a check did, the latest first; those that fewer than ``LEAST`` answered are left out."""
    rows = CheckTry.objects.filter(
        learner__in=learners, lesson=lesson, check_key=question.key, number=1
    ).exclude(wording__in=("", question.wording))
    counted = (
        rows.order_by()
        .values("wording")
        .annotate(
            first=Min("tried_at"),
            last=Max("tried_at"),
            n=Count("pk"),
            rights=Count("pk", filter=Q(right=True)),
        )
    )
    found = [
        Wording(row["first"], row["last"], row["n"], row["rights"])
        for row in counted
        if row["n"] >= LEAST
    ]
    return sorted(found, key=lambda each: each.last, reverse=True)

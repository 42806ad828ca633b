"""What a person missed and when it comes back, from their rows; and the answers to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from lessons import content, record
from lessons.checks_marking import mark
from lessons.models import CheckTry, RepeatTry
from lessons.spacing import SURE_PERCENT, Item, Missed, Repeated, due_on, schedule

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from courseware.models import User
    from lessons.questions import Question
    from lessons.spacing import Scheduled

WHY, SAME = "why", "same"
"""The two answers to a prediction that comes back: I know why it came otherwise; I would say the same."""


class NotDueError(Exception):
    """It does not come back today, or was answered today already."""


def scheduled_for(learner: User) -> tuple[Scheduled, ...]:
    """Return all that a person missed, with the day on which each comes back. What the course lost is left out."""
    repeated = [
        Repeated(row.item, row.day, row.right) for row in RepeatTry.objects.visible_to(learner)
    ]
    return schedule([miss for miss in _missed(learner) if question_known(miss.item)], repeated)


def _missed(learner: User) -> list[Missed]:
    firsts = CheckTry.objects.visible_to(learner).filter(number=1)
    checks = firsts.filter(Q(right=False) | Q(hints__gt=0))
    return [
        Missed(Item("check", row.lesson, row.check_key), timezone.localdate(row.tried_at))
        for row in checks
    ] + [
        Missed(Item("prediction", each.lesson, each.key), timezone.localdate(each.at))
        for each in record.predictions_computed(learner)
        if each.confidence >= SURE_PERCENT and not each.told.hit
    ]


def question_known(item: Item) -> bool:
    """Tell whether the course still asks it."""
    lesson = content.lessons().get(item.lesson)
    if lesson is None:
        return False
    if item.kind == "check":
        return lesson.with_check(item.key) is not None
    return lesson.with_prediction(item.key) is not None


def due_today(learner: User) -> tuple[Scheduled, ...]:
    return due_on(timezone.localdate(), scheduled_for(learner))


def answered_on(learner: User, day: date) -> list[RepeatTry]:
    """Return a person's answers of a day, the latest first."""
    rows = RepeatTry.objects.visible_to(learner).filter(day=day).order_by("-tried_at", "-pk")
    return [row for row in rows if question_known(row.item)]


def answer_check(learner: User, item: Item, question: Question, chosen: Sequence[str]) -> RepeatTry:
    """Mark the one answer of today to a check and keep it.

    Raises NotDueError, and ValueError for an answer that the question does not offer.
    """
    right = mark(question, chosen).right
    return _keep(learner, item, list(chosen), right=right)


def answer_prediction(learner: User, item: Item, answer: str) -> RepeatTry:
    """Keep the one answer of today to a prediction: who knows why moves on. Raises NotDueError."""
    return _keep(learner, item, [answer], right=answer == WHY)


def _keep(learner: User, item: Item, answer: list[str], *, right: bool) -> RepeatTry:
    if item not in {each.item for each in due_today(learner)}:
        raise NotDueError
    try:
        with transaction.atomic():
            return RepeatTry.objects.create(
                learner=learner,
                kind=item.kind,
                lesson=item.lesson,
                key=item.key,
                day=timezone.localdate(),
                answer=answer,
                right=right,
            )
    except IntegrityError as error:
        raise NotDueError from error

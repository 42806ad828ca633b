"""Hints at a check: asked for one after the other, open after a wait or a wrong try, paid for once they are open.

The price is what a check can show: a first try with a hint open is not right at once on the map of layers, and comes
back as a missed one does. Whoever answers before the hint opens has paid nothing.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction
from django.utils import timezone

from lessons.checks_marking import is_resolved
from lessons.models import CheckHint, CheckTry

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from courseware.models import User
    from lessons.content import Lesson
    from lessons.questions import Question


class NoHintError(Exception):
    """Nothing was asked for: there is no other hint, the check is resolved, or the one before is still closed."""


def hints_at(learner: User, lesson: Lesson, question: Question) -> list[CheckHint]:
    """Return the hints that a learner has asked for at one check, the first one first."""
    mine = CheckHint.objects.visible_to(learner).filter(lesson=lesson.slug)
    return list(mine.filter(check_key=question.key).order_by("number"))


def open_count(hints: Sequence[CheckHint], now: datetime, wrong_tries: int) -> int:
    """Return how many hints may be read after so many wrong tries."""
    return sum(hint.is_open(now, wrong_tries) for hint in hints)


def ask_hint(
    learner: User,
    lesson: Lesson,
    question: Question,
    number: int,
    *,
    now: datetime | None = None,
) -> CheckHint:
    """Ask for a hint by its number, from 1, and return its row: it says when it opens.

    Tries and hints are read in the transaction that adds the row. Asking for the same one again, at once or later,
    changes nothing. Raises NoHintError.
    """
    now = now or timezone.now()
    mine = CheckTry.objects.visible_to(learner).filter(lesson=lesson.slug, check_key=question.key)
    try:
        with transaction.atomic():
            asked = hints_at(learner, lesson, question)
            if 0 < number <= len(asked):
                return asked[number - 1]
            verdicts = list(mine.values_list("right", flat=True))
            wrong = verdicts.count(False)
            if (
                number != len(asked) + 1
                or number > len(question.hints)
                or is_resolved(question, verdicts)
                or open_count(asked, now, wrong) < len(asked)
            ):
                raise NoHintError
            wait = timedelta(seconds=0 if wrong >= number else question.wait_s)
            return CheckHint.objects.create(
                learner=learner,
                lesson=lesson.slug,
                check_key=question.key,
                number=number,
                asked_at=now,
                opens_at=now + wait,
            )
    except IntegrityError as error:
        for hint in hints_at(learner, lesson, question):
            if hint.number == number:
                return hint
        raise NoHintError from error

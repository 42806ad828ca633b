"""What people write at a resolved check: why the answer is right, and what is wrong with the question."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction
from django.utils import timezone

from lessons.models import CheckWhy, ProblemReport

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser
    from django.db.models import QuerySet

    from courseware.models import User
    from lessons.content import Lesson
    from lessons.questions import Question


@dataclass
class Lines:
    """One learner's lines in one lesson, by the key of the check."""

    whys: dict[str, CheckWhy] = field(default_factory=dict)
    problems: dict[str, ProblemReport] = field(default_factory=dict)
    """The last report of each."""


def lines_of(user: User | AnonymousUser, lesson: Lesson) -> Lines:
    """Return a person's own lines; a visitor has none."""
    if not user.is_authenticated:
        return Lines()
    whys = CheckWhy.objects.visible_to(user).filter(lesson=lesson.slug)
    problems = ProblemReport.objects.visible_to(user).filter(lesson=lesson.slug).order_by("pk")
    return Lines({row.check_key: row for row in whys}, {row.check_key: row for row in problems})


def say_why(learner: User, lesson: Lesson, question: Question, why: str) -> CheckWhy:
    """Keep why the answer is right, in the learner's words. The first line stands."""
    row, _ = CheckWhy.objects.get_or_create(
        learner=learner, lesson=lesson.slug, check_key=question.key, defaults={"why": why}
    )
    return row


def report_problem(learner: User, lesson: Lesson, question: Question, problem: str) -> bool:
    """Keep a report; False while an earlier one of this learner at this check is still open."""
    try:
        with transaction.atomic():
            ProblemReport.objects.create(
                learner=learner, lesson=lesson.slug, check_key=question.key, problem=problem
            )
    except IntegrityError:
        return False
    return True


def reports(*, done: bool) -> QuerySet[ProblemReport]:
    """Return all reports that are done, or not yet, the newest first."""
    rows = ProblemReport.objects.filter(done_at__isnull=not done)
    newest = "-done_at" if done else "-reported_at"
    return rows.select_related("learner", "done_by").order_by(newest, "-pk")


def finish_report(report_id: int, instructor: User) -> bool:
    """Note that a report was dealt with; False if it was already, or is unknown."""
    rows = ProblemReport.objects.filter(pk=report_id, done_at=None)
    return rows.update(done_at=timezone.now(), done_by=instructor) == 1

"""What learners run at the steps of a walkthrough, and how many lines a person may run."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.utils import timezone

from lessons import computing, walking
from lessons.models import StepRun

if TYPE_CHECKING:
    from datetime import datetime

    from django.contrib.auth.models import AnonymousUser

    from courseware.models import User
    from lessons.content import Lesson
    from lessons.walkthroughs import Step, Walkthrough

MOST = 30
WITHIN = timedelta(minutes=10)


class TooManyError(Exception):
    """The learner has run as many new lines as one may for now; the message says when the next may come."""


def run(
    learner: User, lesson: Lesson, walk: Walkthrough, step: Step, line: str, *, expected: str = ""
) -> StepRun:
    """Note that a learner runs a line at a step, and what they expect; the answer is the row's.

    The same line again is the same row, and counts for nothing; one that failed is queued again. Raises TooManyError.
    """
    answer = computing.ask_run(lesson, walk, step, line)
    mine = StepRun.objects.filter(learner=learner)
    known = mine.filter(lesson=lesson.slug, step=step.key, answer=answer).first()
    if known is None:
        _refuse_too_many(learner, timezone.now())
        known, _ = StepRun.objects.get_or_create(
            learner=learner, lesson=lesson.slug, step=step.key, answer=answer,
            defaults={"line": line, "expected": expected},
        )  # fmt: skip
    if computing.ask_again(answer):
        answer.refresh_from_db()
    known.answer = answer
    return known


def _refuse_too_many(learner: User, now: datetime) -> None:
    lately = StepRun.objects.filter(learner=learner, asked_at__gt=now - WITHIN)
    times = list(lately.order_by("asked_at").values_list("asked_at", flat=True))
    if len(times) < MOST:
        return
    wait = times[len(times) - MOST] + WITHIN - now
    minutes = max(1, round(wait.total_seconds() / 60 + 0.5))
    raise TooManyError(
        f"You have run {MOST} lines within {WITHIN.seconds // 60} minutes. The next can be run in about "
        f"{minutes}\u00a0min; your line is kept here."
    )


def runs_of(user: User | AnonymousUser, lesson: Lesson) -> dict[str, list[StepRun]]:
    """Return what a person has run in a lesson's walkthrough as it is today, by step, the first one first."""
    walk = lesson.walkthrough
    if walk is None or not user.is_authenticated:
        return {}
    rows = StepRun.objects.visible_to(user).filter(
        lesson=lesson.slug, answer__code_version=walking.code_version(walk)
    )
    found: dict[str, list[StepRun]] = {}
    for row in rows.select_related("answer"):
        found.setdefault(row.step, []).append(row)
    return found

"""The life of a computed answer: asked, claimed, computed, kept.

Nothing here publishes to the broker: the view does, after commit. A message may be lost or come
twice; :func:`claim_forgotten` and the guard in :func:`compute` make both harmless.
"""

from __future__ import annotations

import hashlib
import logging
import time
from datetime import timedelta
from typing import TYPE_CHECKING

from django.db.models import F, Q
from django.utils import timezone

from lessons import content, walking
from lessons.models import ComputedAnswer
from lessons.predictions import all_computations, code_version

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from lessons.content import Lesson
    from lessons.models import ComputedAnswerQuerySet
    from lessons.simulations import Progress, Steps
    from lessons.walkthroughs import Step, Walkthrough

logger = logging.getLogger(__name__)

Status = ComputedAnswer.Status
UNHEARD = timedelta(seconds=20)
"""A row without a sign of life for so long is published again."""
MOST_ATTEMPTS = 3
_BEAT_S = 0.5
_RUN = "run"


def ask(name: str) -> ComputedAnswer:
    """Return the row of a computation, as today's code would answer it; made if it is new."""
    if name not in all_computations():
        raise KeyError(name)
    version = code_version()
    key = hashlib.sha256(f"{name}:{version}".encode()).hexdigest()
    answer, _ = ComputedAnswer.objects.get_or_create(
        key=key, defaults={"name": name, "code_version": version}
    )
    return answer


def ask_run(lesson: Lesson, walk: Walkthrough, step: Step, line: str) -> ComputedAnswer:
    """Return the row of a line at a step of a walkthrough, as today's code would answer it; made if it is new."""
    version, name = walking.code_version(walk), f"{_RUN}:{lesson.slug}:{step.key}"
    key = hashlib.sha256(f"{name}:{line}:{version}".encode()).hexdigest()
    answer, _ = ComputedAnswer.objects.get_or_create(
        key=key, defaults={"name": name, "line": line, "code_version": version}
    )
    return answer


def _steps_of(answer: ComputedAnswer) -> Steps[Any]:
    """Return the computation of a row. Raises KeyError if the course has it no more."""
    kind, _, rest = answer.name.partition(":")
    if kind != _RUN:
        return all_computations()[answer.name]()
    lesson, _, step = rest.partition(":")
    walk = content.lessons()[lesson].walkthrough
    if walk is None:
        raise KeyError(lesson)
    return walking.answer(walk, step, answer.line)


def compute(answer_id: int) -> None:
    """Compute a queued answer and keep it. Does nothing if someone else has claimed it."""
    rows = ComputedAnswer.objects.filter(pk=answer_id)
    now = timezone.now()
    if not rows.move(Status.QUEUED, Status.RUNNING, attempts=F("attempts") + 1, heartbeat_at=now):
        return
    answer = rows.get()
    # Whoever takes over raises ``attempts``: from then on this run's writes find no row.
    mine = rows.filter(attempts=answer.attempts)
    written = time.monotonic()
    try:
        steps = _steps_of(answer)
        while True:
            progress = next(steps)
            if time.monotonic() - written >= _BEAT_S:
                written = time.monotonic()
                if not _note(mine, progress):
                    return
    except StopIteration as stop:
        result = stop.value.as_json()
    except Exception as error:
        logger.exception("computing %s failed", answer.name)
        mine.move(Status.RUNNING, Status.FAILED, error=f"{error}"[:300], finished_at=timezone.now())
        return
    mine.move(Status.RUNNING, Status.DONE, result=result, error="", finished_at=timezone.now())


def _note(mine: ComputedAnswerQuerySet, progress: Progress) -> bool:
    return mine.move(
        Status.RUNNING,
        Status.RUNNING,
        done_s=progress.done_s,
        total_s=progress.total_s,
        heartbeat_at=timezone.now(),
    )


def answered_now(name: str) -> ComputedAnswer:
    """Return an answer that takes no longer than a page may, computing it here if it is new."""
    answer = ask(name)
    if not answer.is_done:
        ask_again(answer)
        claim_forgotten(answer)
        compute(answer.pk)
        answer.refresh_from_db()
    return answer


def claim_forgotten(answer: ComputedAnswer, now: datetime | None = None) -> bool:
    """Tell whether ``answer`` should be published now: it is new, or nobody has been heard of it.

    True once per lapse: of two pages that ask at once, one publishes. A run that has gone silent
    goes back to the queue, or fails after its last attempt.
    """
    now = now or timezone.now()
    rows = ComputedAnswer.objects.filter(pk=answer.pk)
    silent = rows.filter(heartbeat_at__lt=now - UNHEARD)
    if silent.filter(attempts__gte=MOST_ATTEMPTS).move(
        Status.RUNNING,
        Status.FAILED,
        error=f"it stopped {MOST_ATTEMPTS} times before its end",
        finished_at=now,
    ):
        return False
    silent.move(Status.RUNNING, Status.QUEUED, published_at=None)
    unpublished = Q(published_at=None) | Q(published_at__lt=now - UNHEARD)
    return rows.filter(unpublished).move(Status.QUEUED, Status.QUEUED, published_at=now)


def ask_again(answer: ComputedAnswer) -> bool:
    """Put a failed answer back into the queue; False if it is not failed."""
    return ComputedAnswer.objects.filter(pk=answer.pk).move(
        Status.FAILED, Status.QUEUED, attempts=0, published_at=None, error=""
    )

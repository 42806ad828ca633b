"""What a learner has read, tried and committed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction
from django.utils import timezone

from lessons import computing
from lessons.checks_marking import is_resolved, mark
from lessons.hints import hints_at, open_count
from lessons.models import CheckHint, CheckTry, PredictionCommit, StationRead

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from django.contrib.auth.models import AnonymousUser

    from courseware.models import User
    from lessons.content import Lesson, Station
    from lessons.guesses import Guess
    from lessons.questions import Question


class AlreadyResolvedError(Exception):
    """The check explains itself already and takes no more tries."""


class AnsweredFirstError(Exception):
    """Another answer has been kept as this try: from another window, or a moment before."""


@dataclass
class Progress:
    """One learner's way through one lesson."""

    read: set[str] = field(default_factory=set)
    tries: dict[str, list[CheckTry]] = field(default_factory=dict)
    hints: dict[str, list[CheckHint]] = field(default_factory=dict)
    commits: dict[str, PredictionCommit] = field(default_factory=dict)

    def state_of(self, station: Station) -> str:
        """Return done (read, its checks tried), tried (begun) or ahead."""
        tried = [key in self.tries for key in station.checks]
        if station.slug in self.read and all(tried):
            return "done"
        begun = station.slug in self.read or any(tried)
        return "tried" if begun or any(k in self.commits for k in station.predictions) else "ahead"

    def counts(self, lesson: Lesson) -> bool:
        """Tell whether the lesson counts: every station read, every check tried."""
        return all(self.state_of(station) == "done" for station in lesson.stations)

    def stations_read(self, lesson: Lesson) -> int:
        return sum(station.slug in self.read for station in lesson.stations)

    def checks_tried(self, lesson: Lesson) -> int:
        return sum(key in self.tries for station in lesson.stations for key in station.checks)


def progress_of(user: User | AnonymousUser, lesson: Lesson) -> Progress:
    """Return a person's progress; a visitor's is empty."""
    if not user.is_authenticated:
        return Progress()
    mine = {"lesson": lesson.slug}
    progress = Progress(
        read=set(
            StationRead.objects.visible_to(user).filter(**mine).values_list("station", flat=True)
        ),
        commits={
            commit.prediction: commit
            for commit in PredictionCommit.objects.visible_to(user)
            .filter(**mine)
            .select_related("answer")
        },
    )
    for row in CheckTry.objects.visible_to(user).filter(**mine).order_by("number"):
        progress.tries.setdefault(row.check_key, []).append(row)
    if any(check.hints for station in lesson.stations for check in station.checks.values()):
        for hint in CheckHint.objects.visible_to(user).filter(**mine).order_by("number"):
            progress.hints.setdefault(hint.check_key, []).append(hint)
    return progress


def mark_read(learner: User, lesson: Lesson, station: Station) -> None:
    """Note that a station was read; again changes nothing."""
    StationRead.objects.get_or_create(learner=learner, lesson=lesson.slug, station=station.slug)


def tries_at(learner: User, lesson: Lesson, question: Question) -> list[CheckTry]:
    """Return a learner's tries at one check, the first one first."""
    mine = CheckTry.objects.visible_to(learner).filter(lesson=lesson.slug)
    return list(mine.filter(check_key=question.key).order_by("number"))


def answer_check(
    learner: User,
    lesson: Lesson,
    question: Question,
    chosen: Sequence[str],
    *,
    number: int | None = None,
    now: datetime | None = None,
) -> CheckTry:
    """Mark one try and keep it, with the number of hints that are open now.

    ``number`` says which try the page asked for, from 1. The same answer sent again as the same try (two clicks, a
    response that was lost) spends nothing and returns what was kept. Raises ValueError for an answer that the
    question does not offer, AnsweredFirstError if another answer was kept as this try, and AlreadyResolvedError
    if the check takes no more.
    """
    verdict = mark(question, chosen)
    now = now or timezone.now()
    try:
        with transaction.atomic():
            earlier = tries_at(learner, lesson, question)
            if number is not None and number <= len(earlier):
                return _same(earlier[number - 1], chosen)
            if is_resolved(question, [row.right for row in earlier]):
                raise AlreadyResolvedError
            return CheckTry.objects.create(
                learner=learner,
                lesson=lesson.slug,
                check_key=question.key,
                number=len(earlier) + 1,
                answer=list(chosen),
                right=verdict.right,
                wording=question.wording,
                hints=open_count(hints_at(learner, lesson, question), now, len(earlier)),
            )
    except IntegrityError as error:
        # Both read the same tries; the number that they wrote is one try, and the other's.
        kept = tries_at(learner, lesson, question)
        if not kept:
            raise AnsweredFirstError from error
        return _same(kept[-1], chosen)


def _same(kept: CheckTry, chosen: Sequence[str]) -> CheckTry:
    if kept.answer != list(chosen):
        raise AnsweredFirstError
    return kept


def commit_prediction(
    learner: User, lesson: Lesson, key: str, *, guess: Guess, confidence: int, why: str = ""
) -> PredictionCommit:
    """Store a guess, before anything is computed or shown. The first one stands."""
    with transaction.atomic():
        answer = computing.ask(f"prediction:{key}")
        commit, _ = PredictionCommit.objects.get_or_create(
            learner=learner,
            lesson=lesson.slug,
            prediction=key,
            defaults={"guess": guess, "confidence": confidence, "why": why, "answer": answer},
        )
    return commit


def everybody_asked(commits: Iterable[PredictionCommit]) -> dict[int, list[Guess]]:
    """Return what all people said, each once, by the answer that they were asked for: those of ``commits`` that are done."""
    answers = {commit.answer_id for commit in commits if commit.answer.is_done}
    rows = PredictionCommit.objects.filter(answer__in=answers).order_by("pk")
    said: dict[tuple[int, int], Guess] = {}
    for answer, learner, guess in rows.values_list("answer", "learner", "guess"):
        said.setdefault((answer, learner), guess)
    found: dict[int, list[Guess]] = {answer: [] for answer in answers}
    for (answer, _), guess in said.items():
        found[answer].append(guess)
    return found


def note_seen(commit: PredictionCommit, seen: str) -> bool:
    """Store what the learner saw, once; only then is the explanation shown."""
    rows = PredictionCommit.objects.filter(pk=commit.pk, seen_at=None)
    return rows.update(seen=seen, seen_at=timezone.now()) == 1

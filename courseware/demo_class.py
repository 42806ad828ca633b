"""A believable class: people who read, predict, answer and handle incidents, each in their own way.

Everything that they did was done: their attempts are played through the same functions that pages and workers call,
simulated and marked. Only the days are moved, so that a class does not begin and end in one minute.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from django.db.models import F
from django.utils import timezone

from courseware.models import User
from labs import attempts, outbox, plays, worker, worlds
from labs.catalogue import labs
from labs.models import Action, Attempt
from labs.personas import Persona, play_of
from lessons import computing, predictions, progress
from lessons.content import lessons

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from labs.specs import LabSpec
    from lessons.content import Lesson, Station

GIVEN = (
    "Amara", "Bo", "Chidi", "Dana", "Elif", "Farid", "Greta", "Hiro", "Ines", "Jonas", "Kavya", "Lena",
    "Mateo", "Nadia", "Oskar", "Priya", "Quentin", "Rosa", "Samir", "Tomás", "Uma", "Viktor", "Wren", "Yuki",
)  # fmt: skip
FAMILY = (
    "Abara", "Berg", "Castillo", "Diallo", "Eriksen", "Fischer", "Gupta", "Haddad", "Ito", "Jansen", "Kim",
    "Lindqvist", "Moreau", "Novak", "Okafor", "Petrov", "Quist", "Raman", "Silva", "Tanaka", "Usman", "Weber",
)  # fmt: skip
DAYS = 28
"""The class has taken so long by now."""
WHY = "That is what I would expect from the numbers above."


@dataclass(frozen=True)
class Made:
    """What a class did."""

    learners: int
    attempts: int
    not_graded: int
    mean: float
    """Of the marks, 0 to 100."""


def make_class(
    *, learners: int, attempts_each: int, seed: int, tell: Callable[[str], None]
) -> Made:
    """Make people and let them take the course. The same numbers give the same class, in an empty database."""
    done: list[Attempt] = []
    for number in range(learners):
        draws = random.Random(f"demo class:{seed}:{number}")
        user, persona = _person(number, seed, draws)
        _read(user, persona, draws)
        for slug in draws.sample(list(labs()), min(attempts_each, len(labs()))):
            done.append(_attempt(user, labs()[slug], persona, draws))
            tell(f"{user.name}: {done[-1].spec.title}, {_said(done[-1])}")
    marks = [float(each.total) for each in done if each.total is not None]
    mean = sum(marks) / len(marks) if marks else 0.0
    return Made(learners, len(done), len(done) - len(marks), mean)


def _said(attempt: Attempt) -> str:
    return "not graded" if attempt.total is None else f"{attempt.total} of 100"


def _person(number: int, seed: int, draws: Random) -> tuple[User, Persona]:
    name = f"{draws.choice(GIVEN)} {draws.choice(FAMILY)}"
    user, made = User.objects.get_or_create(
        email=f"learner{seed}-{number}@demo.invalid", defaults={"name": name}
    )
    if made:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    skill = min(0.97, max(0.05, draws.betavariate(2, 2)))
    return user, Persona(skill=skill, surplus=draws.gauss(0.05, 0.2))


# ------------------------------------------------------------------------------------------- reading


def _read(user: User, persona: Persona, draws: Random) -> None:
    """Read some lessons, and answer and predict what stands in them."""
    course = list(lessons().values())
    for lesson in course[: 1 + round(persona.skill * (len(course) - 1))]:
        for station in lesson.stations:
            if draws.random() > 0.4 + 0.6 * persona.skill:
                continue
            for question in station.checks.values():
                if question.kind not in {"one", "many"}:
                    continue
                right = draws.random() < 0.35 + 0.6 * persona.skill
                wrong = [each.key for each in question.options if not each.right]
                chosen = question.right_answer if right or not wrong else [draws.choice(wrong)]
                progress.answer_check(user, lesson, question, chosen, number=1)
            _predict(user, lesson, station, persona, draws)
            progress.mark_read(user, lesson, station)


def _predict(user: User, lesson: Lesson, station: Station, persona: Persona, draws: Random) -> None:
    for key in station.predictions:
        asked = predictions.QUESTIONS[key]
        if asked.kind not in {"number", "choice"}:
            continue
        answer = computing.answered_now(f"prediction:{key}")
        truth = (answer.result or {}).get("answer")
        if asked.kind == "number" and isinstance(truth, float | int):
            off = draws.gauss(0, 0.2 + 1.5 * (1 - persona.skill))
            guess: float | str = float(f"{float(truth) * 2**off:.3g}")
        elif asked.kind == "choice":
            right = draws.random() < 0.3 + 0.6 * persona.skill
            guess = str(truth) if right else draws.choice(sorted(station.predictions[key].items))
        else:
            continue
        progress.commit_prediction(
            user, lesson, key, guess=guess, confidence=draws.choice((50, 70, 90)), why=WHY
        )


# ------------------------------------------------------------------------------------------ handling


def _attempt(user: User, spec: LabSpec, persona: Persona, draws: Random) -> Attempt:
    """Take one attempt from its page to its mark, as pages and workers would."""
    with outbox.held():
        attempt = attempts.start_attempt(learner=user, spec=spec)
        _work(attempt)
        truth = worlds.hypothesis_of(spec, attempt.seed)
        play = play_of(spec, truth, persona, draws)
        _, log = plays.perform(spec, attempt.seed, play, hypothesis=truth)
        for entry in log:
            if entry.kind == "command":
                attempts.command(attempt, entry.payload["line"])
                _work(attempt)
            else:
                attempts.record(attempt, Action.Kind(entry.kind), entry.payload)
        attempts.finish(attempt)
        _work(attempt)
    _move_back(attempt, timedelta(days=draws.uniform(0, DAYS)))
    attempt.refresh_from_db()
    return attempt


def _work(attempt: Attempt) -> None:
    for action in Action.objects.filter(attempt=attempt).under_way():
        worker.execute_action(action.pk)


def _move_back(attempt: Attempt, by: timedelta) -> None:
    """Let an attempt have been taken earlier: its log, its mark and its review."""
    for rows, fields in (
        (Attempt.objects.filter(pk=attempt.pk), ("started_at", "finished_at")),
        (attempt.actions.all(), ("created_at", "done_at")),
        (attempt.mark_changes.all(), ("at",)),
    ):
        rows.update(**{field: F(field) - by for field in fields})
    attempt.reviews.update(created_at=timezone.now() - by)

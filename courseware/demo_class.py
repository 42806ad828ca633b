"""A believable class: people who read, predict, answer and handle incidents, each in their own way.

Everything that they did was done: their attempts are played through the same functions that pages and workers call,
simulated and marked. Only days and pauses are moved, so that a class does not begin and end in one minute.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from django.db.models import F
from django.utils import timezone

from courseware import demo_cohort, demo_reading
from courseware.models import User
from labs import attempts, outbox, plays, worker, worlds
from labs.catalogue import labs
from labs.lab_insight import LEAST
from labs.models import Action, Attempt
from labs.personas import Persona, play_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from random import Random

    from labs.log import Entry
    from labs.specs import LabSpec

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


@dataclass(frozen=True)
class Made:
    """What a class did."""

    learners: int
    attempts: int
    without_mark: int
    """Given up, or not graded."""
    mean: float
    """Of the marks, 0 to 100."""


def make_class(
    *, learners: int, attempts_each: int, seed: int, tell: Callable[[str], None]
) -> Made:
    """Make people and let them take the course. The same numbers give the same class, in an empty database."""
    done: list[Attempt] = []
    people: list[User] = []
    shared = _shared(attempts_each, seed)
    for number in range(learners):
        draws = random.Random(f"demo class:{seed}:{number}")
        user, persona = _person(number, seed, draws)
        people.append(user)
        demo_reading.read(user, persona, draws, days=DAYS)
        for spec, days_ago in _plan(shared, attempts_each, draws):
            # Enough people come to a mark in what everybody takes for its statistics to be shown.
            may_stop = number >= LEAST or spec not in shared
            done.append(_attempt(user, spec, persona, draws, days_ago, may_stop=may_stop))
            tell(f"{user.name}: {done[-1].spec.title}, {_said(done[-1])}")
    # Last: dates that have passed would have refused what is moved to before them.
    demo_cohort.make_cohort(seed, shared, people, days=DAYS)
    marks = [float(each.total) for each in done if each.total is not None]
    mean = sum(marks) / len(marks) if marks else 0.0
    return Made(learners, len(done), len(done) - len(marks), mean)


def _shared(attempts_each: int, seed: int) -> list[LabSpec]:
    """Return the labs that everybody takes: half of what each does, so that there is a class to look at."""
    draws = random.Random(f"demo class:{seed}:labs")
    return draws.sample(list(labs().values()), min((attempts_each + 1) // 2, len(labs())))


def _plan(
    shared: Sequence[LabSpec], attempts_each: int, draws: Random
) -> list[tuple[LabSpec, float]]:
    """Return what one person takes, and how many days ago: what is shared around its due date, the rest at any time."""
    rest = [spec for spec in labs().values() if spec not in shared]
    own = draws.sample(rest, min(attempts_each - len(shared), len(rest)))
    around = (draws.gauss(demo_cohort.due_days_ago(place) + 2, 2.5) for place in range(len(shared)))
    plan = [
        (spec, min(DAYS - 1.0, max(0.1, ago))) for spec, ago in zip(shared, around, strict=True)
    ]
    return plan + [(spec, draws.uniform(0, DAYS)) for spec in own]


def _said(attempt: Attempt) -> str:
    if attempt.total is not None:
        return f"{attempt.total} of 100"
    return attempt.get_status_display().lower()


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


# ------------------------------------------------------------------------------------------ handling


def _attempt(
    user: User,
    spec: LabSpec,
    persona: Persona,
    draws: Random,
    days_ago: float,
    *,
    may_stop: bool,
) -> Attempt:
    """Take one attempt from its page to its mark, as pages and workers would; or give it up on the way."""
    with outbox.held():
        attempt = attempts.start_attempt(learner=user, spec=spec)
        _work(attempt)
        truth = worlds.hypothesis_of(spec, attempt.seed)
        play = play_of(spec, truth, persona, draws)
        _, log = plays.perform(spec, attempt.seed, play, hypothesis=truth)
        stops = may_stop and draws.random() < 0.3 * (1 - persona.skill)
        taken: list[Entry] = list(log)
        if stops:
            taken = taken[: draws.randint(1, max(1, len(taken) - 1))]
        for entry in taken:
            if entry.kind == "command":
                attempts.command(attempt, entry.payload["line"])
                _work(attempt)
            else:
                attempts.record(attempt, Action.Kind(entry.kind), entry.payload)
        if stops:
            attempts.give_up(attempt)
        else:
            attempts.finish(attempt)
            _work(attempt)
    attempt.refresh_from_db()
    _slow_down(attempt, draws)
    _move_back(attempt, timedelta(days=days_ago))
    attempt.refresh_from_db()
    return attempt


def _work(attempt: Attempt) -> None:
    for action in Action.objects.filter(attempt=attempt).under_way():
        worker.execute_action(action.pk)


def _slow_down(attempt: Attempt, draws: Random) -> None:
    """Let thought lie between the actions of an attempt: minutes, where a play takes none."""
    at: datetime = attempt.started_at
    for action in attempt.actions.order_by("seq"):
        at += timedelta(seconds=draws.lognormvariate(4.0, 0.8))
        Action.objects.filter(pk=action.pk).update(created_at=at, done_at=at)
    Attempt.objects.filter(pk=attempt.pk).update(finished_at=at + timedelta(seconds=5))
    attempt.mark_changes.update(at=at + timedelta(seconds=5))


def _move_back(attempt: Attempt, by: timedelta) -> None:
    """Let an attempt have been taken earlier: its log, its mark and its review."""
    for rows, fields in (
        (Attempt.objects.filter(pk=attempt.pk), ("started_at", "finished_at")),
        (attempt.actions.all(), ("created_at", "done_at")),
        (attempt.mark_changes.all(), ("at",)),
    ):
        rows.update(**{field: F(field) - by for field in fields})
    attempt.reviews.update(created_at=timezone.now() - by)

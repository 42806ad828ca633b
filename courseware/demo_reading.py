"""How a person of a demo class reads: stations, checks, predictions and drills, each by their skill."""

from __future__ import annotations

import html
import random
import re
from datetime import timedelta
from typing import TYPE_CHECKING

from django.utils import timezone

from lessons import computing, drilling, keywords, predictions, progress
from lessons.content import lessons
from lessons.drills.spec import drills
from lessons.models import CheckTry, DrillAttempt, KeywordOpening, PredictionCommit, StationRead

if TYPE_CHECKING:
    from datetime import datetime
    from random import Random

    from courseware.models import User
    from labs.personas import Persona
    from lessons.content import Lesson, Station
    from lessons.drills.spec import DrillSpec
    from lessons.questions import Question

WHY = "That is what I would expect from the numbers above."
_TERM = re.compile(r'data-term="([^"]+)"')
DRILLED = 2
"""Drills that the most skilled take."""


def read(user: User, persona: Persona, draws: Random, *, days: int) -> None:
    """Read some lessons, answer and predict what stands in them, and take some drills."""
    begun = timezone.now()
    course = list(lessons().values())
    for lesson in course[: 1 + round(persona.skill * (len(course) - 1))]:
        for station in lesson.stations:
            if draws.random() > 0.4 + 0.6 * persona.skill:
                continue
            _open_keywords(user, lesson, station, persona, draws)
            for question in station.checks.values():
                _answer(user, lesson, question, persona, draws)
            _predict(user, lesson, station, persona, draws)
            progress.mark_read(user, lesson, station)
    for spec in list(drills().values())[: round(persona.skill * DRILLED + 0.4)]:
        _drill(user, spec, persona, draws)
    _move_back(user, begun, days)


def _open_keywords(
    user: User, lesson: Lesson, station: Station, persona: Persona, draws: Random
) -> None:
    """Unfold some of a station's keywords: the more, the less one knows."""
    terms = dict.fromkeys(term for part in station.parts for term in _TERM.findall(part.value))
    for term in terms:
        if draws.random() < 0.1 + 0.6 * (1 - persona.skill):
            keywords.note_opened(user, lesson, station, html.unescape(term))


def _answer(
    user: User, lesson: Lesson, question: Question, persona: Persona, draws: Random
) -> None:
    for number in range(1, question.tries + 1):
        right = draws.random() < 0.35 + 0.6 * persona.skill
        chosen = question.right_answer if right else _wrong(question, draws)
        if progress.answer_check(user, lesson, question, chosen, number=number).right:
            return
        if draws.random() > persona.skill:
            return


def _wrong(question: Question, draws: Random) -> list[str]:
    """Return a wrong answer of the kind that people give; the right one where there is no other."""
    right = question.right_answer
    if question.options:
        wrong = [each.key for each in question.options if not each.right]
        return [draws.choice(wrong)] if wrong else right
    if question.kind == "order":
        place = draws.randrange(len(right) - 1)
        return [*right[:place], right[place + 1], right[place], *right[place + 2 :]]
    if question.kind == "match":
        lefts, rights = zip(*(each.split(":") for each in right), strict=True)
        turned = [*rights[1:], rights[0]]
        return [f"{left}:{other}" for left, other in zip(lefts, turned, strict=True)]
    if question.kind == "number":
        named = [each.value for each in question.tempting if each.value is not None]
        return [f"{draws.choice(named) if named else question.answer * 2:.15g}"]
    return ["I do not know"]


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
        sure = min(0.95, max(0.05, persona.skill * 0.6 + persona.surplus + 0.3))
        confidence = draws.choices((50, 70, 90), (1 - sure, 0.5, sure))[0]
        progress.commit_prediction(user, lesson, key, guess=guess, confidence=confidence, why=WHY)


def _drill(user: User, spec: DrillSpec, persona: Persona, draws: Random) -> None:
    """Take one drill to its end."""
    attempt = drilling.start(user, spec)
    truth = spec.suspects[spec.world_of(attempt.seed)]
    useful = [key for key, each in spec.measurements.items() if each.signals]
    first = draws.choice(useful if draws.random() < persona.skill else sorted(spec.measurements))
    drilling.commit(attempt, first, draws.choice((50, 70, 90)), WHY)
    others = [
        key
        for key, each in spec.suspects.items()
        if each is not truth and draws.random() < 0.7  # noqa: PLR2004
    ]
    drilling.strike(attempt, others)
    knows = draws.random() < 0.3 + 0.6 * persona.skill
    drilling.explain(attempt, truth.mechanism if knows else draws.choice(sorted(spec.mechanisms)))
    drilling.mend(attempt, truth.fix if knows else draws.choice(sorted(spec.fixes)))


def _move_back(user: User, begun: datetime, days: int) -> None:
    """Let what was done a moment ago have been done over the days of the class, in its order."""
    draws = random.Random(f"demo days:{user.email}")
    spread: dict[tuple[str, str], timedelta] = {}
    order = [lesson.slug for lesson in lessons().values()]

    def moved(lesson: str) -> timedelta:
        share = 1 - (order.index(lesson) + draws.random()) / len(order)
        return spread.setdefault(("day", lesson), timedelta(days=0.9 * days * share))

    for model, field in (
        (StationRead, "read_at"),
        (CheckTry, "tried_at"),
        (PredictionCommit, "committed_at"),
        (KeywordOpening, "opened_at"),
    ):
        rows = model.objects.filter(learner=user, **{f"{field}__gte": begun})
        for pk, lesson, at in rows.values_list("pk", "lesson", field):
            model.objects.filter(pk=pk).update(**{field: at - moved(lesson)})
    for pk in DrillAttempt.objects.filter(learner=user).values_list("pk", flat=True):
        at = begun - timedelta(days=draws.uniform(0, days * 0.9))
        DrillAttempt.objects.filter(pk=pk).update(
            begun_at=at, finished_at=at + timedelta(minutes=draws.uniform(2, 9))
        )

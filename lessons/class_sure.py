"""What a whole class was sure of, from the rows of lessons, drills and labs: only learners count, and nobody's name is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db.models import Max

from labs.class_confidence import said_in_labs
from lessons.check_cards import plain
from lessons.drills.spec import drills
from lessons.guesses import came
from lessons.models import ComputedAnswer, DrillAttempt, PredictionCommit
from lessons.sure import Said, off_by, sure_and_wrong

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from django.db.models import QuerySet

    from courseware.models import User
    from lessons.content import Lesson, PredictionText
    from lessons.guesses import Guess
    from lessons.sure import Found


def found_in(lessons: Mapping[str, Lesson], learners: QuerySet[User]) -> Found:
    """Return where these learners were sure and wrong."""
    return sure_and_wrong([*_predictions(lessons, learners), *_drills(learners), *_labs(learners)])


def prediction_key(lesson: str, prediction: str) -> str:
    """Return the key of a prediction among those of the whole course."""
    return f"{lesson}/{prediction}"


def _predictions(lessons: Mapping[str, Lesson], learners: QuerySet[User]) -> Iterator[Said]:
    """Yield predictions in lessons whose answer is known; of each, those that asked today's code."""
    rows = PredictionCommit.objects.filter(
        learner__in=learners,
        lesson__in=lessons,
        answer__status=ComputedAnswer.Status.DONE,
    ).values_list(
        *("learner", "lesson", "prediction", "guess", "confidence", "answer__code_version"),
        # Not the whole result: it holds charts.
        *("answer__result__answer", "answer__result__axes"),
    )
    found = list(rows.order_by("answer__pk"))
    newest = {(lesson, key): version for _, lesson, key, _, _, version, _, _ in found}
    for learner, lesson, key, guess, percent, version, answer, axes in found:
        here = lessons[lesson].with_prediction(key)
        if here is None or newest[lesson, key] != version:
            continue
        text = here.predictions[key]
        yield Said(
            learner,
            "prediction",
            prediction_key(lesson, key),
            percent,
            right=came(guess, {"answer": answer, "axes": axes}),
            answer=_in_words(text, guess, answer),
            version=version,
        )


def _in_words(text: PredictionText, guess: Guess, answer: Any) -> str:
    if isinstance(guess, str):
        return plain(text.items.get(guess, guess))
    if isinstance(guess, list):
        is_order = bool(guess) and isinstance(guess[0], str)
        return "another order" if is_order else "another curve"
    is_number = isinstance(answer, float | int)
    return off_by(float(guess), float(answer)) if is_number else "another answer"


def _drills(learners: QuerySet[User]) -> Iterator[Said]:
    """Yield first measurements in drills, of each learner's first try: sure that no other would be better."""
    known = drills()
    rows = DrillAttempt.objects.filter(
        learner__in=learners, stage=DrillAttempt.Stage.DONE, drill__in=known
    )
    newest = dict(rows.order_by().values_list("drill").annotate(newest=Max("version")))
    seen: set[tuple[int, str]] = set()
    for row in rows.order_by("begun_at"):
        spec = known[row.drill]
        if row.version != newest[row.drill] or (row.learner_id, row.drill) in seen:
            continue
        seen.add((row.learner_id, row.drill))
        first = next((part for part in row.parts if part["name"] == "first measurement"), None)
        if first is None or row.confidence is None or not row.taken:
            continue
        measured = spec.measurements.get(row.taken[0])
        yield Said(
            row.learner_id,
            "drill",
            row.drill,
            row.confidence,
            # A hint takes a point from the decision, and makes no measurement worse.
            right=first["earned"] + _hints(row) >= first["weight"],
            answer=measured.title if measured else row.taken[0],
            version=str(row.version),
        )


def _hints(row: DrillAttempt) -> int:
    return sum(stage == DrillAttempt.Stage.MEASURE for stage, _ in row.hints)


def _labs(learners: QuerySet[User]) -> Iterator[Said]:
    for each in said_in_labs(learners):
        if each.said is not None and each.came is not None:
            answer = off_by(each.said, each.came)
        else:
            answer = each.answer
        yield Said(
            each.learner,
            "diagnosis" if each.is_diagnosis else "lab prediction",
            each.slug,
            each.percent,
            right=each.right,
            answer=answer,
            version=str(each.version),
        )

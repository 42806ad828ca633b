"""What is stored about one person, of lessons and of labs: for that person's own pages, and for their cohort's instructors.

The only room of the lessons that reads the rows of the labs; import-linter holds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labs.catalogue import labs
from labs.marking.constants import PASS_TOTAL
from labs.models import Action, Attempt
from lessons import content
from lessons.calibration import Told, told
from lessons.drills.marking import FIRST, FIX, MECHANISM, STRUCK
from lessons.drills.spec import drills
from lessons.guesses import came
from lessons.models import CheckTry, ComputedAnswer, DrillAttempt, PredictionCommit, StationRead
from lessons.progress import Progress
from lessons.symptoms import symptoms

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from courseware.models import User
    from lessons.content import Lesson, Station
    from lessons.guesses import Guess
    from lessons.shown import Place


def progress_everywhere(learner: User) -> dict[str, Progress]:
    """Return a person's progress by lesson: every lesson of the course, whatever is stored of it."""
    found = {slug: Progress() for slug in content.lessons()}
    for read in StationRead.objects.visible_to(learner).filter(lesson__in=found):
        found[read.lesson].read.add(read.station)
    for commit in PredictionCommit.objects.visible_to(learner).filter(lesson__in=found):
        found[commit.lesson].commits[commit.prediction] = commit
    for row in CheckTry.objects.visible_to(learner).filter(lesson__in=found).order_by("number"):
        found[row.lesson].tries.setdefault(row.check_key, []).append(row)
    return found


def first_tries(progress: dict[str, Progress]) -> dict[Place, bool]:
    """Return of each check that was tried whether the first try was right, without a hint."""
    return {
        (slug, key): rows[0].right and not rows[0].hints
        for slug, mine in progress.items()
        for key, rows in mine.tries.items()
    }


def stations_done(progress: dict[str, Progress]) -> set[Place]:
    """Return the stations that are read with every check tried."""
    return {
        (slug, station.slug)
        for slug, mine in progress.items()
        for station in content.lessons()[slug].stations
        if mine.state_of(station) == "done"
    }


def where_to_go_on(progress: dict[str, Progress]) -> tuple[Lesson, Station] | None:
    """Return the course's first station that is not done; None once all are."""
    for slug, lesson in content.lessons().items():
        for station in lesson.stations:
            if progress[slug].state_of(station) != "done":
                return lesson, station
    return None


@dataclass(frozen=True)
class Computed:
    """A prediction of a lesson, and what was computed for it."""

    lesson: str
    key: str
    at: datetime
    said: Guess
    confidence: int
    """Per cent."""
    result: Mapping[str, Any]
    """Of the reveal: ``answer``, and a sketch's ``axes``."""

    @property
    def told(self) -> Told:
        """The prediction with its outcome, as its kind judges it."""
        return Told(self.at, self.confidence, came(self.said, self.result))


def predictions_computed(learner: User) -> list[Computed]:
    """Return a person's predictions in lessons that have their answer."""
    rows = (
        PredictionCommit.objects.visible_to(learner)
        .filter(answer__status=ComputedAnswer.Status.DONE)
        .values_list(
            *("lesson", "prediction", "committed_at", "guess", "confidence"),
            # Not the whole result: it holds charts.
            *("answer__result__answer", "answer__result__axes"),
        )
    )
    return [
        Computed(lesson, key, at, said, percent, {"answer": answer, "axes": axes})
        for lesson, key, at, said, percent, answer, axes in rows
    ]


def predictions_told(learner: User) -> list[Told]:
    """Return a person's predictions whose answer they may know: computed in lessons, marked in labs."""
    found = [each.told for each in predictions_computed(learner)]
    marked = Action.objects.filter(
        attempt__learner=learner,
        attempt__status=Attempt.Status.MARKED,
        kind=Action.Kind.PREDICT,
        status=Action.Status.DONE,
    ).values_list("created_at", "attempt__mark__debrief__prediction")
    for at, revealed in marked:
        if revealed and revealed.get("value") is not None and revealed.get("truth") is not None:
            said, computed = float(revealed["value"]), float(revealed["truth"])
            found.append(told(at, int(revealed["confidence"]), said=said, computed=computed))
    return found


def labs_passed(learner: User) -> dict[str, set[str]]:
    """Return the labs that a person passed, by the layer in which the cause lay: their debriefs have told it."""
    rows = (
        Attempt.objects.counted()
        .filter(learner=learner, status=Attempt.Status.MARKED, mark__passed=True)
        .values_list("lab_slug", "mark__debrief__hypothesis")
    )
    found: dict[str, set[str]] = {}
    for slug, name in rows:
        spec = labs().get(slug)
        hypothesis = spec.hypotheses.get(name) if spec else None
        if hypothesis is not None:
            found.setdefault(hypothesis.answer.layer, set()).add(slug)
    return found


def drills_by_layer() -> dict[str, list[str]]:
    """Return the numbers of all drills, by the layer of their symptom."""
    found: dict[str, list[str]] = {}
    for number in drills():
        if symptom := symptoms().get(number):
            found.setdefault(symptom.layer, []).append(number)
    return found


def drills_solved(learner: User) -> set[str]:
    """Return the drills that earned, at least once, the share of all points that a lab asks for a pass."""
    points = (FIRST + STRUCK + MECHANISM + FIX) * PASS_TOTAL / 100
    rows = DrillAttempt.objects.visible_to(learner).filter(
        stage=DrillAttempt.Stage.DONE, total__gte=points
    )
    return set(rows.values_list("drill", flat=True))

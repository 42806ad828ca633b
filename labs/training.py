"""Training: a grader gives points to attempts whose points are settled, before a lab's queue opens to them.

A try goes over every case of the lab's set, in an order of its own. It is passed if the points lie within what the
rules allow of the reference, on average over all items of all cases. Instructors, who make the sets, need none.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction
from django.utils import timezone

from courseware.people import may_author
from labs.catalogue import labs
from labs.models import Review, TrainingAnswer, TrainingCase, TrainingRun
from labs.moderation import mean_off
from labs.readable import is_readable
from labs.reading_rules import rules_of, rules_of_all
from labs.rubric_editions import current, stood_at
from labs.rubric_points import rescored

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from django.db.models import QuerySet

    from courseware.models import User
    from labs.models import Attempt
    from labs.moderation import Given

MOST_NOTE_CHARACTERS = 2000


# ---------------------------------------------------------------------------------------- the set


def cases_of(lab_slug: str) -> QuerySet[TrainingCase]:
    """Return the training set of a lab."""
    rows = TrainingCase.objects.select_related("attempt", "by")
    return rows.filter(attempt__lab_slug=lab_slug, removed_at=None)


def cases_for(grader: User, lab_slug: str) -> QuerySet[TrainingCase]:
    """Return the cases that can train a grader: neither their own attempts, nor what they have read."""
    read = Review.objects.filter(claimed_by=grader.pk).values("attempt")
    return cases_of(lab_slug).exclude(attempt__learner=grader.pk).exclude(attempt__in=read)


def add(attempt: Attempt, points: Given, note: str, *, by: User) -> TrainingCase:
    """Put an attempt into the training set of its lab; one that is in it gets other points and another note."""
    with transaction.atomic():
        TrainingCase.objects.filter(attempt=attempt, removed_at=None).update(
            removed_at=timezone.now()
        )
        return TrainingCase.objects.create(attempt=attempt, points=points, note=note, by=by)


def remove(case: TrainingCase) -> None:
    """Take a case out of its set; tries that hold it go on without it. Done once, whatever is sent."""
    TrainingCase.objects.filter(pk=case.pk, removed_at=None).update(removed_at=timezone.now())


def reference(case: TrainingCase) -> Given:
    """Return the points that count as right, under the rubric as it stands; an item that is new has none."""
    return _as_it_stands(case.attempt.lab_slug, case.points, case.created_at)


def given_in(answer: TrainingAnswer) -> Given:
    """Return what a grader gave a case, under the rubric as it stands."""
    return _as_it_stands(answer.case.attempt.lab_slug, answer.points, answer.at)


def _as_it_stands(lab_slug: str, given: Given, since: datetime) -> Given:
    then, now = stood_at(lab_slug, since), current(lab_slug)
    return given if then.number == now.number else rescored(given, then.rubric, now.rubric)


# --------------------------------------------------------------------------------------- who needs it


def untrained_labs(grader: User) -> set[str]:
    """Return the labs whose queue is closed to a grader until they have passed its training; in three queries."""
    if may_author(grader):
        return set()
    asking = {slug for slug, rules in rules_of_all(labs()).items() if rules.needs_training}
    if not asking:
        return set()
    passed = TrainingRun.objects.filter(grader=grader.pk, passed=True)
    asking -= set(passed.values_list("lab_slug", flat=True))
    read = Review.objects.filter(claimed_by=grader.pk).values("attempt")
    sets = TrainingCase.objects.filter(removed_at=None, attempt__lab_slug__in=asking)
    usable = sets.exclude(attempt__learner=grader.pk).exclude(attempt__in=read)
    return set(usable.values_list("attempt__lab_slug", flat=True))


# -------------------------------------------------------------------------------------------- a try


@dataclass(frozen=True)
class Progress:
    """How far a grader is with a lab's training."""

    run: TrainingRun | None
    """The try that is open, or else the last one."""
    answered: int
    of: int
    following: TrainingCase | None
    """The case that comes next; None if no try is open."""


def begin(grader: User, lab_slug: str) -> TrainingRun | None:
    """Return the grader's open try at a lab's set, begun now if there is none; None if there is nothing to try."""
    runs = TrainingRun.objects.filter(grader=grader, lab_slug=lab_slug)
    found = runs.filter(finished_at=None).first()
    if found is not None:
        return found
    number = runs.count() + 1
    usable = [each for each in cases_for(grader, lab_slug) if is_readable(each.attempt)]
    cases = sorted(usable, key=lambda each: _place(grader, number, each))
    if not cases:
        return None
    try:
        with transaction.atomic():
            return TrainingRun.objects.create(
                grader=grader,
                lab_slug=lab_slug,
                number=number,
                cases=[each.pk for each in cases],
            )
    except IntegrityError:
        return runs.filter(finished_at=None).first()


def _place(grader: User, number: int, case: TrainingCase) -> str:
    return hashlib.sha256(f"{grader.pk}:{number}:{case.attempt.public_id}".encode()).hexdigest()


def progress(grader: User, lab_slug: str) -> Progress:
    """Return how far a grader is with a lab's training."""
    run = TrainingRun.objects.filter(grader=grader, lab_slug=lab_slug).first()
    if run is None:
        return Progress(None, 0, cases_for(grader, lab_slug).count(), None)
    answered = set(run.answers.values_list("case", flat=True))
    left = _left(run, answered)
    open_ = run.finished_at is None
    return Progress(
        run, len(answered), len(answered) + len(left), left[0] if open_ and left else None
    )


def answer(run: TrainingRun, case: TrainingCase, points: Given) -> None:
    """Store what a grader gave a case, and finish the try with the last one. The first answer stands."""
    with transaction.atomic():
        # One at a time: of two last answers at once, one finishes the try.
        run = TrainingRun.objects.select_for_update().get(pk=run.pk)
        if run.finished_at is not None or case.pk not in run.cases:
            return
        TrainingAnswer.objects.get_or_create(run=run, case=case, defaults={"points": points})
        given = {each.case_id: each for each in run.answers.select_related("case__attempt")}
        if _left(run, set(given)):
            return
        off = mean_off([(given_in(each), reference(each.case)) for each in given.values()])
        most = float(rules_of(run.lab_slug).training_most_off)
        TrainingRun.objects.filter(pk=run.pk, finished_at=None).update(
            finished_at=timezone.now(), off=off, most_off=most, passed=off <= most
        )


def answered_in(run: TrainingRun) -> Sequence[TrainingAnswer]:
    """Return the answers of a try, in the order in which they were given."""
    return list(run.answers.select_related("case__attempt").order_by("at", "pk"))


def passed_by(lab_slugs: Sequence[str]) -> Mapping[str, list[TrainingRun]]:
    """Return the tries that were passed, by lab, the first one of each grader."""
    found: dict[str, list[TrainingRun]] = {slug: [] for slug in lab_slugs}
    rows = TrainingRun.objects.filter(passed=True, lab_slug__in=lab_slugs).select_related("grader")
    for each in rows.order_by("finished_at"):
        if each.grader_id not in {one.grader_id for one in found[each.lab_slug]}:
            found[each.lab_slug].append(each)
    return found


def _left(run: TrainingRun, answered: set[int]) -> list[TrainingCase]:
    """Return the cases of a try that are still to be done; what was taken out, or cannot be read any more, is none."""
    cases = TrainingCase.objects.filter(pk__in=run.cases, removed_at=None)
    by_key = {
        each.pk: each for each in cases.select_related("attempt") if is_readable(each.attempt)
    }
    return [by_key[key] for key in run.cases if key in by_key and key not in answered]

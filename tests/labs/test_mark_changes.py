"""Each change of a mark is one guarded write, with who, why and what it was before."""

import pytest

from labs import mark_changes
from labs.marking.constants import WEIGHTS
from labs.models import MarkChange, MarkOverride
from tests.factories import AttemptFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def attempt(db):
    parts = [
        {"name": name, "earned": weight / 2, "weight": weight, "reason": name, "details": {}}
        for name, weight in WEIGHTS.items()
    ]
    mark = {
        "graded": True,
        "total": 50.0,
        "passed": False,
        "reason": "50.0",
        "parts": parts,
        "debrief": {},
    }
    return AttemptFactory(mark=mark, total=50, mark_version=4, rules="r")


def override(attempt, points=25, version=4, part="mechanism", **how):
    mark_changes.override(attempt, part, points, reason="in other words", version=version, **how)
    attempt.refresh_from_db()


def test_points_given_by_hand_change_the_total_and_leave_a_trail(attempt, instructor):
    override(attempt, by=instructor)
    assert (attempt.total, attempt.mark["total"], attempt.mark_version) == (62.5, 62.5, 5)
    change = attempt.mark_changes.get()
    assert (change.by, change.cause, change.reason) == (instructor, "overridden", "in other words")
    assert (change.before_total, change.after_total) == (50, 62.5)


def test_given_again_only_the_latest_points_count(attempt, instructor):
    override(attempt, by=instructor)
    override(attempt, points=20, version=5, by=instructor)
    assert attempt.total == 57.5
    assert MarkOverride.objects.filter(withdrawn_at=None).count() == 1


def test_taken_back_the_rules_points_count_again(attempt, instructor):
    mark = attempt.mark
    override(attempt, by=instructor)
    assert mark_changes.withdraw(attempt, "mechanism", reason="no", by=instructor, version=5)
    attempt.refresh_from_db()
    assert (attempt.mark, attempt.total, attempt.mark_version) == (mark, 50, 6)
    assert not mark_changes.withdraw(attempt, "mechanism", reason="no", by=instructor, version=6)


def test_whoever_saw_an_older_mark_changes_nothing(attempt, instructor):
    with pytest.raises(mark_changes.MovedOn):
        override(attempt, version=3, by=instructor)
    assert not MarkChange.objects.exists()
    assert not MarkOverride.objects.exists()


def test_of_two_at_once_one_is_told_that_the_mark_moved(attempt, instructor):
    stale = type(attempt).objects.get(pk=attempt.pk)
    override(attempt, by=instructor)
    with pytest.raises(mark_changes.MovedOn):
        mark_changes.override(stale, "scope", 1, reason="x", by=instructor, version=4)
    assert MarkOverride.objects.count() == 1

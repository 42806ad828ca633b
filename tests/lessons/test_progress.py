import pytest
from django.contrib.auth.models import AnonymousUser

from lessons import progress
from lessons.models import CheckTry, PredictionCommit, StationRead
from tests.lessons.conftest import LESSON

pytestmark = pytest.mark.django_db
FIRST = LESSON.stations[0]
CHECK = FIRST.checks["cold-rollout"]
WRONG = next(o.key for o in CHECK.options if not o.right)
RIGHT = next(iter(CHECK.right_keys))


def state(learner, station=FIRST):
    return progress.progress_of(learner, LESSON).state_of(station)


def test_a_station_is_ahead_then_tried_then_done(learner):
    assert state(learner) == "ahead"
    progress.mark_read(learner, LESSON, FIRST)
    assert state(learner) == "tried"
    progress.answer_check(learner, LESSON, CHECK, [WRONG])
    assert state(learner) == "done"


def test_reading_twice_counts_once(learner):
    progress.mark_read(learner, LESSON, FIRST)
    progress.mark_read(learner, LESSON, FIRST)
    assert StationRead.objects.count() == 1


def test_the_lesson_counts_when_all_is_read_and_tried_however_wrongly(learner):
    for station in LESSON.stations:
        assert not progress.progress_of(learner, LESSON).counts(LESSON)
        progress.mark_read(learner, LESSON, station)
        for question in station.checks.values():
            number = question.kind == "number"
            answer = ["1"] if number else [next(o.key for o in question.options if not o.right)]
            progress.answer_check(learner, LESSON, question, answer)
    assert progress.progress_of(learner, LESSON).counts(LESSON)


def test_every_try_is_kept_and_a_third_is_refused(learner):
    progress.answer_check(learner, LESSON, CHECK, [WRONG])
    progress.answer_check(learner, LESSON, CHECK, [RIGHT])
    with pytest.raises(progress.AlreadyResolvedError):
        progress.answer_check(learner, LESSON, CHECK, [RIGHT])
    assert list(CheckTry.objects.values_list("number", "right")) == [(1, False), (2, True)]


def test_the_first_commit_stands(learner):
    for value in (1.0, 2.0):
        commit = progress.commit_prediction(
            learner, LESSON, "pool-atlas", guess=value, confidence=70, why="because"
        )
    assert commit.guess == 1.0
    assert PredictionCommit.objects.count() == 1


def test_what_was_seen_is_stored_once(learner):
    commit = progress.commit_prediction(
        learner, LESSON, "pool-atlas", guess=1, confidence=70, why="because"
    )
    assert progress.note_seen(commit, "first")
    assert not progress.note_seen(commit, "second")
    commit.refresh_from_db()
    assert commit.seen == "first"


def test_another_persons_rows_are_not_mine(learner, another_learner):
    progress.mark_read(learner, LESSON, FIRST)
    progress.answer_check(learner, LESSON, CHECK, [WRONG])
    progress.commit_prediction(learner, LESSON, "pool-atlas", guess=1, confidence=70, why="because")
    for who in (another_learner, AnonymousUser()):
        mine = progress.progress_of(who, LESSON)
        assert (mine.read, mine.tries, mine.commits) == (set(), {}, {})

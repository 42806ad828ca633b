"""What a person may take away: all of theirs, nothing of anybody else, nothing that is not revealed."""

import json

import pytest
from django.apps import apps
from django.utils import timezone

from labs import outcomes
from labs.models import Action, Attempt, Lease, Review
from lessons import computing, export, notes, progress
from lessons.models import DrillAttempt, RepeatTry
from tests.factories import ActionFactory, AttemptFactory, ReviewFactory, by_key
from tests.lessons.conftest import LESSON

pytestmark = pytest.mark.django_db
ADDRESS = "/you/data.json"
FIRST = LESSON.stations[0]
CHECK = FIRST.checks["cold-rollout"]


def exported(client) -> dict:
    response = client.get(ADDRESS)
    assert response.status_code == 200
    assert "attachment" in response["Content-Disposition"]
    assert "no-store" in response["Cache-Control"]
    return json.loads(response.content)


def work(learner):
    """Leave one row of most kinds, each with the word "mine" where a person can type."""
    progress.mark_read(learner, LESSON, FIRST)
    progress.answer_check(learner, LESSON, CHECK, [CHECK.options[0].key])
    commit = progress.commit_prediction(
        learner, LESSON, "clamped-tokens", guess=500, confidence=90, why="mine, guessed"
    )
    notes.keep(learner, LESSON, FIRST, text="mine, noted", bookmarked=True)
    RepeatTry.objects.create(
        learner=learner, kind="check", lesson=LESSON.slug, key=CHECK.key,
        day=timezone.localdate(), answer=["mine, again"], right=True,
    )  # fmt: skip
    DrillAttempt.objects.create(learner=learner, drill="1.1", version=1, seed=987_654)
    return commit


def attempt_of(learner, **fields):
    mark = {"passed": True, "parts": [{"name": "scope"}], "debrief": {"hypothesis": "the cause"}}
    fields = {"seed": 987_654, "total": "92.9", "mark": mark, **fields}
    attempt = AttemptFactory(learner=learner, **fields)
    ActionFactory(
        attempt=attempt,
        payload={"line": "mine, typed"},
        outcome={"kind": "reading", "text": "as shown", "signals": {"kept for marking": 1}},
    )
    return attempt


def test_all_of_ones_own_is_in_it(learner, learner_client):
    work(learner)
    attempt_of(learner)
    found = exported(learner_client)
    assert found["person"]["email"] == learner.email
    rows = found["lessons"]
    assert rows["stations_read"][0]["station"] == FIRST.slug
    assert rows["check_tries"][0]["answer"] == [CHECK.options[0].key]
    assert rows["prediction_commits"][0]["why"] == "mine, guessed"
    assert rows["station_notes"][0]["text"] == "mine, noted"
    assert rows["repeat_tries"][0]["answer"] == ["mine, again"]
    assert rows["drill_attempts"][0]["drill"] == "1.1"
    [attempt] = found["labs"]
    assert (attempt["total"], attempt["passed"]) == ("92.9", True)
    assert attempt["actions"][0]["asked"] == {"line": "mine, typed"}
    assert attempt["actions"][0]["answer"] == "as shown"


def test_the_engines_that_one_was_lent_are_in_it_without_their_logs(learner, learner_client):
    Lease.objects.create(
        attempt=attempt_of(learner, backend="live"),
        person=learner,
        status="ended",
        end_text="Nobody used it.",
        engine_log="of the operator",
    )
    found = exported(learner_client)
    [attempt] = found["labs"]
    assert (attempt["backend"], attempt["leases"][0]["end_text"]) == ("live", "Nobody used it.")
    assert "of the operator" not in json.dumps(found)


def test_nothing_of_another_person_is_in_it(learner, another_learner, another_learner_client):
    work(learner)
    attempt_of(learner)
    found = exported(another_learner_client)
    assert found["person"]["email"] == another_learner.email
    assert found["labs"] == []
    assert not any(found["lessons"].values())


def test_a_computed_answer_is_in_it_only_once_it_is_computed(learner, learner_client):
    commit = work(learner)
    assert exported(learner_client)["lessons"]["prediction_commits"][0]["computed"] is None
    computing.compute(commit.answer.pk)
    assert exported(learner_client)["lessons"]["prediction_commits"][0]["computed"] == 24


def test_seeds_and_what_marking_reads_are_never_in_it(learner, learner_client):
    work(learner)
    attempt_of(learner)
    text = json.dumps(exported(learner_client))
    for hidden in ("987654", "the cause", "kept for marking"):
        assert hidden not in text


@pytest.mark.parametrize("status", [Attempt.Status.OPEN, Attempt.Status.GIVEN_UP])
def test_a_mark_is_in_it_only_once_its_debrief_may_be_read(learner, learner_client, status):
    attempt_of(learner, status=status)
    [attempt] = exported(learner_client)["labs"]
    assert (attempt["total"], attempt["passed"], attempt["parts"]) == (None, None, [])


def test_a_review_is_in_it_once_it_is_released(learner, learner_client):
    review = ReviewFactory(
        attempt=attempt_of(learner), points=by_key([2, None, None, None, None]), comment="read this"
    )
    assert exported(learner_client)["labs"][0]["review"] is None
    Review.objects.update(released_at=timezone.now())
    outcomes.settle(review.attempt, timezone.now())
    assert exported(learner_client)["labs"][0]["review"]["comment"] == "read this"


def test_every_kind_of_row_that_belongs_to_a_learner_is_in_it():
    owned = {
        model._meta.get_field("learner").remote_field.related_name
        for model in apps.get_app_config("lessons").get_models()
        if any(field.name == "learner" for field in model._meta.get_fields())
    }
    assert set(export.SECTIONS) == owned, "lessons/export.py: say which of its fields are theirs"


def test_an_action_is_exported_field_by_field(learner):
    action = ActionFactory(attempt=attempt_of(learner), kind=Action.Kind.FINISH, outcome=None)
    [found] = export.everything_about(learner)["labs"]
    assert found["actions"][-1]["number"] == action.seq
    assert found["actions"][-1]["answer"] == ""

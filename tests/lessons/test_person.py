"""A person's own pages: what they say, and that they say it to nobody else."""

import pytest
from django.urls import reverse

from labs.models import Action, Attempt
from lessons import computing, progress, record
from lessons.models import DrillAttempt
from lessons.symptoms import symptoms
from tests.factories import ActionFactory, AttemptFactory
from tests.lessons.conftest import LESSON

pytestmark = pytest.mark.django_db
FIRST, MEMORY = LESSON.stations[0], LESSON.station("four-ooms")
SHOWN = "/you/"


def html_of(client, address=SHOWN) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return response.content.decode()


def commit(learner, key="clamped-tokens", *, value=24.0, confidence=80):
    found = progress.commit_prediction(
        learner, LESSON, key, guess=value, confidence=confidence, why="because"
    )
    computing.compute(found.answer.pk)
    return found


def marked(learner, *, passed=True, hypothesis="demand", status=Attempt.Status.MARKED, **revealed):
    """An attempt at the first lab with a prediction, and its mark."""
    known = {"hypothesis": hypothesis, "prediction": revealed or None}
    attempt = AttemptFactory(
        learner=learner, status=status, mark={"passed": passed, "debrief": known}
    )
    ActionFactory(attempt=attempt, kind=Action.Kind.PREDICT)
    return attempt


GUESS = {"value": 400, "truth": 410, "confidence": 50, "hit": True}


@pytest.mark.parametrize("address", [SHOWN, "/you/notes/", "/review/", "/you/data.json"])
def test_a_visitor_is_asked_to_sign_in(client, address):
    response = client.get(address)
    assert response.status_code == 302
    assert reverse("account_login") in response["Location"]


def test_who_has_done_nothing_is_told_what_will_stand_here(learner_client):
    html = html_of(learner_client)
    assert "No prediction of yours has its answer yet" in html
    assert "Nothing shown yet" in html
    assert f"Begin: {FIRST.short}" in html


def test_a_prediction_of_a_lesson_and_one_of_a_marked_lab_count_alike(learner, learner_client):
    commit(learner, value=24)
    marked(learner, **GUESS)
    told = record.predictions_told(learner)
    assert sorted((each.percent, each.hit) for each in told) == [(50, True), (80, True)]
    html = html_of(learner_client)
    assert "2 of 2: a number within a quarter" in html
    assert "18 more predictions" in html


def test_what_is_not_computed_or_not_marked_counts_nowhere(learner):
    progress.commit_prediction(learner, LESSON, "cap-28", guess=1, confidence=90, why="because")
    marked(learner, status=Attempt.Status.OPEN, **GUESS)
    marked(learner, status=Attempt.Status.GIVEN_UP, **GUESS)
    marked(learner)
    assert record.predictions_told(learner) == []


def test_from_twenty_on_the_strip_stands_there(learner, learner_client):
    for _ in range(20):
        marked(learner, **GUESS | {"confidence": 90, "truth": 4000})
    html = html_of(learner_client)
    assert 'class="bins"' in html
    assert "surer than you are right" in html
    assert "Your last 10" in html


def test_a_lab_passed_twice_counts_once_in_the_layer_of_its_cause(learner):
    marked(learner)
    marked(learner)
    marked(learner, passed=False, hypothesis="metastable")
    marked(learner, hypothesis="a cause that is no more")
    assert record.labs_passed(learner) == {"memory": {"preemption-storm"}}


@pytest.mark.parametrize(
    ("total", "stage", "solved"),
    [(14, "done", {"1.1"}), (13.9, "done", set()), (None, "fix", set())],
)
def test_a_drill_is_solved_by_fourteen_of_its_twenty_points(learner, total, stage, solved):
    DrillAttempt.objects.create(
        learner=learner, drill="1.1", version=1, seed=1, stage=stage, total=total
    )
    assert record.drills_solved(learner) == solved
    layer = symptoms()["1.1"].layer
    assert "1.1" in record.drills_by_layer()[layer]


def test_go_on_leads_to_the_first_station_that_is_not_done(learner, learner_client):
    progress.mark_read(learner, LESSON, FIRST)
    for question in FIRST.checks.values():
        progress.answer_check(learner, LESSON, question, [question.options[0].key])
    assert f"Go on: {LESSON.stations[1].short}" in html_of(learner_client)


def test_another_persons_work_is_not_shown(learner, another_learner, another_learner_client):
    commit(learner)
    marked(learner, **GUESS)
    html = html_of(another_learner_client)
    assert "No prediction of yours" in html
    assert "Nothing shown yet" in html
    assert record.labs_passed(another_learner) == {}


def test_a_persons_own_page_is_kept_in_no_cache(learner_client):
    assert "no-store" in learner_client.get(SHOWN)["Cache-Control"]


def test_the_account_leads_to_a_persons_own_pages(learner_client):
    assert f'href="{SHOWN}"' in html_of(learner_client, reverse("account"))

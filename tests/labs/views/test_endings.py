"""Closing an attempt and giving it up."""

import pytest

from tests.labs.in_the_room import DIAGNOSIS, text, url

pytestmark = pytest.mark.django_db


def test_closing_warns_of_what_is_judged_and_of_what_is_missing(learner_client, attempt):
    page = text(learner_client.get(url("room", attempt)))
    assert "judged over the 15 min that follow" in page
    assert "No diagnosis is committed." in page
    assert "No explanation is kept." in page


def test_closing_has_the_attempt_marked(learner_client, attempt):
    learner_client.post(url("finish", attempt), {"undiagnosed": "yes"})
    attempt.refresh_from_db()
    assert attempt.status == "marking"
    page = text(learner_client.get(url("room", attempt)))
    assert "Your attempt is being marked" in page
    assert "Cancel</button>" not in page
    assert f'href="{url("debrief", attempt)}">Go to the debrief' in page
    response = learner_client.post(url("command", attempt), {"command": "kv-ledger"})
    assert response.status_code == 409


def test_closing_without_a_diagnosis_must_be_meant(learner_client, attempt):
    response = learner_client.post(url("finish", attempt))
    assert response.status_code == 422
    assert "tick that you close without one" in text(response)
    attempt.refresh_from_db()
    assert attempt.is_open
    learner_client.post(url("diagnose", attempt), DIAGNOSIS)
    assert 'id="undiagnosed"' not in text(learner_client.get(url("room", attempt)))
    learner_client.post(url("finish", attempt))
    attempt.refresh_from_db()
    assert attempt.status == "marking"


def test_giving_up_asks_first(learner_client, attempt):
    assert "Give this attempt up?" in text(learner_client.get(url("give-up", attempt)))
    attempt.refresh_from_db()
    assert attempt.is_open
    response = learner_client.post(url("give-up", attempt), follow=True)
    assert "Attempt 1 is given up. It has no mark." in text(response)
    assert "This attempt was given up" in text(learner_client.get(url("room", attempt)))


def test_giving_up_waits_for_what_runs(learner_client, attempt):
    learner_client.post(url("command", attempt), {"command": "wait 5m"})
    response = learner_client.post(url("give-up", attempt))
    assert response.status_code == 409
    assert "Cancel it or let it finish" in text(response)

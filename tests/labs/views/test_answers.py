"""One thing at a time: what is not taken now says so and is kept."""

import pytest

from labs.models import Attempt
from tests.labs.in_the_room import DIAGNOSIS, SLUG, Kind, text, url

pytestmark = pytest.mark.django_db


def test_a_second_click_is_told_what_still_runs_and_keeps_what_was_typed(learner_client, attempt):
    learner_client.post(url("command", attempt), {"command": "wait 5m"})
    response = learner_client.post(url("command", attempt), {"command": "kv-ledger"})
    assert response.status_code == 409
    page = text(response)
    assert "One thing at a time: “wait 5m” is still running. Nothing was charged." in page
    assert 'value="kv-ledger" hx-preserve' in page
    assert attempt.actions.filter(kind=Kind.COMMAND).count() == 1


@pytest.mark.parametrize("name", ["diagnose", "explain", "beliefs", "finish", "restart"])
def test_nothing_else_is_taken_while_something_runs(learner_client, attempt, name):
    learner_client.post(url("command", attempt), {"command": "wait 5m"})
    data = {**DIAGNOSIS, "text": "my own words"}
    response = learner_client.post(url(name, attempt), data)
    assert response.status_code == 409
    assert "One thing at a time" in text(response)


def test_an_older_attempt_is_not_marked_again_while_another_is_open(
    learner, learner_client, attempt
):
    old = Attempt.objects.create(
        learner=learner, lab_slug=SLUG, lab_version=1, seed=1, number=9, status="not_graded"
    )
    response = learner_client.post(url("again", old))
    assert response.status_code == 409
    assert "another attempt at this lab" in text(response)

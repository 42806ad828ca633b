"""Whose attempt it is: another's is a 404, a visitor signs in."""

import pytest

from tests.labs.in_the_room import url

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("name", ["room", "parts", "price", "debrief", "give-up"])
def test_another_learners_attempt_is_a_404_to_read(another_learner_client, attempt, name):
    assert another_learner_client.get(url(name, attempt)).status_code == 404


@pytest.mark.parametrize(
    "name",
    [
        "command",
        "restart",
        "predict",
        "beliefs",
        "diagnose",
        "explain",
        "finish",
        "cancel",
        "again",
        "give-up",
    ],
)
def test_another_learners_attempt_is_a_404_to_act_on(another_learner_client, attempt, name):
    before = attempt.actions.count()
    response = another_learner_client.post(url(name, attempt), {"command": "kv-ledger", "seq": "0"})
    assert response.status_code == 404
    assert attempt.actions.count() == before


@pytest.mark.parametrize("name", ["room", "parts", "debrief"])
def test_a_visitor_is_sent_to_sign_in(client, attempt, name):
    assert "/account/login/" in client.get(url(name, attempt)).headers["Location"]

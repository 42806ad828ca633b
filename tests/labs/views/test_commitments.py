"""What a learner commits: prediction, beliefs, diagnosis, explanation."""

import re

import pytest

from tests.labs.in_the_room import DIAGNOSIS, HTMX, PREDICTION, Kind, text, url

pytestmark = pytest.mark.django_db


def test_a_committed_prediction_opens_the_room_and_is_made_once(learner_client, begun):
    response = learner_client.post(url("predict", begun), PREDICTION)
    assert response.status_code == 302
    assert "f-alarm" in text(learner_client.get(url("room", begun)))
    learner_client.post(url("predict", begun), {**PREDICTION, "value": "400"})
    (made,) = begun.actions.filter(kind=Kind.PREDICT)
    assert made.payload == {"value": 60.0, "confidence": 70, "why": "nothing mends itself"}


def test_a_prediction_that_cannot_be_read_keeps_what_was_typed(learner_client, begun):
    response = learner_client.post(url("predict", begun), {**PREDICTION, "value": "plenty"})
    assert response.status_code == 422
    page = text(response)
    assert 'value="plenty"' in page
    assert "nothing mends itself" in page
    assert re.search(r'value="70" checked', page)


def test_beliefs_are_kept_and_a_zero_strikes_out(learner_client, attempt):
    response = learner_client.post(
        url("beliefs", attempt), {"belief-demand": "75", "belief-router": "0"}, headers=HTMX
    )
    page = text(response)
    assert "<s>The router holds requests back</s>" in page
    assert 'id="see-h"' not in page
    assert attempt.actions.last().payload == {"demand": 75, "router": 0}


def test_moving_one_slider_leaves_the_others_as_they_are(learner_client, attempt):
    learner_client.post(url("beliefs", attempt), {"belief-demand": "75"}, headers=HTMX)
    learner_client.post(url("beliefs", attempt), {"belief-router": "0"}, headers=HTMX)
    page = text(learner_client.get(url("room", attempt)))
    outputs = re.findall(r'<output for="belief-(\w+)">(\w+)', page)
    assert dict(outputs) == {
        "metastable": "open",
        "demand": "75",
        "router": "out",
        "long_prompts": "open",
        "leak": "open",
    }


def test_without_javascript_a_slider_that_was_not_moved_stays_open(learner_client, attempt, spec):
    untouched = {f"belief-{key}": "20" for key in spec.hypotheses}
    response = learner_client.post(url("beliefs", attempt), {**untouched, "belief-demand": "75"})
    assert response.status_code == 302
    assert attempt.actions.last().payload == {"demand": 75}


def test_a_diagnosis_that_lacks_something_keeps_the_rest(learner_client, attempt):
    response = learner_client.post(
        url("diagnose", attempt), {**DIAGNOSIS, "components": [], "parameter": "lots"}
    )
    assert response.status_code == 422
    page = text(response)
    assert "Name at least one component." in page
    assert 'value="lots"' in page
    assert re.search(r'value="memory" checked', page)
    assert re.search(r'value="demand_exceeds_pool" selected', page)


def test_a_diagnosis_cites_ones_own_readings_and_can_be_revised(learner_client, attempt, work):
    learner_client.post(url("command", attempt), {"command": "kv-ledger"})
    work()
    cite = {"cite-1-unaccounted_share": "rules_out:leak"}
    learner_client.post(url("diagnose", attempt), {**DIAGNOSIS, **cite})
    assert attempt.actions.last().payload["citations"] == [
        {"reading": 1, "signal": "unaccounted_share", "role": "rules_out", "rival": "leak"}
    ]
    learner_client.post(url("diagnose", attempt), {**DIAGNOSIS, **cite, "layer": "overload"})
    page = text(learner_client.get(url("room", attempt)))
    assert "revised" in page
    assert "Overload: KV block pool." in page


def test_an_empty_explanation_is_refused_and_a_later_one_replaces_the_first(
    learner_client, attempt
):
    assert learner_client.post(url("explain", attempt), {"text": " "}).status_code == 422
    learner_client.post(url("explain", attempt), {"text": "first words"})
    learner_client.post(url("explain", attempt), {"text": "better words"})
    page = text(learner_client.get(url("room", attempt)))
    assert "better words" in page
    assert "first words" not in page

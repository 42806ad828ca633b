"""The room's page and its parts: what they show, and what stays hidden."""

import re

import pytest
from django.urls import reverse

from labs import attempts, incident, worlds
from labs.room import notebook, room_of
from tests.labs.in_the_room import DIAGNOSIS, HTMX, PREDICTION, SLUG, text, url

pytestmark = pytest.mark.django_db


def test_a_new_attempt_says_that_it_is_being_prepared(learner, learner_client, spec):
    attempt = attempts.start_attempt(learner=learner, spec=spec)
    page = text(learner_client.get(url("room", attempt)))
    assert "The incident is being brought to its page" in page
    assert "A worker takes it next." in page


def test_the_queue_says_how_many_people_are_before_one(
    learner, another_learner, learner_client, spec
):
    attempts.start_attempt(learner=another_learner, spec=spec)
    attempt = attempts.start_attempt(learner=learner, spec=spec)
    assert "One person is before you; a few seconds." in text(
        learner_client.get(url("room", attempt))
    )


def test_before_the_prediction_nothing_of_the_world_is_in_the_page(learner_client, begun):
    page = text(learner_client.get(url("room", begun)))
    assert "What is p95 TTFT, over the five minutes before" in page
    assert "f-alarm" not in page
    assert "gauge" not in page
    assert begun.panel["alarm"]
    for _, value in begun.panel["alarm"]:
        assert value is None or repr(value) not in page


def test_a_page_that_has_seen_everything_gets_204(learner_client, attempt):
    seen = room_of(attempt).version
    assert (
        learner_client.get(url("parts", attempt), {"seen": seen}, headers=HTMX).status_code == 204
    )


def test_a_page_that_has_not_gets_the_working_parts_without_a_frame(learner_client, attempt):
    response = learner_client.get(url("parts", attempt), {"seen": "old"}, headers=HTMX)
    page = text(response)
    assert "<html" not in page
    assert 'id="see-h"' in page
    assert "no-store" in response.headers["Cache-Control"]


def test_a_page_that_waits_gets_only_the_progress(learner_client, attempt):
    learner_client.post(url("command", attempt), {"command": "wait 5m"})
    seen = room_of(attempt).version
    response = learner_client.get(url("parts", attempt), {"seen": seen}, headers=HTMX)
    assert response.headers["HX-Retarget"] == "#under-way"
    assert "see-h" not in text(response)


def test_only_an_action_under_way_makes_the_page_poll(learner_client, attempt):
    assert "every 1s" not in text(learner_client.get(url("room", attempt)))
    learner_client.post(url("command", attempt), {"command": "wait 5m"})
    assert "every 1s" in text(learner_client.get(url("room", attempt)))


def test_the_notebook_sets_a_reading_beside_the_healthy_value(
    learner_client, attempt, work, monkeypatch
):
    monkeypatch.setattr(notebook, "healthy_medians", lambda slug: {"gap_p95_s": 0.08})
    learner_client.post(url("command", attempt), {"command": "request-log --last 5m --gaps"})
    work()
    page = text(learner_client.get(url("room", attempt)))
    assert "p95 of each stream&#x27;s longest gap" in page
    assert "healthy 0.08" in page


def test_the_gauge_of_promises_stays_empty_until_the_learner_verifies(
    learner_client, attempt, work
):
    for line in ("request-log --last 5m --gaps", "verify"):
        page = text(learner_client.get(url("room", attempt)))
        assert "not verified yet" in page
        assert "0 of 2" not in page
        learner_client.post(url("command", attempt), {"command": line})
        work()
    page = text(learner_client.get(url("room", attempt)))
    assert "not verified yet" not in page
    assert "<output>0 of 2</output> kept" in page


def test_the_room_of_a_marked_attempt_is_its_debrief(learner_client, marked):
    assert learner_client.get(url("room", marked)).headers["Location"] == url("debrief", marked)
    response = learner_client.get(url("parts", marked), headers=HTMX)
    assert response.headers["HX-Redirect"] == url("debrief", marked)


def test_no_response_before_the_debrief_tells_the_world_the_seed_or_the_predictions_answer(
    learner_client, begun, spec, seeds, work
):
    seed, truth = seeds["demand"], worlds.hypothesis_of(spec, seeds["demand"])
    untouched = incident.begin(spec, seed)
    incident.advance(untouched, spec.prediction.at_s)
    answer = incident.alarm_series(untouched, from_s=spec.prediction.at_s)[-1][1]
    pages = [text(learner_client.get(url("room", begun)))]

    def post(name, data):
        for headers in ({}, HTMX):
            pages.append(text(learner_client.post(url(name, begun), data, headers=headers)))
            work()
            pages.append(text(learner_client.get(url("room", begun))))
            pages.append(text(learner_client.get(url("parts", begun), headers=HTMX)))

    post("predict", PREDICTION)
    for line in ("help", "flags", "kv-ledger", "request-log --last 12m --summary", "verify"):
        post("command", {"command": line})
    post("beliefs", {"belief-demand": "75"})
    post("diagnose", DIAGNOSIS)
    post("command", {"command": "shed 20%"})
    post("explain", {"text": "words"})
    pages.append(text(learner_client.get(reverse("labs:lab", args=[SLUG]))))
    pages.append(text(learner_client.get(reverse("labs:index"))))
    pages.append(text(learner_client.get(url("debrief", begun), follow=True)))
    assert len(pages) > 30
    for found in pages:
        assert str(seed) not in found
        assert repr(answer) not in found
        # The truth stands among its rivals, as often as each of them, and in no other way.
        page = re.sub(
            r'<pre .*?</pre>|<textarea.*?</textarea>|value="\d+"', "", found, flags=re.DOTALL
        )
        counts = {key: page.count(f"belief-{key}") for key in spec.hypotheses}
        assert len(set(counts.values())) == 1, counts
        told = {key: page.count(f"rules_out:{key}") for key in spec.hypotheses}
        assert len(set(told.values())) == 1, told
        assert f'"{truth}"' not in page

"""The lease on the page: looked at, asked for, extended, cancelled, by its own person and without scripts."""

import json

import pytest
from django.urls import reverse

from labs import leases
from labs.models import Lease
from labs.room import room_of
from tests.factories import AttemptFactory
from tests.labs.in_the_room import HTMX, text, url
from tests.labs.leasing import *  # noqa: F403
from tests.labs.leasing import Reason, begun, box_is_up, live_attempt, queued, running

pytestmark = pytest.mark.django_db


def test_an_attempt_that_waits_shows_its_place_and_a_way_out(learner, learner_client):
    box_is_up()
    attempt = queued(learner).attempt
    page = text(learner_client.get(url("room", attempt)))
    assert "You wait for an engine" in page
    assert "A box is free, and takes the next lease within seconds." in page
    assert "The incident begins on a real engine" in page
    assert 'hx-trigger="every 2s"' in page
    assert "Leave the queue" in page
    assert "A worker takes it next." not in page


def test_without_scripts_each_form_leads_back_to_the_room(learner, learner_client):
    attempt = running(learner).attempt
    back = f"{attempt.get_absolute_url()}#lease"
    for name in ("lease-extend", "lease-cancel"):
        assert learner_client.post(url(name, attempt)).url == back
    lease = Lease.objects.get()
    assert (lease.extensions, lease.cancel_requested) == (1, True)


def test_a_running_engine_shows_its_clocks_in_the_room(learner, learner_client):
    page = text(learner_client.get(url("room", running(learner).attempt)))
    assert "A real engine runs for you" in page
    assert "Stops if nothing is asked of it" in page
    assert "15 min more <small>2 left</small>" in page


def test_a_card_that_looks_again_gets_the_card_alone(learner, learner_client):
    attempt = running(learner).attempt
    seen = {"seen": room_of(attempt).version}
    response = learner_client.get(url("lease", attempt), seen, headers=HTMX)
    assert text(response).startswith('<section class="engine running" id="lease"')
    assert "no-store" in response.headers["Cache-Control"]
    assert "HX-Trigger-After-Swap" not in response.headers


def test_a_card_that_looks_again_has_the_page_look_too_if_that_moved_and_nobody_told_it(
    learner, learner_client
):
    lease = running(learner)
    attempt = lease.attempt
    attempt.actions.update(status="queued")
    seen = {"seen": room_of(attempt).version}
    begun(lease)
    response = learner_client.get(url("lease", attempt), seen, headers=HTMX)
    told = json.loads(response.headers["HX-Trigger-After-Swap"])
    assert told == {"sse:moved": {"target": "#look"}}
    assert text(response).startswith('<section class="engine running" id="lease"')


def test_an_extension_that_is_not_to_be_had_says_so(learner, learner_client, settings):
    settings.LIVE_EXTENSIONS = 0
    response = learner_client.post(url("lease-extend", running(learner).attempt), headers=HTMX)
    assert response.status_code == 409
    assert "was not extended" in text(response)


def test_leaving_the_queue_leaves_a_way_to_ask_again(learner, learner_client):
    attempt = queued(learner).attempt
    page = text(learner_client.post(url("lease-cancel", attempt), headers=HTMX))
    assert "You left the queue before an engine was started." in page
    assert "Ask for an engine again" in page
    learner_client.post(url("lease-ask", attempt))
    assert Lease.objects.queued().get().attempt == attempt


def test_the_room_of_an_engine_that_failed_at_start_says_why_and_offers_another(
    learner, learner_client
):
    lease = queued(learner)
    leases.end(leases.claim_next("box-1"), Reason.START_FAILED, "Port 8100 is taken.")
    page = text(learner_client.get(url("room", lease.attempt)))
    assert "Port 8100 is taken. Your attempt is kept, and nothing was charged." in page
    assert "Ask for an engine again" in page


def test_a_quota_s_refusal_stands_in_the_room(learner, learner_client, settings):
    settings.LIVE_PER_PERSON_DAY_S = 0
    response = learner_client.post(url("lease-ask", live_attempt(learner)))
    assert response.status_code == 409
    assert "is what one person gets" in text(response)


def test_taking_up_a_live_beginning_again_asks_for_an_engine(learner, learner_client):
    lease = queued(learner)
    leases.cancel(lease)
    learner_client.post(url("again", lease.attempt))
    assert Lease.objects.queued().count() == 1


def test_a_command_after_the_end_is_refused_in_a_sentence(learner, learner_client):
    lease = running(learner)
    lease.attempt.actions.create(seq=1, kind="predict", status="done", payload={})
    leases.end(lease, Reason.DEADLINE)
    response = learner_client.post(
        url("command", lease.attempt), {"command": "wait 1m"}, headers=HTMX
    )
    assert response.status_code == 409
    assert "This attempt has no engine any more" in text(response)
    assert 'value="wait 1m"' in text(response)


@pytest.mark.parametrize("name", ["lease", "lease-ask", "lease-extend", "lease-cancel"])
def test_another_s_lease_is_a_404_and_so_is_that_of_a_simulated_attempt(
    learner, learner_client, another_learner, name
):
    do = learner_client.get if name == "lease" else learner_client.post
    assert do(url(name, queued(another_learner).attempt)).status_code == 404
    assert do(url(name, AttemptFactory(learner=learner, status="open"))).status_code == 404


@pytest.mark.parametrize("name", ["lease-extend", "lease-cancel"])
def test_what_was_never_asked_for_is_a_404(learner, learner_client, name):
    assert learner_client.post(url(name, live_attempt(learner))).status_code == 404


def test_forms_take_posts_only_and_a_visitor_signs_in(learner, learner_client, client):
    attempt = queued(learner).attempt
    assert learner_client.get(url("lease-cancel", attempt)).status_code == 405
    assert reverse("account_login") in client.get(url("lease", attempt)).url

"""The index and the front page of a lab: who sees what, and how an attempt starts."""

import pytest
from django.urls import reverse

from labs import pool
from labs.catalogue import labs
from labs.models import Attempt
from tests.labs.in_the_room import SLUG, text

pytestmark = pytest.mark.django_db


def test_a_visitor_sees_the_labs_and_a_way_to_sign_in(client):
    page = text(client.get(reverse("labs:index")))
    assert "Slow first tokens on atlas-70b" in page
    assert "Sign in to handle one" in page
    assert "Sign in to take the page" in text(client.get(reverse("labs:lab", args=[SLUG])))


def test_every_lab_is_listed_by_what_rang(client):
    page = client.get("/labs/").content.decode()
    assert all(f'"/labs/{slug}/"' in page for slug in labs())
    assert "Other alarms" not in page


def test_an_open_attempt_is_offered_first_and_the_kept_score_is_shown(
    learner, learner_client, attempt
):
    Attempt.objects.create(
        learner=learner,
        lab_slug=SLUG,
        lab_version=1,
        seed=1,
        number=9,
        status="marked",
        total="88.5",
    )
    page = text(learner_client.get(reverse("labs:index")))
    assert f'href="{attempt.get_absolute_url()}">Continue' in page
    assert "kept score 88.5" in page


def test_the_front_page_has_the_brief_and_earlier_attempts_and_no_word_of_the_debrief(
    learner, learner_client
):
    Attempt.objects.create(
        learner=learner, lab_slug=SLUG, lab_version=1, seed=1, number=1, status="given_up"
    )
    page = text(learner_client.get(reverse("labs:lab", args=[SLUG])))
    assert "You are paged for <strong>atlas-70b</strong>" in page
    assert "its target of 0.6\u00a0s," in page
    assert "Given up" in page
    assert "One face, two worlds" not in page


def test_an_unknown_lab_is_a_404(client):
    assert client.get(reverse("labs:lab", args=["no-such-lab"])).status_code == 404


def test_starting_queues_the_begin_and_goes_to_the_room(
    learner_client, published, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        response = learner_client.post(reverse("labs:start", args=[SLUG]))
    attempt = Attempt.objects.get()
    assert response.headers["Location"] == attempt.get_absolute_url()
    assert published == [attempt.actions.get().pk]


def test_starting_twice_gives_the_same_attempt(learner_client):
    first = learner_client.post(reverse("labs:start", args=[SLUG]))
    second = learner_client.post(reverse("labs:start", args=[SLUG]))
    assert first.headers["Location"] == second.headers["Location"]
    assert Attempt.objects.count() == 1


def test_a_lab_that_is_not_proved_says_so_and_loses_nothing(learner_client, monkeypatch):
    def unproved(slug):
        raise pool.NotProved(slug)

    monkeypatch.setattr(pool, "admitted", unproved)
    assert "takes no attempts now" in text(learner_client.get(reverse("labs:lab", args=[SLUG])))
    response = learner_client.post(reverse("labs:start", args=[SLUG]), follow=True)
    assert "being proved anew" in text(response)
    assert not Attempt.objects.exists()


def test_a_visitor_who_starts_is_sent_to_sign_in(client):
    response = client.post(reverse("labs:start", args=[SLUG]))
    assert response.status_code == 302
    assert "/account/login/" in response.headers["Location"]

"""The debrief's page, and the review on it."""

import json
import re

import pytest
from django.utils import timezone

from labs import outcomes
from labs.models import Review
from tests.factories import by_key
from tests.labs.in_the_room import text, url

pytestmark = pytest.mark.django_db


def test_an_attempt_that_is_not_marked_has_no_debrief(learner_client, attempt):
    assert learner_client.get(url("debrief", attempt)).headers["Location"] == url("room", attempt)


def test_the_debrief_reveals_the_world_its_seed_and_the_answer(learner_client, marked):
    page = text(learner_client.get(url("debrief", marked)))
    assert "Requests want more KV than the pool holds" in page
    assert "seed 2000009" in page
    assert "<output>550</output> s" in page
    assert "One face, two worlds" in page
    figures = re.findall(
        r'<script id="f-\w+" type="application/json">(.*?)</script>', page, re.DOTALL
    )
    assert len([json.loads(figure) for figure in figures]) == 2


def test_a_review_is_shown_once_it_is_released(learner_client, marked):
    Review.objects.create(attempt=marked, points=by_key([2, 2, 1, 0, 1]), comment="Clear.")
    assert "Clear." not in text(learner_client.get(url("debrief", marked)))
    Review.objects.update(released_at=timezone.now())
    outcomes.settle(marked, timezone.now())
    page = text(learner_client.get(url("debrief", marked)))
    assert "Clear." in page
    assert "6 of 9" in page


def test_the_debrief_says_who_read_it_only_if_the_rules_did(learner_client, marked, grader):
    grader.name = "Ottokar Zwickenpflug"
    grader.save()
    now = timezone.now()
    Review.objects.create(
        attempt=marked,
        points=by_key([2] * 4 + [1]),
        comment="Clear.",
        claimed_by=grader,
        released_at=now,
    )
    outcome = outcomes.settle(marked, now)
    for told in (False, True):
        outcome.names_readers = told
        outcome.save()
        page = learner_client.get(url("debrief", marked)).content.decode()
        assert ("Zwickenpflug" in page) is told
        assert grader.email not in page


def test_a_mean_says_that_it_is_one_and_keeps_its_halves(learner_client, marked):
    now = timezone.now()
    for reading, points in enumerate(([2, 1, 0, 2, 1], [2, 2, 0, 2, 1]), start=1):
        Review.objects.create(
            attempt=marked, reading=reading, points=by_key(points), released_at=now
        )
    outcomes.settle(marked, now)
    page = text(learner_client.get(url("debrief", marked)))
    assert "+1.5 of 2" in page
    assert "6.5 of 9 points: two people read it" in page

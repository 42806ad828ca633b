"""A learner asks for another look: the page, and what the debrief shows of it."""

import pytest
from django.urls import reverse
from django.utils import timezone

from courseware.models import User
from labs import outcomes, regrades
from labs.models import RegradeRequest
from labs.review_points import items_of
from tests.factories import ReviewFactory, UserFactory, by_key
from tests.labs.in_the_room import text, url

pytestmark = pytest.mark.django_db

WHY = "The second sentence names the pool and its size."
BECAUSE = "The pool and its size are named, in other words."


def release(attempt, reader, points):
    now = timezone.now()
    ReviewFactory(attempt=attempt, points=by_key(points), claimed_by=reader, released_at=now)
    return outcomes.settle(attempt, now)


@pytest.fixture
def outcome(marked, grader):
    return release(marked, grader, [2, 1, 0, 2, 0])


@pytest.fixture
def key(outcome):
    return items_of(outcome.attempt)[1].key


@pytest.fixture
def ask_url(outcome, key):
    return reverse("labs:regrade-ask", args=[outcome.attempt.public_id, key])


def test_a_learner_asks_reads_that_it_waits_and_takes_it_back(
    learner_client, outcome, ask_url, key
):
    debrief = url("debrief", outcome.attempt)
    assert ask_url in learner_client.get(debrief).content.decode()
    assert "You have 3 request" not in text(learner_client.get(debrief))
    assert "3 requests left" in text(learner_client.get(debrief))
    assert learner_client.post(ask_url, {"reason": WHY}).headers["Location"] == f"{debrief}#h-read"
    page = text(learner_client.get(debrief))
    assert "it waits for an answer" in page
    assert "2 requests left" in page
    learner_client.post(reverse("labs:regrade-withdraw", args=[outcome.attempt.public_id, key]))
    page = text(learner_client.get(debrief))
    assert "3 requests left" in page
    assert "Withdrawn. You have the request back." in page


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        ("", "Say what in your text earns more points."),
        ("Too few points.", "20 characters at least; this has 15."),
        ("x" * 2001, "2,000 characters at most; this has 2001. Nothing was cut."),
    ],
)
def test_a_reason_says_something_and_what_was_typed_stays(
    learner_client, ask_url, reason, sentence
):
    answer = learner_client.post(ask_url, {"reason": reason})
    assert answer.status_code == 422
    assert sentence in text(answer)
    assert reason in answer.content.decode()
    assert not RegradeRequest.objects.exists()


def test_who_may_not_ask_is_told_why_and_keeps_what_they_wrote(
    learner_client, outcome, ask_url, key
):
    regrades.ask(outcome, key, WHY)
    answer = learner_client.post(ask_url, {"reason": f"{WHY} Really."})
    assert answer.status_code == 409
    assert "You have asked about this item already." in text(answer)
    assert f"{WHY} Really." in answer.content.decode()


def test_anothers_attempt_and_a_strange_item_are_not_there(
    another_learner_client, learner_client, outcome, ask_url
):
    assert another_learner_client.get(ask_url).status_code == 404
    assert another_learner_client.post(ask_url, {"reason": WHY}).status_code == 404
    strange = reverse("labs:regrade-ask", args=[outcome.attempt.public_id, "strange"])
    assert learner_client.get(strange).status_code == 404


def test_nothing_can_be_asked_before_the_release(learner_client, marked):
    ReviewFactory(attempt=marked, points=by_key([1] * 5))
    address = reverse("labs:regrade-ask", args=[marked.public_id, "numbers"])
    assert learner_client.get(address).status_code == 404


def test_the_debrief_shows_the_answer_and_the_trail_and_no_name(learner_client, outcome, key):
    reader = UserFactory(role=User.Role.GRADER, name="Ottokar Zwickenpflug")
    request = regrades.ask(outcome, key, WHY)
    regrades.claim(request, reader)
    regrades.answer(request, reader, points=2, reason=BECAUSE, version=1)
    answer = learner_client.get(url("debrief", outcome.attempt))
    page = text(answer)
    assert f"Upheld, 1 to 2:</b> {BECAUSE}" in page
    assert "How these points have changed" in page
    assert "Zwickenpflug" not in answer.content.decode()
    assert reader.email not in answer.content.decode()

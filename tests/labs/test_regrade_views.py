"""Requests for another look, as readers see them."""

import pytest
from django.urls import reverse
from django.utils import timezone

from courseware.models import User
from labs import outcomes, regrades
from labs.models import Attempt, RegradeRequest, ReviewOutcome
from labs.review_points import items_of
from tests.factories import UserFactory, by_key, make_review
from tests.labs.in_the_room import text

pytestmark = pytest.mark.django_db

WHY = "The second sentence names the pool and its size."
BECAUSE = "The pool and its size are named, in other words."
LIST = "labs:regrades"


@pytest.fixture
def asked(grader):
    """A request about an attempt with a whole log, read by somebody else."""
    review = make_review()
    learner = review.attempt.learner
    learner.name = "Wilhelmina Quastenflosser"
    learner.save()
    first = UserFactory(role=User.Role.GRADER)
    now = timezone.now()
    type(review).objects.update(points=by_key([2, 1, 0, 2, 0]), claimed_by=first, released_at=now)
    Attempt.objects.update(status=Attempt.Status.MARKED)
    outcome = outcomes.settle(review.attempt, now)
    return regrades.ask(outcome, items_of(review.attempt)[1].key, WHY)


@pytest.fixture
def desk(asked):
    return reverse("labs:regrade", args=[asked.public_id])


SAID = {"points": "2", "reason": BECAUSE, "version": "1"}


@pytest.mark.parametrize("who", ["learner_client", "client"])
def test_learners_and_visitors_see_no_list(request, who, desk):
    client = request.getfixturevalue(who)
    for address in (reverse(LIST), desk):
        assert client.get(address).status_code in {302, 403}
        assert client.post(desk, SAID).status_code != 200


def test_a_reader_claims_answers_and_the_list_shows_it(grader_client, asked, desk):
    assert "waits 0 min" in text(grader_client.get(reverse(LIST)))
    grader_client.post(reverse("labs:regrade-claim", args=[asked.public_id]))
    page = text(grader_client.get(desk))
    assert WHY in page
    assert "stays at 1: declined" in page
    assert grader_client.post(desk, SAID).headers["Location"] == reverse(LIST)
    page = text(grader_client.get(reverse(LIST)))
    assert "upheld, by you" in page
    assert ReviewOutcome.objects.get().points == by_key([2, 2, 0, 2, 0])
    assert BECAUSE in text(grader_client.get(desk))


def test_no_page_of_it_says_who_asked(grader_client, asked, desk):
    grader_client.post(reverse("labs:regrade-claim", args=[asked.public_id]))
    for address in (reverse(LIST), desk):
        page = grader_client.get(address).content.decode()
        assert "Quastenflosser" not in page
        assert asked.attempt.learner.email not in page


def test_its_first_reader_finds_it_nowhere(client, asked, desk):
    reader = asked.attempt.reviews.get().claimed_by
    client.force_login(reader, backend="django.contrib.auth.backends.ModelBackend")
    assert desk not in client.get(reverse(LIST)).content.decode()
    assert client.get(desk).status_code == 404
    assert client.post(desk, SAID).status_code == 404


@pytest.mark.parametrize(
    ("field", "typed", "sentence"),
    [
        ("points", "", "Choose the points."),
        ("points", "3", "Choose the points."),
        ("points", "0", "Choose the points."),
        ("reason", "No.", "20 characters at least; this has 3."),
    ],
)
def test_an_answer_that_lacks_something_is_asked_for_and_the_rest_stays(
    grader_client, grader, asked, desk, field, typed, sentence
):
    regrades.claim(asked, grader)
    answer = grader_client.post(desk, {**SAID, field: typed})
    assert answer.status_code == 422
    assert sentence in text(answer)
    kept = {**SAID, field: typed}["reason"]
    assert kept in answer.content.decode()
    assert ReviewOutcome.objects.get().version == 1


def test_whoever_lost_it_keeps_what_they_wrote(grader_client, grader, instructor, asked, desk):
    RegradeRequest.objects.update(claimed_by=instructor, lease_until=timezone.now())
    regrades.claim(asked, instructor)
    answer = grader_client.post(desk, SAID)
    assert answer.status_code == 409
    assert f"Not answered: {instructor} took it" in text(answer)
    assert BECAUSE in answer.content.decode()
    regrades.hand_back(asked, instructor)
    answer = grader_client.post(desk, SAID)
    assert "Claim again and answer" in text(answer)
    assert grader_client.post(desk, {**SAID, "do": "claim"}).status_code == 302
    assert ReviewOutcome.objects.get().points == by_key([2, 2, 0, 2, 0])


def test_points_that_changed_meanwhile_are_shown_before_they_are_changed_again(
    grader_client, grader, asked, desk
):
    regrades.claim(asked, grader)
    ReviewOutcome.objects.update(version=4)
    answer = grader_client.post(desk, SAID)
    assert answer.status_code == 409
    assert "its points have changed since you opened this page" in text(answer)
    assert 'name="version" value="4"' in answer.content.decode()
    assert grader_client.post(desk, {**SAID, "version": "4"}).status_code == 302


def test_the_queue_leads_to_what_waits(grader_client, asked):
    page = grader_client.get(reverse("labs:review-queue")).content.decode()
    assert f'href="{reverse(LIST)}">Requests for another look <b>1</b>' in page


def test_of_two_who_claim_the_second_gets_the_list(grader_client, instructor, asked):
    regrades.claim(asked, instructor)
    answer = grader_client.post(reverse("labs:regrade-claim", args=[asked.public_id]))
    assert answer.status_code == 409
    assert f"{instructor} took it before you." in text(answer)


def test_the_list_is_narrowed_to_an_owner(grader_client, grader, asked, desk):
    def shows(whose):
        return desk in grader_client.get(reverse(LIST), {"whose": whose}).content.decode()

    assert [shows(each) for each in ("", "free", "yours", "taken", "odd")] == [
        *(True, True, False, False, True)
    ]
    regrades.claim(asked, grader)
    assert [shows(each) for each in ("free", "yours")] == [False, True]


def test_the_list_takes_as_many_queries_for_ten_as_for_one(
    grader_client, asked, django_assert_max_num_queries
):
    for item in items_of(asked.attempt)[2:3]:
        regrades.ask(asked.attempt.review_outcome, item.key, WHY)
    with django_assert_max_num_queries(11):
        grader_client.get(reverse(LIST))

"""Who sees whose name: searched in the bytes of every page that a reader or a learner gets."""

import pytest
from django.urls import reverse

from labs import reading_rules, reviews
from labs.models import Attempt, Review
from tests.factories import draft, make_review

pytestmark = pytest.mark.django_db

NAME, EMAIL = "Wilhelmina Quastenflosser", "quastenflosser@example.org"
DESK = (
    *("review", "review-skip", "review-release", "review-without", "review-free"),
    *("review-story", "review-settle", "training-add"),
)
PLAIN = (
    "review-queue",
    "review-load",
    "review-keys",
    "regrades",
    "training",
    "review-agreement",
    "rubrics",
)
POINTS = [2, 1, 0, 2, 1]


@pytest.fixture
def review():
    found = make_review()
    learner = found.attempt.learner
    learner.name, learner.email = NAME, EMAIL
    learner.save()
    Attempt.objects.filter(pk=found.attempt_id).update(status=Attempt.Status.MARKED)
    return found


def pages_of(client, review):
    """Every page that a reader gets of a review, by name; those that lead elsewhere as what they lead to."""
    addresses = {name: reverse(f"labs:{name}") for name in PLAIN}
    addresses |= {name: reverse(f"labs:{name}", args=[review.public_id]) for name in DESK}
    return {name: client.get(each, follow=True) for name, each in addresses.items()}


def named_in(pages):
    bodies = {name: answer.content.decode() for name, answer in pages.items()}
    return {name for name, body in bodies.items() if NAME in body or EMAIL in body}


def claimed(review, by):
    reviews.claim(review, by)
    reviews.save(review, by, draft(POINTS, "Name the window."), version=0)
    return Review.objects.get(pk=review.pk)


def test_no_page_of_a_grader_says_who_wrote_what_they_read(grader, grader_client, review):
    assert not named_in(pages_of(grader_client, review))
    assert not named_in(pages_of(grader_client, claimed(review, grader)))
    reviews.release(review, grader, version=1)
    assert not named_in(pages_of(grader_client, review))


def test_no_page_of_an_instructor_says_so_either(instructor, grader, instructor_client, review):
    assert not named_in(pages_of(instructor_client, claimed(review, grader)))


@pytest.mark.parametrize("who", ["grader", "instructor"])
def test_the_rules_say_by_role_who_is_told(
    who, grader_client, instructor_client, instructor, review
):
    clients = {"grader": grader_client, "instructor": instructor_client}
    reading_rules.change("", {f"{who}s_see_names": True}, by=instructor, version=0)
    for role, client in clients.items():
        found = named_in(pages_of(client, review))
        assert found >= {"review", "review-queue"} if role == who else not found

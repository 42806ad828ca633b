"""The page of the rules of reading."""

import pytest
from django.urls import reverse

from courseware.models import User
from labs import reading_rules, reviews
from labs.models import ReadingRules
from tests.factories import ReviewFactory, UserFactory
from tests.labs.in_the_room import text
from tests.labs.test_outcomes import read

pytestmark = pytest.mark.django_db

SLUG = "preemption-storm"
SAID = {
    "version": "0",
    "second_percent": "20",
    "most_difference": "3",
    "training_most_off": "0.5",
    "regrade_days": "14",
    "regrade_tokens": "3",
}


def url(slug=""):
    return reverse("labs:review-rules-lab", args=[slug]) if slug else reverse("labs:review-rules")


@pytest.mark.parametrize("slug", ["", SLUG])
def test_only_instructors_make_rules(slug, grader_client, learner_client, client):
    for each in (grader_client, learner_client):
        assert each.get(url(slug)).status_code == 403
        assert each.post(url(slug), SAID).status_code == 403
    assert client.get(url(slug)).status_code == 302
    assert not ReadingRules.objects.exists()


def test_rules_are_stored_and_shown_with_whoever_stored_them(instructor, instructor_client):
    assert instructor_client.post(url(), SAID).status_code == 302
    assert reading_rules.rules_of(SLUG).second_percent == 20
    page = instructor_client.get(url()).content.decode()
    assert str(instructor) in page
    assert "20 % read twice" in page


def test_a_lab_gets_rules_of_its_own_and_loses_them_again(instructor_client):
    instructor_client.post(url(SLUG), {**SAID, "second_percent": "100"})
    assert reading_rules.rules_of(SLUG).second_percent == 100
    assert reading_rules.rules_of("another").second_percent == 0
    instructor_client.post(url(SLUG), {"do": "drop", "version": "1"})
    assert reading_rules.rules_of(SLUG).second_percent == 0


@pytest.mark.parametrize(
    ("field", "typed", "sentence"),
    [
        ("second_percent", "120", "Write a whole number from 0 to 100."),
        ("second_percent", "", "Write a whole number from 0 to 100."),
        ("most_difference", "two", "Write a whole number from 0 to 100."),
        ("most_difference", "-1", "Write a whole number from 0 to 100."),
        ("training_most_off", "0.123", "Write points such as 0.5 or 0.75, from 0 to 5."),
        ("training_most_off", "9", "Write points such as 0.5, from 0 to 5."),
        ("regrade_days", "9999999999", "Write a whole number from 0 to 365."),
    ],
)
def test_what_is_no_rule_is_told_and_nothing_typed_is_lost(
    instructor_client, field, typed, sentence
):
    answer = instructor_client.post(url(), {**SAID, "needs_training": "on", field: typed})
    assert answer.status_code == 422
    page = answer.content.decode()
    assert sentence in page
    assert f'value="{typed}"' in page or not typed
    assert "checked" in page
    assert not ReadingRules.objects.exists()


def test_an_older_page_is_told_who_stored_newer_rules_and_keeps_what_was_chosen(
    instructor, instructor_client
):
    reading_rules.change("", {"second_percent": 50}, by=instructor, version=0)
    answer = instructor_client.post(url(), SAID)
    page = answer.content.decode()
    assert answer.status_code == 409
    assert "Not stored" in page
    assert 'name="version" value="1"' in page
    assert 'name="second_percent" value="20"' in page
    assert instructor_client.post(url(), {**SAID, "version": "1"}).status_code == 302
    assert reading_rules.rules_of(SLUG).second_percent == 20


@pytest.mark.parametrize("version", ["", "x", "-3", "²"])
def test_a_page_that_does_not_say_its_version_is_an_old_one(instructor_client, version):
    assert instructor_client.post(url(), {**SAID, "version": version}).status_code == 409


def test_a_lab_that_there_is_not_has_no_rules(instructor_client):
    assert instructor_client.get(url("long-gone")).status_code == 404


def test_too_few_readers_for_the_rules_are_told_of(instructor, instructor_client):
    reading_rules.change("", {"second_percent": 20}, by=instructor, version=0)
    assert "Nobody is left for a second reading" in text(instructor_client.get(url()))
    UserFactory(role=User.Role.GRADER)
    assert "Nobody is left to decide" in text(instructor_client.get(url(SLUG)))
    UserFactory(role=User.Role.GRADER)
    assert "Nobody is left" not in text(instructor_client.get(url()))


@pytest.fixture
def drawn(grader, instructor):
    """A review that is released and waits for its second reading."""
    reading_rules.change("", {"second_percent": 100}, by=instructor, version=0)
    review = ReviewFactory()
    read(review, grader, [2, 1, 0, 2, 1])
    return review


def test_an_instructor_settles_it_from_the_desk_and_says_why(instructor_client, instructor, drawn):
    desk = reverse("labs:review", args=[drawn.public_id])
    settle = reverse("labs:review-settle", args=[drawn.public_id])
    assert settle in instructor_client.get(desk).content.decode()
    assert "waits for a second reading" in text(instructor_client.get(settle))
    assert "Say why, in a few words." in text(instructor_client.post(settle, {"reason": ""}))
    assert instructor_client.post(settle, {"reason": "I am alone."}).headers["Location"] == desk
    page = text(instructor_client.get(desk))
    assert f"settled without another reading by {instructor}: I am alone." in page
    assert instructor_client.get(settle).status_code == 302


def test_what_is_read_meanwhile_is_not_settled_and_the_reason_is_not_lost(instructor_client, drawn):
    second = drawn.attempt.reviews.get(reading=2)
    reviews.claim(second, UserFactory(role=User.Role.GRADER))
    settle = reverse("labs:review-settle", args=[drawn.public_id])
    page = text(instructor_client.post(settle, {"reason": "I am alone."}, follow=True))
    assert "Not settled: somebody is reading it now" in page
    assert "Your reason was: I am alone." in page


def test_graders_settle_nothing(grader_client, drawn):
    settle = reverse("labs:review-settle", args=[drawn.public_id])
    assert grader_client.post(settle, {"reason": "I am alone."}).status_code == 403

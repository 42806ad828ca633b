"""Points by hand: who may give them, what is refused and how, and what the learner then reads."""

import pytest
from django.urls import reverse

from labs import mark_changes
from labs.models import Attempt
from tests.factories import AttemptFactory
from tests.labs.debrief.marked import MARK
from tests.labs.in_the_room import text

pytestmark = pytest.mark.django_db


@pytest.fixture
def attempt(learner):
    return AttemptFactory(learner=learner, mark=MARK, total=MARK["total"], mark_version=1)


@pytest.fixture
def address(attempt):
    return reverse("labs:points", args=[attempt.public_id])


def give(client, address, **said):
    return client.post(
        address,
        {"part": "mechanism", "points": "20.5", "reason": "Said otherwise.", "version": 1, **said},
    )


def test_only_instructors_give_points(learner_client, grader_client, address):
    for client in (learner_client, grader_client):
        assert client.get(address).status_code == 403
        assert give(client, address).status_code == 403


def test_points_given_by_hand_count_and_the_learner_reads_why(
    instructor_client, learner_client, attempt, address
):
    before = float(attempt.total)
    rule = next(part["earned"] for part in MARK["parts"] if part["name"] == "mechanism")
    assert give(instructor_client, address).status_code == 302
    attempt.refresh_from_db()
    assert float(attempt.total) == pytest.approx(before - rule + 20.5)
    page = text(learner_client.get(reverse("labs:debrief", args=[attempt.public_id])))
    assert "Points given by a person:" in page
    assert f"The rule gave {rule:g}." in page
    assert "How the mark has changed" in page
    assert page.count("Said otherwise.") == 2


def test_taken_back_the_rules_points_count(instructor_client, attempt, address):
    give(instructor_client, address)
    back = address + "take-back/"
    instructor_client.post(back, {"part": "mechanism", "version": 2})
    attempt.refresh_from_db()
    assert attempt.mark_version == 2  # Not without a reason.
    instructor_client.post(back, {"part": "mechanism", "version": 2, "reason": "A slip."})
    attempt.refresh_from_db()
    assert (attempt.mark, attempt.mark_version) == (MARK, 3)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"points": "26"}, "Mechanism earns 25 points at most."),
        ({"points": "-1"}, "Points are 0 or more."),
        ({"points": "lots"}, "Write the points as a number"),
        ({"points": "NaN"}, "Write the points as a number"),
        ({"points": "1.25"}, "one decimal at most"),
        ({"points": ""}, "Write the points"),
        ({"part": "style"}, "Choose a part of the mark."),
        ({"reason": " "}, "Say why"),
    ],
)
def test_what_cannot_be_given_is_refused_and_what_was_typed_stays(
    instructor_client, attempt, address, said, words
):
    answer = give(instructor_client, address, **said)
    page = answer.content.decode()
    assert answer.status_code == 422
    assert words in page
    if "reason" not in said:
        assert "\nSaid otherwise.</textarea>" in page
    assert Attempt.objects.get().mark_version == 1


def test_whoever_saw_an_older_mark_is_shown_the_new_one_with_their_words(
    instructor_client, instructor, attempt, address
):
    mark_changes.override(attempt, "scope", 1, reason="first", by=instructor, version=1)
    answer = give(instructor_client, address)
    page = answer.content.decode()
    assert answer.status_code == 409
    assert "The mark has changed since this page was shown." in page
    assert "\nSaid otherwise.</textarea>" in page
    assert 'name="version" value="2"' in page
    assert Attempt.objects.get().mark_version == 2


def test_an_attempt_without_a_mark_has_no_such_page(instructor_client):
    open_ = AttemptFactory(status="open")
    assert instructor_client.get(reverse("labs:points", args=[open_.public_id])).status_code == 404

"""The grader's keys: the defaults, what may stand in their place, and the page that takes it."""

import pytest

from labs import review_queue
from labs.review_keys import DEFAULTS, FIXED, bindings, changes, faults
from tests.factories import ReviewFactory

KEYS = "/labs/reviews/keys/"
CHOSEN = {each.action: each.key for each in DEFAULTS}


def test_the_defaults_are_at_odds_with_nothing():
    assert faults(CHOSEN) == {}
    assert not set(CHOSEN.values()) & set(FIXED)
    assert changes(CHOSEN) == {}


def test_what_was_changed_stands_in_the_place_of_the_default_and_is_all_that_is_stored():
    chosen = {**CHOSEN, "next": "g", "skip": ""}
    assert changes(chosen) == {"next": "g", "skip": ""}
    assert {each.action: each.key for each in bindings(changes(chosen))} == chosen


@pytest.mark.parametrize(
    ("action", "key", "sentence"),
    [
        ("save", "n", "n is already the key for “Next: save what is open, and claim another”."),
        ("save", "2", "2 is taken: digits give points, and ? lists the keys."),
        ("save", "?", "? is taken"),
        ("save", "ab", "“ab” is not one key."),
    ],
)
def test_a_key_that_cannot_be_is_refused_with_a_sentence(action, key, sentence):
    assert sentence in faults({**CHOSEN, action: key})[action]


def test_two_actions_may_both_have_no_key():
    assert faults({**CHOSEN, "save": "", "skip": ""}) == {}


@pytest.mark.django_db
def test_a_graders_own_keys_are_on_the_buttons(grader_client, grader):
    ReviewFactory()
    assert 'data-key="n"' in grader_client.get("/labs/reviews/").content.decode()
    saved = grader_client.post(KEYS, {**CHOSEN, "next": "G"}, follow=True).content.decode()
    assert "Saved." in saved
    assert review_queue.settings_of(grader).keys == {"next": "g"}
    assert 'data-key="g"' in grader_client.get("/labs/reviews/").content.decode()
    grader_client.post(KEYS, {"do": "defaults"})
    assert review_queue.settings_of(grader).keys == {}


@pytest.mark.django_db
def test_a_key_given_twice_is_refused_and_what_was_typed_stays(grader_client, grader):
    response = grader_client.post(KEYS, {**CHOSEN, "next": "g", "skip": "g"})
    page = response.content.decode()
    assert response.status_code == 422
    assert "g is already the key for" in page
    assert page.count('value="g"') == 2
    assert review_queue.settings_of(grader).keys == {}


@pytest.mark.django_db
def test_learners_have_no_keys_and_see_no_load(learner_client):
    assert learner_client.get(KEYS).status_code == 403
    assert learner_client.get("/labs/reviews/load/").status_code == 403

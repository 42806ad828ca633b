"""Another look at one item: who may ask, what it costs, who answers, and what the points become."""

from datetime import timedelta

import pytest
from django.utils import timezone

from courseware.models import User
from labs import outcomes, reading_rules, regrades
from labs.models import PointsChange, RegradeRequest, ReviewOutcome
from labs.regrades import Conflict, Refused, Standing
from labs.review_points import items_of
from tests.factories import AttemptFactory, ReviewFactory, UserFactory, by_key

pytestmark = pytest.mark.django_db

WHY = "The second sentence names the pool and its size."
BECAUSE = "The pool and its size are named, in other words."
Status = RegradeRequest.Status


def released(reader, learner=None, points=(2, 1, 0, 2, 0), **fields) -> ReviewOutcome:
    attempt = AttemptFactory(learner=learner) if learner else AttemptFactory()
    now = timezone.now()
    ReviewFactory(
        attempt=attempt, points=by_key(points), claimed_by=reader, released_at=now, **fields
    )
    return outcomes.settle(attempt, now)


@pytest.fixture
def other() -> User:
    return UserFactory(role=User.Role.GRADER)


@pytest.fixture
def outcome(grader, learner):
    return released(grader, learner)


@pytest.fixture
def keys(outcome):
    return [item.key for item in items_of(outcome.attempt)]


@pytest.fixture
def request_(outcome, keys):
    return regrades.ask(outcome, keys[1], WHY)


def answer(request, reader, points=2.0, reason=BECAUSE, version=1):
    regrades.claim(request, reader)
    return regrades.answer(request, reader, points=points, reason=reason, version=version)


# -------------------------------------------------------------------------------------------- asking


def test_a_request_uses_a_token_and_is_made_once(outcome, keys, learner):
    assert regrades.tokens_left(learner) == 3
    first = regrades.ask(outcome, keys[1], WHY)
    assert regrades.ask(outcome, keys[1], WHY) == first
    assert regrades.tokens_left(learner) == 2


def test_an_item_is_asked_about_once(request_, outcome, keys):
    with pytest.raises(Refused, match="already"):
        regrades.ask(outcome, keys[1], f"{WHY} Once more.")


def test_an_item_with_all_its_points_is_not_asked_about(outcome, keys):
    with pytest.raises(Refused, match="all its points"):
        regrades.ask(outcome, keys[0], WHY)


def test_what_is_not_in_the_rubric_is_not_asked_about(outcome):
    with pytest.raises(Refused, match="no longer in the rubric"):
        regrades.ask(outcome, "gone", WHY)


def test_tokens_are_over_all_labs(grader, learner, keys):
    for _ in range(3):
        regrades.ask(released(grader, learner), keys[1], WHY)
    with pytest.raises(Refused, match="no request left"):
        regrades.ask(released(grader, learner), keys[1], WHY)
    assert regrades.ask(released(grader), keys[1], WHY)


def test_the_time_to_ask_ends(outcome, keys):
    outcome.released_at -= timedelta(days=14, minutes=1)
    outcome.save()
    with pytest.raises(Refused, match="The time to ask ended"):
        regrades.ask(outcome, keys[1], WHY)


def test_the_rules_say_how_long_and_how_often(outcome, keys, learner, instructor):
    slug = outcome.attempt.lab_slug
    reading_rules.change("", {"regrade_tokens": 0}, by=instructor, version=0)
    assert regrades.tokens_left(learner) == 0
    reading_rules.change(slug, {"regrade_days": 2}, by=instructor, version=0)
    assert regrades.closes_at(outcome) == outcome.released_at + timedelta(days=2)


def test_a_request_taken_back_in_time_gives_its_token_back(request_, outcome, keys, learner):
    regrades.withdraw(request_)
    regrades.withdraw(request_)
    assert regrades.tokens_left(learner) == 3
    assert regrades.ask(outcome, keys[1], WHY) != request_


def test_what_somebody_looks_at_is_not_withdrawn(request_, other):
    regrades.claim(request_, other)
    with pytest.raises(Refused, match="looking at it now"):
        regrades.withdraw(request_)
    RegradeRequest.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    regrades.withdraw(request_)
    with pytest.raises(Conflict):
        regrades.answer(request_, other, points=2, reason=BECAUSE, version=1)


def test_what_is_answered_is_not_withdrawn(request_, other):
    answer(request_, other)
    with pytest.raises(Refused, match="answered already"):
        regrades.withdraw(request_)


def test_the_learners_page_says_of_each_item_what_they_may_do(request_, outcome, keys, other):
    lines = {line.key: line for line in regrades.lines_of(outcome, timezone.now())}
    assert [lines[key].may_ask for key in keys] == [False, False, True, False, True]
    assert [key for key in keys if lines[key].may_withdraw] == [keys[1]]
    regrades.claim(request_, other)
    assert not any(line.may_withdraw for line in regrades.lines_of(outcome, timezone.now()))


# ------------------------------------------------------------------------------------------ answering


def test_whoever_read_it_never_gets_the_request(request_, grader, other, instructor):
    assert not regrades.open_to(grader)
    for reader in (other, instructor):
        assert list(regrades.waiting(reader)) == [request_]


def test_no_reader_of_several_gets_it(grader, other, learner, keys):
    outcome = released(grader, learner)
    ReviewFactory(attempt=outcome.attempt, reading=2, claimed_by=other, released_at=timezone.now())
    regrades.ask(outcome, keys[1], WHY)
    assert not regrades.open_to(other)


def test_nobody_answers_their_own_request(grader, other, keys):
    regrades.ask(released(other, grader), keys[1], WHY)
    assert not regrades.open_to(grader)


def test_of_two_who_claim_at_once_one_gets_it(request_, other, instructor):
    regrades.claim(request_, other)
    with pytest.raises(Conflict) as refused:
        regrades.claim(request_, instructor)
    found = refused.value.request
    assert regrades.standing(found, instructor, timezone.now()) == Standing.TAKEN
    assert regrades.standing(found, other, timezone.now()) == Standing.YOURS


def test_an_upheld_request_moves_the_points_and_gives_the_token_back(
    request_, outcome, other, learner
):
    assert answer(request_, other, points=2.0) == Status.UPHELD
    outcome.refresh_from_db()
    assert (outcome.points, outcome.version) == (by_key([2, 2, 0, 2, 0]), 2)
    assert regrades.tokens_left(learner) == 3
    change = PointsChange.objects.get()
    assert (change.before, change.after, change.reason, change.by) == (1, 2, BECAUSE, other)
    assert outcomes.shown_to_learner(outcome.attempt).total == 6


def test_a_declined_request_moves_nothing_and_keeps_the_token(request_, outcome, other, learner):
    assert answer(request_, other, points=1.0) == Status.DECLINED
    outcome.refresh_from_db()
    assert (outcome.points, outcome.version) == (by_key([2, 1, 0, 2, 0]), 1)
    assert regrades.tokens_left(learner) == 2
    assert not PointsChange.objects.exists()


def test_no_request_lowers_points(request_, outcome, other):
    assert answer(request_, other, points=0.0) == Status.DECLINED
    outcome.refresh_from_db()
    assert outcome.points == by_key([2, 1, 0, 2, 0])


def test_an_answer_sent_twice_is_given_once(request_, other):
    answer(request_, other)
    again = regrades.answer(request_, other, points=2.0, reason=BECAUSE, version=1)
    assert again == Status.UPHELD
    assert PointsChange.objects.count() == 1


def test_whoever_lost_the_request_answers_nothing(request_, outcome, other, instructor):
    regrades.claim(request_, other)
    RegradeRequest.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    regrades.claim(request_, instructor)
    with pytest.raises(Conflict):
        regrades.answer(request_, other, points=2.0, reason=BECAUSE, version=1)
    outcome.refresh_from_db()
    assert outcome.version == 1


def test_an_answer_to_points_that_have_changed_since_is_not_given(request_, outcome, other):
    ReviewOutcome.objects.update(version=2)
    with pytest.raises(Conflict):
        answer(request_, other)
    request_.refresh_from_db()
    assert request_.status == Status.OPEN


def test_two_items_of_one_attempt_are_answered_one_after_the_other(request_, outcome, keys, other):
    second = regrades.ask(outcome, keys[2], WHY)
    answer(request_, other)
    answer(second, other, points=1.0, version=2)
    outcome.refresh_from_db()
    assert outcome.points == by_key([2, 2, 1, 2, 0])
    assert [each.version for each in outcome.changes.all()] == [2, 3]


def test_a_request_handed_back_is_free(request_, other):
    regrades.claim(request_, other)
    regrades.hand_back(request_, other)
    request_.refresh_from_db()
    assert regrades.standing(request_, other, timezone.now()) == Standing.FREE


def test_points_that_an_item_takes_away_can_be_given_back(grader, other):
    now = timezone.now()
    attempt = AttemptFactory(lab_slug="fine-on-average")
    items = items_of(attempt)
    taken = next(item for item in items if item.takes_away)
    points = {item.key: max(0, item.points) for item in items} | {taken.key: taken.points}
    ReviewFactory(attempt=attempt, points=points, claimed_by=grader, released_at=now)
    outcome = outcomes.settle(attempt, now)
    request = regrades.ask(outcome, taken.key, WHY)
    assert answer(request, other, points=0) == Status.UPHELD
    change = outcome.changes.get()
    assert (change.before, change.after, change.of_after) == (taken.points, 0, taken.points)

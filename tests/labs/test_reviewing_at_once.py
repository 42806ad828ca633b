"""Two presses in the same instant, on a database that threads share: exactly one of them counts, and nobody meets an error."""

import threading

import pytest
from django.db import connections

from courseware.models import User
from labs import outcomes, reading_rules, regrades, reviews, training
from labs.models import PointsChange, RegradeRequest, Review, ReviewOutcome, TrainingRun
from labs.review_points import items_of
from tests.factories import AttemptFactory, ReviewFactory, UserFactory, draft
from tests.on_disk import on_disk

pytestmark = pytest.mark.django_db(transaction=True)
WHY = "The third sentence names the window."


def at_once(folder, *presses) -> list[object]:
    """Let functions run in the same instant, a thread each; return what each returned, or the exception it raised."""
    gate, came = threading.Barrier(len(presses)), [None] * len(presses)

    def press(place: int, do) -> None:
        gate.wait()
        try:
            came[place] = do()
        except Exception as error:  # noqa: BLE001  what it was is what the test asks
            came[place] = error
        finally:
            connections.close_all()

    threads = [threading.Thread(target=press, args=each) for each in enumerate(presses)]
    with on_disk(folder):
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        return came


def outcome_of(grader: User, learner: User | None = None) -> ReviewOutcome:
    attempt = AttemptFactory(learner=learner) if learner else AttemptFactory()
    review = ReviewFactory(attempt=attempt)
    reviews.claim(review, grader)
    version = reviews.save(review, grader, draft([0, 0, 0, 0, 0]), version=0)
    reviews.release(review, grader, version=version)
    return ReviewOutcome.objects.get(attempt=review.attempt)


def test_of_six_who_claim_one_review_at_once_one_has_it_and_five_are_told_who(tmp_path):
    graders = [UserFactory(role=User.Role.GRADER) for _ in range(6)]
    review = ReviewFactory()
    came = at_once(tmp_path, *(lambda who=each: reviews.claim(review, who) for each in graders))
    told = [each for each in came if isinstance(each, reviews.Conflict)]
    assert len(told) == 5
    assert came.count(None) == 1
    assert {each.review.claimed_by for each in told} == {graders[came.index(None)]}


def test_a_release_pressed_twice_at_once_settles_once(tmp_path, grader):
    review = ReviewFactory()
    reviews.claim(review, grader)
    version = reviews.save(review, grader, draft([2, 2, 2, 2, 1]), version=0)

    def release():
        done = reviews.release(review, grader, version=version)
        return done, ReviewOutcome.objects.filter(attempt=review.attempt).count()

    came = at_once(tmp_path, release, release)
    assert sorted(came) == [(False, 1), (True, 1)]


def test_two_requests_at_once_never_spend_the_same_last_token(
    tmp_path, grader, learner, instructor
):
    outcome = outcome_of(grader, learner)
    reading_rules.change("", {"regrade_tokens": 1}, by=instructor, version=0)
    one, two = (item.key for item in items_of(outcome.attempt)[:2])

    def ask(key):
        asked = regrades.ask(outcome, key, WHY)
        return RegradeRequest.objects.filter(attempt=outcome.attempt).count(), asked.item

    came = at_once(tmp_path, lambda: ask(one), lambda: ask(two))
    refused = [each for each in came if isinstance(each, regrades.Refused)]
    assert [str(each).split(".")[0] for each in refused] == ["You have no request left"], came
    assert [each[0] for each in came if isinstance(each, tuple)] == [1]


def test_a_request_sent_twice_at_once_is_one(tmp_path, grader, learner):
    outcome = outcome_of(grader, learner)
    key = items_of(outcome.attempt)[0].key
    came = at_once(tmp_path, *[lambda: regrades.ask(outcome, key, WHY).pk] * 3)
    assert len(set(came)) == 1
    assert isinstance(came[0], int)


def test_an_answer_sent_twice_at_once_moves_the_points_once(tmp_path, grader, learner):
    outcome, other = outcome_of(grader, learner), UserFactory(role=User.Role.GRADER)
    item = items_of(outcome.attempt)[0]
    asked = regrades.ask(outcome, item.key, WHY)
    regrades.claim(asked, other)

    def answer():
        status = regrades.answer(
            asked, other, points=item.points, reason="Read again: it does.", version=outcome.version
        )
        return status, PointsChange.objects.filter(outcome=outcome).count()

    came = at_once(tmp_path, answer, answer)
    assert came == [(regrades.Status.UPHELD, 1)] * 2


def test_a_second_reading_is_settled_or_saved_but_never_both(tmp_path, instructor):
    """An instructor settles without a reading in the instant in which its late reader saves."""
    reading_rules.change("", {"second_percent": 100}, by=instructor, version=0)
    one, two = (UserFactory(role=User.Role.GRADER) for _ in range(2))
    first = ReviewFactory()
    reviews.claim(first, one)
    version = reviews.save(first, one, draft([0, 0, 0, 0, 0]), version=0)
    reviews.release(first, one, version=version)
    second = Review.objects.get(attempt=first.attempt, reading=2)
    reviews.claim(second, two)
    Review.objects.filter(pk=second.pk).update(lease_until=second.created_at)

    def settle():
        return outcomes.settle_without(first.attempt, by=instructor, reason="Nobody is left.").basis

    def save():
        reviews.save(second, two, draft([2, 2, 2, 2, 1], "Late."), version=0)
        return "saved"

    came = [
        each if isinstance(each, str) else type(each).__name__
        for each in at_once(tmp_path, settle, save)
    ]
    assert came in (["one", "Http404"], ["StillRead", "saved"])


def test_a_training_begun_twice_at_once_is_one_try(tmp_path, grader, instructor):
    outcome = outcome_of(UserFactory(role=User.Role.GRADER))
    training.add(outcome.attempt, dict(outcome.points), "Why.", by=instructor)
    slug = outcome.attempt.lab_slug

    def begin():
        return training.begin(grader, slug).pk, TrainingRun.objects.filter(grader=grader).count()

    came = at_once(tmp_path, begin, begin)
    assert came[0] == came[1]

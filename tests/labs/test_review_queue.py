"""Next, skip and free: each review goes to one grader, and what comes back keeps its reason."""

import threading
from collections import Counter
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connections
from django.utils import timezone

from courseware.models import User
from labs import review_queue, reviews
from labs.models import Review, ReviewReturn
from labs.review_queue import HoldsEnough, candidates, place, take_next
from labs.reviews import Conflict, Standing
from tests.factories import AttemptFactory, ReviewFactory, UserFactory, draft
from tests.on_disk import on_disk

pytestmark = pytest.mark.django_db

FULL = [2, 2, 2, 2, 1]


@pytest.fixture
def other() -> User:
    return UserFactory(role=User.Role.GRADER)


@pytest.fixture
def three() -> list[Review]:
    """Three free reviews, the oldest first."""
    now = timezone.now()
    return [ReviewFactory(created_at=now - timedelta(hours=hours)) for hours in (3, 2, 1)]


# -------------------------------------------------------------------------------------------- next


def test_next_claims_the_oldest_that_is_free(grader, three):
    assert take_next(grader) == three[0]
    three[0].refresh_from_db()
    assert reviews.standing(three[0], grader) == Standing.YOURS
    assert three[0].claimed_at is not None


def test_next_passes_over_what_others_hold_and_ones_own_attempts(grader, other, three):
    reviews.claim(three[0], other)
    ReviewFactory(
        attempt=AttemptFactory(learner=grader), created_at=timezone.now() - timedelta(days=9)
    )
    assert take_next(grader) == three[1]


def test_next_gives_what_somebody_left_until_their_time_was_over(grader, other, three):
    reviews.claim(three[0], other)
    Review.objects.filter(pk=three[0].pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert take_next(grader) == three[0]


def test_next_gives_nothing_once_nothing_is_free(grader):
    assert take_next(grader) is None


def test_who_loses_a_review_in_the_same_instant_is_given_the_following_one(
    grader, other, three, monkeypatch
):
    """Both have looked at the same queue before either of them writes."""
    seen = candidates(grader, timezone.now())
    monkeypatch.setattr(review_queue, "candidates", lambda *_: seen)
    given = [take_next(who) for who in (grader, other, grader)]
    assert given == three


@pytest.mark.django_db(transaction=True)
def test_six_graders_at_once_are_given_eighteen_different_reviews(tmp_path):
    graders = [UserFactory(role=User.Role.GRADER) for _ in range(6)]
    ReviewFactory.create_batch(20)
    gate, given = threading.Barrier(6), []

    def press(grader: User) -> None:
        gate.wait()
        try:
            given.extend((grader.pk, take_next(grader).pk) for _ in range(3))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=press, args=(grader,)) for grader in graders]
    with on_disk(tmp_path):
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert len({review for _, review in given}) == len(given) == 18
    assert set(Counter(who for who, _ in given).values()) == {3}


def test_the_button_pressed_twice_gives_one_review(grader, three):
    shown_at = timezone.now()
    assert take_next(grader, asked_from=shown_at) == three[0]
    assert take_next(grader, asked_from=shown_at) == three[0]
    assert take_next(grader, asked_from=timezone.now()) == three[1]


def test_nobody_is_given_a_fourth_while_they_hold_three(grader, three):
    ReviewFactory()
    for _ in three:
        take_next(grader)
    with pytest.raises(HoldsEnough):
        take_next(grader)
    Review.objects.filter(pk=three[0].pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert take_next(grader) == three[0]


# -------------------------------------------------------------------------------------------- order


def test_a_shuffled_order_is_the_graders_own_and_stays(grader, other):
    ReviewFactory.create_batch(12)
    now = timezone.now()
    oldest = candidates(grader, now)
    for who in (grader, other):
        review_queue.set_order(who, "shuffled")
    mine, theirs = candidates(grader, now), candidates(other, now)
    assert mine == candidates(grader, now)
    assert sorted(mine) == sorted(theirs) == sorted(oldest)
    assert len({tuple(oldest), tuple(mine), tuple(theirs)}) == 3


def test_a_place_in_the_order_is_the_same_in_any_process():
    assert place(7, UUID(int=1)).startswith("a3f8a47b")


def test_no_review_gains_by_its_age_or_its_name_in_shuffled_orders():
    """Over 2,000 graders, each of four reviews comes first in a quarter of the orders, within four deviations."""
    names = [UUID(int=n) for n in range(4)]
    first = Counter(min(names, key=lambda name: place(grader, name)) for grader in range(2000))
    deviation = (2000 * 0.25 * 0.75) ** 0.5
    assert all(abs(first[name] - 500) < 4 * deviation for name in names)


# -------------------------------------------------------------------------------------------- skip


def test_a_skipped_review_is_free_for_others_and_next_gives_it_to_its_skipper_no_more(
    grader, other, three
):
    review_queue.skip(take_next(grader), grader, reason="I know who wrote this.")
    assert take_next(grader) == three[1]
    assert take_next(other) == three[0]
    kept = ReviewReturn.objects.get()
    assert (kept.kind, kept.by, kept.holder) == ("skipped", grader, grader)
    assert kept.reason == "I know who wrote this."


def test_whoever_skipped_a_review_may_still_claim_it_by_hand(grader, three):
    review_queue.skip(take_next(grader), grader, reason="Tired.")
    reviews.claim(three[0], grader)
    three[0].refresh_from_db()
    assert three[0].claimed_by == grader


def test_a_skip_sent_twice_is_one_skip(grader, three):
    review = take_next(grader)
    for _ in range(2):
        review_queue.skip(review, grader, reason="Tired.")
    assert ReviewReturn.objects.count() == 1


def test_what_another_has_taken_cannot_be_skipped(grader, other, three):
    review = take_next(grader)
    Review.objects.filter(pk=review.pk).update(claimed_by=other)
    with pytest.raises(Conflict) as refused:
        review_queue.skip(review, grader, reason="Late.")
    assert refused.value.standing == Standing.TAKEN
    assert not ReviewReturn.objects.exists()


def test_skips_are_counted_a_review(grader, other, three):
    for who in (grader, other):
        review_queue.skip(take_next(who), who, reason="Tired.")
    assert review_queue.skips_of(three) == {three[0].pk: 2}


# -------------------------------------------------------------------------------------------- free


def test_an_instructor_frees_a_review_with_a_reason_and_its_draft_stays(grader, instructor, three):
    review = take_next(grader)
    reviews.save(review, grader, draft(FULL, "Half a thought."), version=0)
    review_queue.free(review, instructor, holder_pk=grader.pk, reason="Goran is on leave.")
    review.refresh_from_db()
    assert (review.claimed_by, review.comment) == (None, "Half a thought.")
    kept = review_queue.last_return(review)
    assert (kept.kind, kept.by, kept.holder, kept.reason) == (
        "freed",
        instructor,
        grader,
        "Goran is on leave.",
    )


def test_only_from_whom_the_instructor_saw_is_a_review_freed(grader, other, instructor, three):
    review = take_next(grader)
    Review.objects.filter(pk=review.pk).update(claimed_by=other)
    with pytest.raises(Conflict):
        review_queue.free(review, instructor, holder_pk=grader.pk, reason="On leave.")
    review.refresh_from_db()
    assert review.claimed_by == other
    assert not ReviewReturn.objects.exists()

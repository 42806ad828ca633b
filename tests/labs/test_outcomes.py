"""What the readings of an attempt come to: one, the mean of two, a third's; and what its learner is shown."""

import pytest
from django.utils import timezone

from courseware.models import User
from labs import outcomes, reading_rules, review_queue, reviews
from labs.models import ReadingRules, Review, ReviewOutcome
from tests.factories import ReviewFactory, UserFactory, by_key, draft

pytestmark = pytest.mark.django_db

POINTS = [2, 1, 0, 2, 1]


@pytest.fixture
def readers():
    return [UserFactory(role=User.Role.GRADER) for _ in range(3)]


@pytest.fixture
def twice(instructor):
    """Every attempt is read twice; two readers may lie two points apart."""
    reading_rules.change(
        "", {"second_percent": 100, "most_difference": 2}, by=instructor, version=0
    )


def read(review: Review, reader: User, points: list[int], comment: str = "") -> None:
    reviews.claim(review, reader)
    version = reviews.save(review, reader, draft(points, comment), version=0)
    reviews.release(review, reader, version=version)


def reading_of(review: Review, number: int) -> Review:
    return Review.objects.get(attempt=review.attempt, reading=number)


def shown(review: Review) -> outcomes.ShownReview | None:
    return outcomes.shown_to_learner(review.attempt)


def test_one_reading_that_is_released_is_what_the_learner_sees(grader):
    review = ReviewFactory()
    read(review, grader, POINTS, "Name the window.")
    found = shown(review)
    assert (found.total, found.of, found.comment) == (6, 9, "Name the window.")
    assert found.readers == ()


def test_settling_twice_changes_nothing():
    review = ReviewFactory(points=by_key(POINTS), released_at=timezone.now())
    first = outcomes.settle(review.attempt, timezone.now())
    review.points = by_key([0] * 5)
    review.save()
    assert outcomes.settle(review.attempt, timezone.now()) == first
    assert ReviewOutcome.objects.get().points == by_key(POINTS)


def test_a_drawn_attempt_waits_for_its_second_reading(twice, readers):
    review = ReviewFactory()
    read(review, readers[0], POINTS)
    assert shown(review) is None
    assert outcomes.open_readings([review.attempt_id]) == {review.attempt_id: 2}
    assert reading_of(review, 2).created_at == review.created_at


def test_the_second_reading_goes_to_anybody_but_the_first_reader(twice, readers):
    review = ReviewFactory()
    read(review, readers[0], POINTS)
    assert review_queue.take_next(readers[0]) is None
    assert not reviews.open_to(readers[0]).filter(reading=2).exists()
    assert review_queue.take_next(readers[1]) == reading_of(review, 2)


def test_two_readings_that_lie_close_count_by_their_mean(twice, readers):
    review = ReviewFactory()
    read(review, readers[0], [2, 1, 0, 2, 1], "Name the window.")
    read(reading_of(review, 2), readers[1], [2, 2, 0, 1, 1], "Say which pool.")
    found = shown(review)
    assert [item.points for item in found.items] == [2, 1.5, 0, 1.5, 1]
    assert (found.total, found.basis) == (6, ReviewOutcome.Basis.MEAN)
    assert found.comment == "Name the window.\n\nSay which pool."


def test_two_readings_that_lie_far_apart_go_to_a_third_who_decides(twice, readers):
    review = ReviewFactory()
    read(review, readers[0], [2, 2, 2, 2, 1])
    read(reading_of(review, 2), readers[1], [2, 2, 1, 1, 0])
    assert shown(review) is None
    third = reading_of(review, 3)
    assert [review_queue.take_next(each) for each in readers] == [None, None, third]
    assert [each.reading for each in reviews.earlier_readings(third)] == [1, 2]
    read(third, readers[2], [2, 2, 2, 1, 0], "A third look.")
    assert (shown(review).total, shown(review).comment) == (7, "A third look.")


@pytest.mark.parametrize("number", [1, 2])
def test_only_a_third_reader_sees_other_readings(number):
    assert reviews.earlier_readings(ReviewFactory(reading=number)) == []


def test_the_points_of_a_first_reading_are_kept_from_others_until_the_second_is_done(
    twice, readers
):
    review = ReviewFactory()
    read(review, readers[0], POINTS)
    review.refresh_from_db()
    assert [reviews.is_kept_from(review, each, 2) for each in readers] == [False, True, True]
    assert not reviews.is_kept_from(review, readers[1], None)


def test_a_lab_may_have_rules_of_its_own(twice, readers, instructor):
    review = ReviewFactory()
    slug = review.attempt.lab_slug
    reading_rules.change(slug, {"second_percent": 0}, by=instructor, version=0)
    read(review, readers[0], POINTS)
    assert shown(review).basis == ReviewOutcome.Basis.ONE
    reading_rules.as_elsewhere(slug, by=instructor, version=1)
    assert reading_rules.rules_of(slug).second_percent == 100


def test_of_two_who_store_rules_at_once_the_second_is_told(instructor):
    reading_rules.change("", {"second_percent": 20}, by=instructor, version=0)
    reading_rules.change("", {"second_percent": 20}, by=instructor, version=0)
    with pytest.raises(reading_rules.MovedOn):
        reading_rules.change("", {"second_percent": 30}, by=instructor, version=0)
    assert [each.second_percent for each in ReadingRules.objects.all()] == [20]


def test_a_learner_is_told_who_read_it_by_the_rules_of_its_release(grader, instructor):
    before, after = ReviewFactory(), ReviewFactory()
    read(before, grader, POINTS)
    reading_rules.change("", {"learners_see_readers": True}, by=instructor, version=0)
    read(after, grader, POINTS)
    assert shown(before).readers == ()
    assert shown(after).readers == (str(grader),)


# ------------------------------------------------------------------------- settled without a reading


def test_an_instructor_settles_what_nobody_is_left_to_read_twice(twice, readers, instructor):
    review = ReviewFactory()
    read(review, readers[0], POINTS, "Name the window.")
    found = outcomes.settle_without(review.attempt, by=instructor, reason="I am alone this week.")
    assert (found.basis, found.points) == (ReviewOutcome.Basis.ONE, by_key(POINTS))
    assert not Review.objects.to_read().exists()
    told = outcomes.settled_by_hand(review.attempt_id)
    assert (told.settled_by, told.settled_because) == (instructor, "I am alone this week.")
    with pytest.raises(outcomes.StillRead):
        outcomes.settle_without(review.attempt, by=instructor, reason="Once more.")


def test_without_a_third_reader_the_mean_counts(twice, readers, instructor):
    review = ReviewFactory()
    read(review, readers[0], [2, 2, 2, 2, 1])
    read(reading_of(review, 2), readers[1], [0, 0, 1, 1, 0])
    found = outcomes.settle_without(review.attempt, by=instructor, reason="No third is there.")
    assert found.basis == ReviewOutcome.Basis.MEAN
    assert shown(review).total == 5.5


def test_what_somebody_reads_is_not_settled_over_their_head(twice, readers, instructor):
    review = ReviewFactory()
    read(review, readers[0], POINTS)
    reviews.claim(reading_of(review, 2), readers[1])
    with pytest.raises(outcomes.StillRead):
        outcomes.settle_without(review.attempt, by=instructor, reason="In a hurry.")
    assert shown(review) is None
    assert reading_of(review, 2).claimed_by == readers[1]

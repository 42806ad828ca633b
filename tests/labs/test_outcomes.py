"""What the readings of an attempt come to, and what its learner is shown."""

import pytest
from django.utils import timezone

from labs import outcomes
from labs.models import ReviewOutcome
from tests.factories import ReviewFactory

pytestmark = pytest.mark.django_db

POINTS = [2, 1, 0, 2, 1]


def test_one_reading_that_is_released_is_what_the_learner_sees():
    now = timezone.now()
    review = ReviewFactory(points=POINTS, comment="Name the window.", released_at=now)
    outcomes.settle(review.attempt, now)
    shown = outcomes.shown_to_learner(review.attempt)
    assert (shown.total, shown.of, shown.comment) == (6, 9, "Name the window.")
    assert shown.released_at == now


def test_settling_twice_changes_nothing():
    review = ReviewFactory(points=POINTS, released_at=timezone.now())
    first = outcomes.settle(review.attempt, timezone.now())
    review.points = [0] * 5
    review.save()
    assert outcomes.settle(review.attempt, timezone.now()) == first
    assert ReviewOutcome.objects.get().points == POINTS


def test_nothing_is_settled_while_a_reading_is_still_to_be_done():
    review = ReviewFactory(points=POINTS, released_at=timezone.now())
    ReviewFactory(attempt=review.attempt, reading=2)
    assert outcomes.settle(review.attempt, timezone.now()) is None
    assert outcomes.shown_to_learner(review.attempt) is None

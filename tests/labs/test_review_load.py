"""Who reads how much, and what came back unread."""

from datetime import UTC, datetime, timedelta

import pytest

from labs import review_load, review_queue, reviews
from labs.models import ReviewReturn
from labs.review_load import Load
from tests.factories import AttemptFactory, ReviewFactory, UserFactory

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 3, 12, 15, 0, tzinfo=UTC)
"""A Thursday."""


def read(by, *, ago: timedelta, took_min: float) -> None:
    at = NOW - ago
    claimed_at = at - timedelta(minutes=took_min)
    ReviewFactory(claimed_by=by, claimed_at=claimed_at, released_at=at)


def test_a_load_counts_today_the_week_its_median_what_is_held_and_what_was_skipped(grader):
    for hours, took_min in ((1, 4), (2, 10), (30, 12), (24 * 5, 60)):
        read(grader, ago=timedelta(hours=hours), took_min=took_min)
    ReviewFactory(claimed_by=grader, lease_until=NOW + timedelta(minutes=3))
    ReviewFactory(claimed_by=grader, lease_until=NOW - timedelta(minutes=3))
    for days in (1, 6):
        ReviewReturn.objects.create(
            review=ReviewFactory(),
            kind="skipped",
            by=grader,
            holder=grader,
            reason="Tired.",
            at=NOW - timedelta(days=days),
        )
    assert review_load.loads(NOW) == [
        Load(grader, read_today=2, read_this_week=3, median_min=10, held=1, skipped_this_week=1)
    ]


def test_a_grader_who_has_read_nothing_is_listed_and_an_instructor_is_not(grader, instructor):
    assert [load.reader for load in review_load.loads(NOW)] == [grader]
    read(instructor, ago=timedelta(hours=1), took_min=5)
    assert [load.reader for load in review_load.loads(NOW)] == [instructor, grader]


def test_a_review_claimed_before_claims_had_a_moment_is_counted_without_one(grader):
    ReviewFactory(claimed_by=grader, released_at=NOW - timedelta(hours=1))
    assert review_load.loads(NOW)[0].median_min is None


def test_renewing_a_claim_does_not_shorten_the_time_that_it_took(grader):
    review = ReviewFactory()
    reviews.claim(review, grader)
    review.refresh_from_db()
    since = review.claimed_at
    reviews.claim(review, grader)
    reviews.extend(review, grader)
    review.refresh_from_db()
    assert review.claimed_at == since


def test_only_instructors_read_why_something_came_back(
    grader_client, grader, instructor_client, instructor
):
    for review in (
        ReviewFactory(),
        ReviewFactory(attempt=AttemptFactory(learner=UserFactory(name="Maya Lindqvist"))),
    ):
        reviews.claim(review, grader)
        review_queue.skip(review, grader, reason="I know who wrote this.")
    address = "/labs/reviews/load/"
    page = instructor_client.get(address).content.decode()
    assert page.count("skipped it: I know who wrote this.") == 2
    assert "Maya" not in page
    page = grader_client.get(address).content.decode()
    assert str(grader) in page
    assert "I know who wrote this." not in page

"""The workflow of a review: claim, save, hand back, release; of two at once, one."""

from datetime import timedelta

import pytest
from django.utils import timezone

from courseware.models import User
from labs import outcomes, reviews
from labs.models import Review
from labs.review_points import points_of, total_of
from labs.reviews import LEASE, Conflict, Standing, Undecided
from tests.factories import AttemptFactory, ReviewFactory, UserFactory, by_key, draft

pytestmark = pytest.mark.django_db

FULL = [2, 2, 2, 2, 1]


@pytest.fixture
def other() -> User:
    return UserFactory(role=User.Role.GRADER)


@pytest.fixture
def review() -> Review:
    return ReviewFactory()


@pytest.fixture
def claimed(review, grader) -> Review:
    reviews.claim(review, grader)
    review.refresh_from_db()
    return review


def expire(review: Review) -> None:
    Review.objects.filter(pk=review.pk).update(lease_until=timezone.now() - timedelta(seconds=1))


def take(review: Review, by: User) -> None:
    expire(review)
    reviews.claim(review, by)


def save(review, grader, *, version=0, points=None, comment="Good."):
    return reviews.save(review, grader, draft(points or FULL, comment), version=version)


# ------------------------------------------------------------------------------------------- claim


def test_of_two_graders_who_claim_at_once_one_gets_it(review, grader, other):
    one, another = Review.objects.get(pk=review.pk), Review.objects.get(pk=review.pk)
    reviews.claim(one, grader)
    with pytest.raises(Conflict) as refused:
        reviews.claim(another, other)
    assert refused.value.standing == Standing.TAKEN
    assert refused.value.review.claimed_by == grader


def test_a_claim_lasts_half_an_hour(review, grader):
    before = timezone.now()
    reviews.claim(review, grader)
    review.refresh_from_db()
    assert before + LEASE <= review.lease_until <= timezone.now() + LEASE


def test_claiming_twice_renews_the_claim(claimed, grader):
    Review.objects.update(lease_until=timezone.now() + timedelta(minutes=1))
    reviews.claim(claimed, grader)
    claimed.refresh_from_db()
    assert claimed.lease_until > timezone.now() + timedelta(minutes=29)


def test_an_expired_claim_can_be_taken(claimed, other):
    take(claimed, other)
    claimed.refresh_from_db()
    assert claimed.claimed_by == other


def test_a_released_review_cannot_be_claimed(claimed, grader, other):
    reviews.release(claimed, grader, version=save(claimed, grader))
    for person in (grader, other):
        with pytest.raises(Conflict) as refused:
            reviews.claim(claimed, person)
        assert refused.value.standing == Standing.RELEASED


def test_a_claim_is_extended_only_by_its_holder(claimed, grader, other):
    expire(claimed)
    reviews.extend(claimed, grader)
    claimed.refresh_from_db()
    assert reviews.standing(claimed, grader) == Standing.YOURS
    with pytest.raises(Conflict):
        reviews.extend(claimed, other)


@pytest.mark.parametrize(
    ("holder", "minutes", "expected"),
    [
        (None, None, Standing.FREE),
        ("grader", 5, Standing.YOURS),
        ("grader", -5, Standing.OVER),
        ("other", 5, Standing.TAKEN),
        ("other", -5, Standing.FREE),
    ],
)
def test_the_standing_of_a_review_depends_on_who_asks_and_when(
    grader, other, holder, minutes, expected
):
    people = {"grader": grader, "other": other}
    until = None if minutes is None else timezone.now() + timedelta(minutes=minutes)
    review = ReviewFactory(claimed_by=people.get(holder), lease_until=until)
    assert reviews.standing(review, grader) == expected


# -------------------------------------------------------------------------------------------- save


def test_a_draft_is_stored_with_its_open_items_and_extends_the_claim(claimed, grader):
    Review.objects.update(lease_until=timezone.now() + timedelta(minutes=1))
    assert save(claimed, grader, points=[2, None, 0, None, 1], comment="So far.") == 1
    claimed.refresh_from_db()
    assert claimed.points == by_key([2, None, 0, None, 1])
    assert claimed.comment == "So far."
    assert claimed.lease_until > timezone.now() + timedelta(minutes=29)
    assert total_of(claimed.points) == 3


def test_a_late_save_succeeds_while_nobody_has_taken_it(claimed, grader):
    expire(claimed)
    save(claimed, grader)
    claimed.refresh_from_db()
    assert reviews.standing(claimed, grader) == Standing.YOURS


def test_a_late_save_changes_nothing_once_another_has_taken_it(claimed, grader, other):
    take(claimed, other)
    save(claimed, other, comment="Theirs.")
    with pytest.raises(Conflict) as refused:
        save(claimed, grader, comment="Mine.")
    assert refused.value.standing == Standing.TAKEN
    claimed.refresh_from_db()
    assert (claimed.comment, claimed.claimed_by) == ("Theirs.", other)


def test_a_save_without_a_claim_is_refused(review, grader):
    with pytest.raises(Conflict) as refused:
        save(review, grader)
    assert refused.value.standing == Standing.FREE


def test_a_save_from_an_older_page_is_refused(claimed, grader):
    save(claimed, grader, comment="From one tab.")
    with pytest.raises(Conflict) as refused:
        save(claimed, grader, comment="From another tab.")
    assert refused.value.standing == Standing.YOURS
    assert refused.value.review.comment == "From one tab."


def test_the_same_save_sent_twice_is_stored_once(claimed, grader):
    assert save(claimed, grader) == save(claimed, grader) == 1
    claimed.refresh_from_db()
    assert claimed.version == 1


# --------------------------------------------------------------------------------------- hand back


def test_handing_back_keeps_the_draft_and_frees_the_review(claimed, grader, other):
    reviews.hand_back(claimed, grader, draft(FULL, "Half way."), version=0)
    claimed.refresh_from_db()
    assert (claimed.points, claimed.comment, claimed.version) == (by_key(FULL), "Half way.", 1)
    assert reviews.standing(claimed, other) == Standing.FREE
    reviews.claim(claimed, other)


def test_handing_back_twice_is_harmless(claimed, grader):
    for _ in range(2):
        reviews.hand_back(claimed, grader, draft(FULL, ""), version=0)
    claimed.refresh_from_db()
    assert (claimed.claimed_by, claimed.version) == (None, 1)


def test_what_another_has_taken_cannot_be_handed_back(claimed, grader, other):
    take(claimed, other)
    with pytest.raises(Conflict):
        reviews.hand_back(claimed, grader, draft(FULL, ""), version=0)
    claimed.refresh_from_db()
    assert claimed.claimed_by == other


# ----------------------------------------------------------------------------------------- release


def test_a_review_is_released_once(claimed, grader):
    version = save(claimed, grader)
    assert reviews.release(claimed, grader, version=version) is True
    claimed.refresh_from_db()
    first = claimed.released_at
    assert reviews.release(claimed, grader, version=version) is False
    claimed.refresh_from_db()
    assert claimed.released_at == first


def test_an_open_item_holds_the_release_back(claimed, grader):
    version = save(claimed, grader, points=[2, None, 2, 2, None])
    with pytest.raises(Undecided) as refused:
        reviews.release(claimed, grader, version=version)
    assert refused.value.keys == ("numbers", "refutation")
    claimed.refresh_from_db()
    assert claimed.released_at is None


def test_zero_points_are_a_decision(claimed, grader):
    version = save(claimed, grader, points=[0, 0, 0, 0, 0])
    assert reviews.release(claimed, grader, version=version)


def test_only_the_confirmed_version_is_released(claimed, grader):
    version = save(claimed, grader)
    save(claimed, grader, version=version, points=[0, 0, 0, 0, 0])
    with pytest.raises(Conflict):
        reviews.release(claimed, grader, version=version)
    claimed.refresh_from_db()
    assert claimed.released_at is None


def test_what_another_has_taken_cannot_be_released(claimed, grader, other):
    version = save(claimed, grader)
    take(claimed, other)
    with pytest.raises(Conflict):
        reviews.release(claimed, grader, version=version)


def test_a_released_review_takes_no_save_and_goes_back_nowhere(claimed, grader):
    version = save(claimed, grader)
    reviews.release(claimed, grader, version=version)
    with pytest.raises(Conflict):
        save(claimed, grader, version=version, points=[0] * 5)
    with pytest.raises(Conflict):
        reviews.hand_back(claimed, grader, draft([0] * 5, ""), version=version)
    claimed.refresh_from_db()
    assert claimed.points == by_key(FULL)


# -------------------------------------------------------------------------------------- who sees it


def test_the_queue_is_oldest_first_and_without_ones_own_attempts(grader):
    now = timezone.now()
    young = ReviewFactory(created_at=now - timedelta(hours=1))
    old = ReviewFactory(created_at=now - timedelta(days=2))
    ReviewFactory(attempt=AttemptFactory(learner=grader))
    assert list(reviews.waiting(grader)) == [old, young]


def test_a_lab_that_is_gone_takes_its_reviews_out_of_the_queue(grader):
    ReviewFactory(attempt=AttemptFactory(lab_slug="long-gone"))
    assert not reviews.waiting(grader)


def test_the_learner_sees_nothing_of_a_draft(claimed, grader):
    save(claimed, grader, comment="Not yet yours to read.")
    claimed.refresh_from_db()
    assert outcomes.shown_to_learner(claimed.attempt) is None


def test_the_learner_sees_points_total_and_comment_after_the_release(claimed, grader):
    version = save(claimed, grader, points=[2, 1, 0, 2, 1], comment="Name the window.")
    reviews.release(claimed, grader, version=version)
    claimed.refresh_from_db()
    shown = outcomes.shown_to_learner(claimed.attempt)
    assert (shown.total, shown.of, shown.comment) == (6, 9, "Name the window.")
    assert [(item.points, item.of) for item in shown.items] == [
        (2, 2),
        (1, 2),
        (0, 2),
        (2, 2),
        (1, 1),
    ]
    assert shown.released_at == claimed.released_at


def test_a_new_review_has_every_item_open(review):
    assert points_of(review) == by_key([None] * 5)

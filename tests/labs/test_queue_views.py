"""The pages of the queue: Next, its order, skip and free."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from courseware.models import User
from labs import review_queue, reviews
from labs.models import Review, ReviewReturn
from tests.factories import ReviewFactory, UserFactory, by_key, draft

pytestmark = pytest.mark.django_db

QUEUE, NEXT, ORDER = "/labs/reviews/", "/labs/reviews/next/", "/labs/reviews/order/"
TYPED = "Typed with care, and worth keeping."


@pytest.fixture
def review() -> Review:
    return ReviewFactory(created_at=timezone.now() - timedelta(hours=2))


@pytest.fixture
def desk(review) -> str:
    return reverse("labs:review", args=[review.public_id])


@pytest.fixture
def claimed(review, grader) -> Review:
    reviews.claim(review, grader)
    return review


@pytest.fixture
def other() -> User:
    return UserFactory(role=User.Role.GRADER, name="Goran Petrov")


def sent(*, comment=TYPED, version=0, do="save"):
    given = {f"points_{key}": "" for key in by_key([None] * 5)} | {"edition": 0}
    return {**given, "comment": comment, "version": version, "do": do}


def page_of(response) -> str:
    return response.content.decode()


# -------------------------------------------------------------------------------------------- next


def test_next_opens_the_desk_of_what_it_claimed(grader_client, grader, review, desk):
    assert grader_client.post(NEXT).headers["Location"] == desk
    review.refresh_from_db()
    assert review.claimed_by == grader


@pytest.mark.parametrize(
    "asked_from", ["", "yesterday", "2026-13-45T00:00:00Z", "2026-01-01T00:00"]
)
def test_a_moment_that_cannot_be_read_is_no_hindrance(grader_client, review, desk, asked_from):
    assert grader_client.post(NEXT, {"asked_from": asked_from}).headers["Location"] == desk


def test_next_pressed_twice_on_one_page_opens_one_desk(grader_client, review, desk):
    ReviewFactory()
    page = page_of(grader_client.get(QUEUE))
    moment = page.split('name="asked_from" value="')[1].split('"')[0].replace("&#x2B;", "+")
    for _ in range(2):
        assert grader_client.post(NEXT, {"asked_from": moment}).headers["Location"] == desk


def test_next_says_why_there_is_none(grader_client):
    assert "Nothing is free for you now" in page_of(grader_client.post(NEXT, follow=True))


def test_next_says_when_one_holds_enough(grader_client, grader):
    for review in ReviewFactory.create_batch(4)[:3]:
        reviews.claim(review, grader)
    assert "You hold 3 already." in page_of(grader_client.post(NEXT, follow=True))


def test_next_from_the_desk_saves_first(grader_client, claimed, desk):
    following = ReviewFactory()
    response = grader_client.post(desk, sent(do="next"))
    assert str(following.public_id) in response.headers["Location"]
    claimed.refresh_from_db()
    assert claimed.comment == TYPED


def test_a_release_can_lead_to_the_next(grader_client, claimed, grader, desk):
    following = ReviewFactory()
    reviews.save(claimed, grader, draft([2, 2, 2, 2, 1], ""), version=0)
    response = grader_client.post(desk + "release/", {"version": "1", "then": "next"})
    assert str(following.public_id) in response.headers["Location"]


def test_the_order_is_chosen_on_the_queues_page(grader_client, grader, review):
    assert "claims the oldest that is free" in page_of(grader_client.get(QUEUE))
    for order in ("shuffled", "alphabetical"):
        grader_client.post(ORDER, {"order": order})
        assert review_queue.settings_of(grader).order == "shuffled"
    assert "your own shuffled order" in page_of(grader_client.get(QUEUE))


# --------------------------------------------------------------------------------------- heartbeat


def test_a_desk_at_work_keeps_its_claim(grader_client, claimed, desk):
    Review.objects.update(lease_until=timezone.now() + timedelta(minutes=1))
    page = page_of(grader_client.post(desk + "keep/"))
    assert "Yours for <output>30 min</output>" in page
    assert 'hx-trigger="beat"' in page
    claimed.refresh_from_db()
    assert claimed.lease_until > timezone.now() + timedelta(minutes=29)


def test_a_desk_that_has_lost_its_claim_says_so_and_beats_no_more(
    grader_client, claimed, desk, other
):
    Review.objects.update(claimed_by=other)
    page = page_of(grader_client.post(desk + "keep/"))
    assert "Goran Petrov has it" in page
    assert "What you typed is still on this page" in page
    assert "hx-post" not in page
    claimed.refresh_from_db()
    assert claimed.claimed_by == other


# -------------------------------------------------------------------------------------------- skip


def test_a_skip_saves_asks_why_and_goes_back_to_the_queue(grader_client, claimed, desk):
    asked = grader_client.post(desk, sent(do="skip"))
    assert asked.headers["Location"] == desk + "skip/"
    assert "Skip attempt" in page_of(grader_client.get(desk + "skip/"))
    done = grader_client.post(desk + "skip/", {"reason": "I know who wrote this."}, follow=True)
    assert "Next gives it to others, not to you." in page_of(done)
    claimed.refresh_from_db()
    assert (claimed.claimed_by, claimed.comment) == (None, TYPED)


def test_a_skip_of_an_untouched_review_leaves_no_draft(grader_client, claimed, desk):
    grader_client.post(desk, sent(comment="", do="skip"))
    grader_client.post(desk + "skip/", {"reason": "I know who wrote this."})
    claimed.refresh_from_db()
    assert claimed.version == 0
    assert "with a draft" not in page_of(grader_client.get(QUEUE))


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [("", "Say why, in a few words."), ("x" * 301, "300 characters at most; this has 301.")],
)
def test_a_skip_needs_a_reason_of_a_fitting_length(grader_client, claimed, desk, reason, sentence):
    response = grader_client.post(desk + "skip/", {"reason": reason})
    assert response.status_code == 422
    assert sentence in page_of(response)
    assert reason in page_of(response)
    assert not ReviewReturn.objects.exists()


def test_a_skip_that_comes_too_late_says_who_has_it(grader_client, claimed, desk, other):
    Review.objects.update(claimed_by=other)
    assert grader_client.get(desk + "skip/").headers["Location"] == desk
    response = grader_client.post(desk + "skip/", {"reason": "Late."})
    assert response.status_code == 409
    assert "Not skipped: it is not yours any more." in page_of(response)


def test_only_instructors_are_told_of_skips(grader_client, instructor_client, claimed, grader):
    review_queue.skip(claimed, grader, reason="I know who wrote this.")
    assert "skipped 1 time" in page_of(instructor_client.get(QUEUE))
    assert "skipped" not in page_of(grader_client.get(QUEUE))


# -------------------------------------------------------------------------------------------- free


def test_an_instructor_frees_a_review_and_the_holders_text_is_not_lost(
    grader_client, instructor_client, instructor, claimed, desk, grader
):
    assert "Free…" in page_of(instructor_client.get(QUEUE))
    assert f'value="{grader.pk}"' in page_of(instructor_client.get(desk + "free/"))
    said = {"holder": grader.pk, "reason": "Back from leave on Monday."}
    done = instructor_client.post(desk + "free/", said, follow=True)
    assert "is free again" in page_of(done)
    late = grader_client.post(desk, sent())
    assert late.status_code == 409
    assert f"{instructor} freed it at" in page_of(late)
    assert "“Back from leave on Monday.”" in page_of(late)
    assert TYPED in page_of(late)
    assert grader_client.post(desk, sent(do="claim")).status_code == 302
    claimed.refresh_from_db()
    assert claimed.comment == TYPED


def test_graders_free_nothing_of_each_others(grader_client, review, desk, other):
    reviews.claim(review, other)
    assert "Free…" not in page_of(grader_client.get(QUEUE))
    assert (
        grader_client.post(desk + "free/", {"holder": other.pk, "reason": "Mine."}).status_code
        == 403
    )


def test_a_review_that_has_changed_hands_is_not_freed(
    instructor_client, claimed, desk, other, grader
):
    Review.objects.update(claimed_by=other)
    response = instructor_client.post(desk + "free/", {"holder": grader.pk, "reason": "On leave."})
    assert response.status_code == 409
    claimed.refresh_from_db()
    assert claimed.claimed_by == other


def test_a_review_is_not_freed_without_a_reason(instructor_client, claimed, desk, grader):
    response = instructor_client.post(desk + "free/", {"holder": grader.pk, "reason": " "})
    assert response.status_code == 422
    claimed.refresh_from_db()
    assert claimed.claimed_by == grader


@pytest.mark.parametrize("holder", ["", "x", "-1", "99999999999999999999999999"])
def test_a_page_that_does_not_say_from_whom_frees_nothing(
    instructor_client, claimed, desk, grader, holder
):
    response = instructor_client.post(desk + "free/", {"holder": holder, "reason": "On leave."})
    assert response.status_code == 422
    assert "This page does not say who holds it." in page_of(response)
    assert "On leave." in page_of(response)
    claimed.refresh_from_db()
    assert claimed.claimed_by == grader


@pytest.mark.parametrize("where", ["skip/", "free/"])
def test_a_null_byte_in_a_reason_is_refused(grader_client, instructor_client, claimed, desk, where):
    client = grader_client if where == "skip/" else instructor_client
    said = {"holder": claimed.claimed_by_id or 0, "reason": "a\x00b"}
    assert client.post(desk + where, said).status_code == 422


def test_what_nobody_holds_has_no_page_to_free_it(instructor_client, review, desk):
    assert instructor_client.get(desk + "free/").headers["Location"] == QUEUE

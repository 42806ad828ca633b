"""The pages of the grader's desk: who gets in, what each button does, and that nothing typed is lost."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from courseware.models import User
from labs import reviews
from labs.models import Review
from tests.factories import ActionFactory, AttemptFactory, ReviewFactory, UserFactory, by_key, draft

pytestmark = pytest.mark.django_db

QUEUE = "/labs/reviews/"
FULL = ["2", "2", "2", "2", "1"]
TYPED = "Typed with care, and worth keeping."


@pytest.fixture
def review() -> Review:
    attempt = AttemptFactory(learner__name="Maya Lindqvist", learner__email="maya@example.org")
    reading = {"kind": "reading", "number": 1, "instrument": "offered_load"}
    reading |= {"text": "tokens wanted 126,833", "signals": {"offered_load_12m": 1.1414}}
    ActionFactory(
        attempt=attempt,
        payload={"line": "request-log --last 12m --summary"},
        outcome=reading,
        at_s=45,
        cost_s=45,
    )
    citation = {"reading": 1, "signal": "offered_load_12m", "role": "rules_out", "rival": "leak"}
    diagnosis = {"scope": "fault", "slos": ["ttft"], "layer": "memory", "components": ["kv_pool"]}
    diagnosis |= {"mechanism": "demand_exceeds_pool", "parameter": 1.1414, "confidence": 80}
    ActionFactory(
        attempt=attempt, kind="diagnose", payload={**diagnosis, "citations": [citation]}, at_s=45
    )
    change = {"kind": "change", "number": 2, "text": "Restarted with --kv-cache-dtype fp8"}
    ActionFactory(
        attempt=attempt,
        payload={"line": "restart --kv-cache-dtype fp8"},
        outcome=change,
        at_s=125,
        cost_s=80,
    )
    ActionFactory(
        attempt=attempt, kind="explain", payload={"text": "The pool <was> too small."}, at_s=125
    )
    return ReviewFactory(attempt=attempt)


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


@pytest.fixture
def other_client(other) -> Client:
    client = Client()
    client.force_login(other, backend="django.contrib.auth.backends.ModelBackend")
    return client


def sent(points=FULL, comment=TYPED, *, version=0, do="save"):
    given = {f"points_{key}": each for key, each in by_key(points).items()}
    return {**given, "comment": comment, "version": version, "edition": 0, "do": do}


def take(review: Review, by: User) -> None:
    Review.objects.filter(pk=review.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    reviews.claim(review, by)


# ------------------------------------------------------------------------------------------- roles


@pytest.mark.parametrize("name", ["review-queue", "review", "review-release", "review-claim"])
def test_only_graders_and_instructors_get_in(
    client, learner_client, instructor_client, review, name
):
    args = [] if name == "review-queue" else [review.public_id]
    address = reverse(f"labs:{name}", args=args)
    method = "post" if name == "review-claim" else "get"
    visited = getattr(client, method)(address)
    assert visited.status_code == 302
    assert "/account/login/" in visited.headers["Location"]
    assert getattr(learner_client, method)(address).status_code == 403
    assert getattr(instructor_client, method)(address).status_code in {200, 302}


def test_a_graders_own_attempt_is_not_in_the_queue_and_not_at_its_address(grader_client, grader):
    own = ReviewFactory(attempt=AttemptFactory(learner=grader))
    assert "Nothing waits" in grader_client.get(QUEUE).content.decode()
    address = reverse("labs:review", args=[own.public_id])
    assert grader_client.get(address).status_code == 404
    assert grader_client.post(address, sent(do="claim")).status_code == 404
    for name in ("review-claim", "review-release"):
        address = reverse(f"labs:{name}", args=[own.public_id])
        assert grader_client.post(address).status_code == 404
    own.refresh_from_db()
    assert own.claimed_by is None


def test_a_claim_needs_a_post(grader_client, review):
    assert (
        grader_client.get(reverse("labs:review-claim", args=[review.public_id])).status_code == 405
    )


def test_no_page_says_whose_attempt_it_is(grader_client, claimed, desk):
    grader_client.post(desk, sent())
    for address in (QUEUE, desk, desk + "release/"):
        page = grader_client.get(address).content.decode()
        assert "Maya" not in page
        assert "maya@" not in page
        assert f"ttempt {claimed.attempt.public_id.hex[:4]}" in page


# ------------------------------------------------------------------------------------------- queue


def test_an_empty_queue_says_what_will_be_there(grader_client):
    page = grader_client.get(QUEUE).content.decode()
    assert "Nothing waits" in page
    assert "the explanation stands here" in page


def test_the_queue_says_who_has_what(grader_client, grader, other):
    now = timezone.now()
    ReviewFactory(created_at=now - timedelta(days=2, hours=4))
    ReviewFactory(claimed_by=grader, lease_until=now + timedelta(minutes=20))
    ReviewFactory(claimed_by=other, lease_until=now + timedelta(minutes=20))
    page = grader_client.get(QUEUE).content.decode()
    assert "waits 2 d 4 h" in page
    assert "yours for 20 min" in page
    assert "Goran Petrov has it until" in page
    assert page.count(">Claim<") == 1


def test_what_was_released_today_stands_below(grader_client, grader):
    now = timezone.now()
    ReviewFactory(points=by_key([2, 1, 2, 2, 0]), claimed_by=grader, released_at=now)
    ReviewFactory(
        points=by_key([2, 2, 2, 2, 1]),
        claimed_by=grader,
        released_at=now - timedelta(days=1, seconds=1),
    )
    page = grader_client.get(QUEUE).content.decode()
    assert "<b>7</b> of 9" in page
    assert "<b>9</b> of 9" not in page
    assert "by you" in page


def test_the_queue_takes_as_many_queries_for_twenty_as_for_two(
    grader_client, django_assert_max_num_queries
):
    ReviewFactory.create_batch(20)
    with django_assert_max_num_queries(14):
        grader_client.get(QUEUE)


def test_whoever_claims_second_is_told_and_gets_the_queue(grader_client, review, other):
    reviews.claim(review, other)
    response = grader_client.post(reverse("labs:review-claim", args=[review.public_id]))
    assert response.status_code == 409
    assert "Goran Petrov took attempt" in response.content.decode()


def test_a_claim_opens_the_desk_and_a_second_post_of_it_is_harmless(grader_client, review, desk):
    for _ in range(2):
        response = grader_client.post(reverse("labs:review-claim", args=[review.public_id]))
        assert response.headers["Location"] == desk


# -------------------------------------------------------------------------------------------- desk


def test_the_desk_shows_the_explanation_the_diagnosis_and_the_moments(grader_client, review, desk):
    page = grader_client.get(desk).content.decode()
    assert "The pool &lt;was&gt; too small." in page
    assert "The tokens that requests want exceed the tokens that the pool holds" in page
    assert "Tokens wanted over tokens held, 12 min <b>1.14</b>" in page
    assert "rules out: Finished requests do not give their blocks back" in page
    assert "Restarted with --kv-cache-dtype fp8" in page
    assert 'id="moment-1"' in page


def test_the_desk_shows_the_machines_marks(grader_client, review, desk):
    reason = "You named router; the fault is in kv_pool."
    part = {"name": "localisation", "earned": 5, "weight": 20, "reason": reason}
    mark = {"total": 92.9, "passed": True, "parts": [part], "debrief": {"hypothesis": "demand"}}
    type(review.attempt).objects.update(mark=mark)
    page = grader_client.get(desk).content.decode()
    assert "92.9 of 100, passed" in page
    assert "You named “Router”; the fault is in “KV block pool”." in page
    assert "kv_pool" not in page
    assert "Requests want more KV than the pool holds" in page


def test_an_attempt_with_an_empty_log_still_has_a_desk(grader_client):
    bare = ReviewFactory()
    page = grader_client.get(reverse("labs:review", args=[bare.public_id])).content.decode()
    assert "No text was written." in page
    assert "No diagnosis was given." in page


def test_without_a_claim_there_is_no_form_and_no_draft_to_see(grader_client, review, desk, other):
    reviews.claim(review, other)
    reviews.save(review, other, draft([2, None, None, None, None], "Theirs."), version=0)
    page = grader_client.get(desk).content.decode()
    assert "Save draft" not in page
    assert "Theirs." not in page
    assert "Goran Petrov has it" in page


def test_a_save_goes_back_to_the_desk_with_the_draft_in_the_form(grader_client, claimed, desk):
    response = grader_client.post(desk, sent(["2", "", "0", "1", ""]), follow=True)
    page = response.content.decode()
    assert response.redirect_chain == [(desk + "#rubric", 302)]
    assert "Saved. Yours for another 30 minutes." in page
    assert TYPED in page
    assert "<output data-sum>3</output> of 9" in page
    claimed.refresh_from_db()
    assert claimed.points == by_key([2, None, 0, 1, None])


def test_a_save_sent_twice_is_harmless(grader_client, claimed, desk):
    for _ in range(2):
        assert grader_client.post(desk, sent()).status_code == 302
    claimed.refresh_from_db()
    assert claimed.version == 1


@pytest.mark.parametrize("wrong", ["3", "-1", "1.5", "two", "²"])
def test_points_out_of_bounds_are_refused_and_nothing_is_lost(grader_client, claimed, desk, wrong):
    response = grader_client.post(desk, sent([wrong, "2", "", "1", "1"]))
    page = response.content.decode()
    assert response.status_code == 422
    assert "Give 0, 1 or 2 points, or leave it open." in page
    assert TYPED in page
    assert "<output data-sum>4</output>" in page
    claimed.refresh_from_db()
    assert (claimed.points, claimed.version) == ({}, 0)


def test_an_item_of_one_point_takes_no_two(grader_client, claimed, desk):
    response = grader_client.post(desk, sent(["2", "2", "2", "2", "2"]))
    assert response.status_code == 422
    assert "Give 0 or 1 points, or leave it open." in response.content.decode()


def test_a_comment_too_long_comes_back_whole(grader_client, claimed, desk):
    response = grader_client.post(desk, sent(comment="x" * 4001))
    page = response.content.decode()
    assert response.status_code == 422
    assert "this has 4001" in page
    assert "x" * 4001 in page


def test_the_ends_of_lines_count_as_one_character(grader_client, claimed, desk):
    assert grader_client.post(desk, sent(comment="a\r\n" * 1999 + "bc")).status_code == 302
    claimed.refresh_from_db()
    assert claimed.comment == "a\n" * 1999 + "bc"


def test_a_comment_is_plain_text(grader_client, claimed, desk):
    page = grader_client.post(
        desk, sent(comment="</textarea><b>x</b>"), follow=True
    ).content.decode()
    assert "</textarea><b>" not in page
    assert "&lt;/textarea&gt;&lt;b&gt;x" in page


def test_keeping_extends_the_claim_even_if_something_else_is_wrong(grader_client, claimed, desk):
    Review.objects.update(lease_until=timezone.now() + timedelta(minutes=1))
    assert grader_client.post(desk, sent(["9", *FULL[1:]], do="extend")).status_code == 422
    claimed.refresh_from_db()
    assert claimed.lease_until > timezone.now() + timedelta(minutes=29)


def test_handing_back_keeps_the_draft_for_the_next_reader(
    grader_client, claimed, desk, other, other_client
):
    for _ in range(2):
        response = grader_client.post(desk, sent(do="hand-back"))
        assert response.headers["Location"] == QUEUE
    reviews.claim(claimed, other)
    assert TYPED in other_client.get(desk).content.decode()


# --------------------------------------------------------------------------------------- conflicts


def test_a_late_save_is_refused_with_who_took_it_and_the_text_still_there(
    grader_client, claimed, desk, other
):
    take(claimed, other)
    response = grader_client.post(desk, sent())
    page = response.content.decode()
    assert response.status_code == 409
    assert "Not saved: Goran Petrov took it." in page
    assert "and have it until" in page
    assert TYPED in page
    assert "<output data-sum>9</output>" in page
    assert 'value="claim"' in page


def test_what_was_typed_too_late_can_be_saved_once_the_review_is_free(
    grader_client, claimed, desk, other
):
    take(claimed, other)
    assert grader_client.post(desk, sent(do="claim")).status_code == 409
    Review.objects.update(claimed_by=None, lease_until=None)
    assert grader_client.post(desk, sent(do="claim")).status_code == 302
    claimed.refresh_from_db()
    assert claimed.comment == TYPED


def test_text_typed_too_late_does_not_replace_a_draft_that_was_never_shown(
    grader_client, claimed, desk, other
):
    take(claimed, other)
    reviews.hand_back(claimed, other, draft([0] * 5, "Theirs."), version=0)
    first = grader_client.post(desk, sent())
    assert first.status_code == 409
    assert 'name="version" value="0"' in first.content.decode()
    second = grader_client.post(desk, sent(do="claim"))
    page = second.content.decode()
    assert second.status_code == 409
    assert "Theirs." in page
    assert TYPED in page
    assert 'name="version" value="1"' in page
    assert grader_client.post(desk, sent(version=1)).status_code == 302


def test_a_save_from_an_older_page_shows_both_texts(grader_client, claimed, desk):
    grader_client.post(desk, sent(comment="From one tab."))
    response = grader_client.post(desk, sent(["1", "1", "1", "1", "1"]))
    page = response.content.decode()
    assert response.status_code == 409
    assert "another page saved this draft" in page
    assert "From one tab." in page
    assert TYPED in page
    assert 'name="version" value="1"' in page


def test_a_mistake_on_an_older_page_does_not_make_it_a_newer_one(grader_client, claimed, desk):
    grader_client.post(desk, sent(comment="From one tab."))
    response = grader_client.post(desk, sent(["9", *FULL[1:]]))
    assert response.status_code == 422
    assert 'name="version" value="0"' in response.content.decode()


@pytest.mark.parametrize("number", ["", "x", "-1", "9" * 30, "9" * 5000])
@pytest.mark.parametrize("counted", ["version", "edition"])
def test_a_page_without_its_version_or_its_edition_is_refused(
    grader_client, claimed, desk, counted, number
):
    response = grader_client.post(desk, {**sent(), counted: number})
    assert response.status_code == 422
    assert "This page does not say which" in response.content.decode()
    assert TYPED in response.content.decode()


# ----------------------------------------------------------------------------------------- release


def test_a_release_with_an_open_item_saves_the_draft_and_points_at_the_item(
    grader_client, claimed, desk
):
    response = grader_client.post(desk, sent(["2", "2", "", "2", "1"], do="release"))
    page = response.content.decode()
    assert response.status_code == 422
    assert "Saved, not released." in page
    assert page.count("Decide this one before you release.") == 1
    assert 'name="version" value="1"' in page
    claimed.refresh_from_db()
    assert claimed.comment == TYPED
    assert claimed.released_at is None


def test_a_release_asks_once_more_and_then_is_done(grader_client, claimed, desk):
    response = grader_client.post(desk, sent(do="release"))
    asking = desk + "release/"
    assert response.headers["Location"] == asking
    page = grader_client.get(asking).content.decode()
    assert "Its learner sees this at once" in page
    claimed.refresh_from_db()
    assert claimed.released_at is None
    for _ in range(2):
        assert grader_client.post(asking, {"version": "1"}).headers["Location"] == QUEUE
    claimed.refresh_from_db()
    assert claimed.released_at is not None


@pytest.mark.parametrize("version", ["0", "", "x", "9" * 30, "9" * 5000])
def test_only_what_was_confirmed_is_released(grader_client, claimed, desk, version):
    grader_client.post(desk, sent())
    response = grader_client.post(desk + "release/", {"version": version})
    assert response.status_code == 409
    assert "Not released." in response.content.decode()
    claimed.refresh_from_db()
    assert claimed.released_at is None


def test_there_is_no_release_page_for_what_is_not_ones_own_or_not_decided(
    grader_client, claimed, desk, other_client
):
    assert grader_client.get(desk + "release/").headers["Location"] == desk
    assert other_client.get(desk + "release/").headers["Location"] == desk


def test_what_another_took_after_the_confirmation_is_not_released(
    grader_client, claimed, desk, other
):
    grader_client.post(desk, sent())
    take(claimed, other)
    response = grader_client.post(desk + "release/", {"version": "1"})
    assert response.status_code == 409
    assert "Goran Petrov took it" in response.content.decode()


def test_after_the_release_the_desk_only_shows(grader_client, claimed, desk, other_client):
    grader_client.post(desk, sent())
    grader_client.post(desk + "release/", {"version": "1"})
    for client in (grader_client, other_client):
        page = client.get(desk).content.decode()
        assert TYPED in page
        assert "Save draft" not in page
    late = grader_client.post(desk, sent(["0"] * 5, version=1))
    assert late.status_code == 409
    assert "A released review does not change." in late.content.decode()
    claimed.refresh_from_db()
    assert claimed.points == by_key([2, 2, 2, 2, 1])


def test_the_address_of_an_attempt_leads_to_its_first_reading(grader_client, review):
    second = ReviewFactory(attempt=review.attempt, reading=2)
    page = grader_client.get(reverse("labs:review", args=[review.attempt.public_id]))
    assert page.context["review"] == review
    page = grader_client.get(reverse("labs:review", args=[second.public_id]))
    assert page.context["review"] == second

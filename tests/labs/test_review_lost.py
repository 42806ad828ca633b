"""A review that is nothing to its reader any more while they type: one sentence says so, and what was typed comes back."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from courseware.models import Membership, User, Version
from courseware.served import CHECKOUT
from courseware.studio import serving, store
from courseware.studio.pieces import files_at
from labs import outcomes, reading_rules, regrades, review_queue, reviews, training
from labs.catalogue import labs
from labs.models import Attempt, Review
from labs.review_points import items_of
from tests.factories import (
    AttemptFactory,
    MembershipFactory,
    ReviewFactory,
    UserFactory,
    by_key,
    draft,
)

pytestmark = pytest.mark.django_db

FULL = ["2", "2", "2", "2", "1"]
TYPED = "Typed with care, and <worth> keeping."
KEPT = "and &lt;worth&gt; keeping.</textarea>"
SLUG = "preemption-storm"


def desk_of(review: Review) -> str:
    return reverse("labs:review", args=[review.public_id])


def sent(do: str = "save") -> dict[str, object]:
    given = {f"points_{key}": each for key, each in by_key(FULL).items()}
    return {**given, "comment": TYPED, "version": 0, "edition": 0, "do": do}


@pytest.fixture
def claimed(grader) -> Review:
    review = ReviewFactory(attempt__lab_slug=SLUG, attempt__lab_version=1)
    reviews.claim(review, grader)
    return review


def is_told(client: Client, review: Review, *, status: int, sentence: str) -> None:
    """Send every button of the desk: each answer has the sentence and what was typed, and stores nothing."""
    for do in ("save", "extend", "next", "release", "skip", "hand-back", "claim"):
        answer = client.post(desk_of(review), sent(do))
        page = answer.content.decode()
        assert answer.status_code == status
        assert sentence in page
        assert KEPT in page
    assert not Review.objects.filter(pk=review.pk).exclude(comment="").exists()


# ------------------------------------------------------------------------------------ who may read it


def test_a_grader_who_is_one_no_more_gets_back_what_they_typed(grader_client, grader, claimed):
    User.objects.filter(pk=grader.pk).update(role=User.Role.LEARNER)
    is_told(grader_client, claimed, status=403, sentence="Your role does not open this page")


@pytest.mark.parametrize("gone", ["archived", "removed", "left"])
def test_a_cohort_that_ends_while_its_grader_types_loses_nothing(client, gone):
    seat = MembershipFactory(role=Membership.Role.GRADER)
    learner = MembershipFactory(cohort=seat.cohort)
    review = ReviewFactory(attempt=AttemptFactory(learner=learner.person))
    reviews.claim(review, seat.person)
    client.force_login(seat.person, backend="django.contrib.auth.backends.ModelBackend")
    if gone == "archived":
        seat.cohort.archived_at = timezone.now()
        seat.cohort.save()
    elif gone == "removed":
        seat.delete()
    else:
        MembershipFactory(person=seat.person, role=Membership.Role.GRADER)
        learner.delete()
    told = ("Your role does not open this page", 403)
    if gone == "left":
        told = ("is not there for you any more", 404)
    is_told(client, review, status=told[1], sentence=told[0])


def test_a_session_that_ends_while_its_grader_types_loses_nothing(client, claimed):
    is_told(client, claimed, status=403, sentence="You are signed out")


# -------------------------------------------------------------------------------- what became of it


@pytest.fixture
def second(instructor) -> Review:
    """A second reading, held by somebody whose half hour is over."""
    reading_rules.change("", {"second_percent": 100}, by=instructor, version=0)
    one, two = (UserFactory(role=User.Role.GRADER) for _ in range(2))
    first = ReviewFactory(attempt__lab_slug=SLUG)
    reviews.claim(first, one)
    version = reviews.save(first, one, draft([2, 1, 0, 2, 1]), version=0)
    reviews.release(first, one, version=version)
    review = Review.objects.get(attempt=first.attempt, reading=2)
    reviews.claim(review, two)
    Review.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    review.refresh_from_db()
    return review


def test_a_reading_that_was_settled_without_gives_back_what_was_typed(client, second, instructor):
    reader = second.claimed_by
    outcomes.settle_without(second.attempt, by=instructor, reason="Nobody is left.")
    client.force_login(reader, backend="django.contrib.auth.backends.ModelBackend")
    is_told(client, second, status=404, sentence="is not there for you any more")


@pytest.mark.parametrize("do", ["save", "extend", "hand-back"])
def test_a_reading_settled_in_the_very_instant_of_a_save_does_too(
    client, second, instructor, monkeypatch, do
):
    """It was there when the view looked, and is gone when the guarded UPDATE runs."""
    reader, looked = second.claimed_by, reviews.held_by

    def settled_meanwhile(grader: User, review: Review):
        if Review.objects.filter(pk=review.pk).exists():
            outcomes.settle_without(review.attempt, by=instructor, reason="Nobody is left.")
        return looked(grader, review)

    monkeypatch.setattr(reviews, "held_by", settled_meanwhile)
    client.force_login(reader, backend="django.contrib.auth.backends.ModelBackend")
    answer = client.post(desk_of(second), sent(do))
    assert answer.status_code == 404
    assert KEPT in answer.content.decode()


@pytest.fixture
def published(settings, tmp_path) -> None:
    """A course of one lab, in its first version."""
    settings.RUN_DIR = tmp_path
    publish(files_at(CHECKOUT.labs / SLUG), base=0)


def publish(files: dict[str, bytes], *, base: int) -> None:
    path = f"labs/{SLUG}"
    store.add({path: files}, seen=base, bases={path: base}, origin=Version.Origin.STUDIO)
    serving.refresh()


@pytest.mark.usefixtures("published")
def test_a_lab_that_is_withdrawn_while_its_grader_types_loses_nothing(grader_client, claimed):
    typed = sent()
    publish({}, base=1)
    answer = grader_client.post(desk_of(claimed), typed)
    assert answer.status_code == 404
    assert "is not there for you any more" in answer.content.decode()
    assert KEPT in answer.content.decode()
    assert grader_client.get("/labs/reviews/").status_code == 200


@pytest.mark.usefixtures("published")
def test_a_lab_that_is_published_anew_while_its_grader_types_takes_the_save(grader_client, claimed):
    files = files_at(CHECKOUT.labs / SLUG)
    title = f'title = "{claimed.attempt.spec.title}"'.encode()
    publish(
        {**files, "lab.toml": files["lab.toml"].replace(title, b'title = "Another title"')}, base=1
    )
    assert labs()[SLUG].title == "Another title"
    answer = grader_client.post(desk_of(claimed), sent(), follow=True)
    assert answer.status_code == 200
    assert Review.objects.get(pk=claimed.pk).comment == TYPED
    assert "Another title" not in answer.content.decode()


# ------------------------------------------------- a version that this release cannot read any more


@pytest.fixture
def unreadable(published) -> Review:
    """A review of an attempt at a version of its lab that is not there; the lab is."""
    return ReviewFactory(attempt__lab_slug=SLUG, attempt__lab_version=9)


def test_an_attempt_whose_version_cannot_be_read_holds_up_nothing_else(
    grader_client, grader, unreadable
):
    other = ReviewFactory(attempt__lab_slug=SLUG, attempt__lab_version=1)
    page = grader_client.get("/labs/reviews/").content.decode()
    assert desk_of(other) in page
    assert desk_of(unreadable) not in page
    assert review_queue.take_next(grader) == other
    assert review_queue.take_next(grader) is None
    assert grader_client.get(desk_of(unreadable)).status_code == 404
    assert grader_client.get(desk_of(other)).status_code == 200


@pytest.mark.usefixtures("published")
def test_requests_and_training_leave_it_out_too(grader_client, grader, instructor):
    attempts = [
        ReviewFactory(attempt__lab_slug=SLUG, attempt__lab_version=1).attempt for _ in range(2)
    ]
    reader = UserFactory(role=User.Role.GRADER)
    for each in attempts:
        review = each.reviews.get()
        reviews.claim(review, reader)
        reviews.release(
            review, reader, version=reviews.save(review, reader, draft([0, 0, 0, 0, 0]), version=0)
        )
        key = items_of(each)[0].key
        regrades.ask(each.review_outcome, key, "The first sentence names the window.")
        training.add(each, dict(each.review_outcome.points), "Why.", by=instructor)
    lost, kept = attempts
    Attempt.objects.filter(pk=lost.pk).update(lab_version=9)
    page = grader_client.get("/labs/reviews/regrades/").content.decode()
    assert str(kept.regrade_requests.get().public_id) in page
    assert str(lost.regrade_requests.get().public_id) not in page
    run = training.begin(grader, SLUG)
    assert run is not None
    assert run.cases == [kept.training_cases.get().pk]
    assert grader_client.get(f"/labs/reviews/training/{SLUG}/").status_code == 200

"""Who reads for a cohort: its graders and instructors, what its learners wrote and nothing else."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from courseware.models import Membership
from labs import review_queue, reviews
from tests.factories import (
    AttemptFactory,
    CohortFactory,
    MembershipFactory,
    ReviewFactory,
    UserFactory,
)

pytestmark = pytest.mark.django_db

Role = Membership.Role
QUEUE = "labs:review-queue"


@pytest.fixture
def cohort():
    return CohortFactory()


@pytest.fixture
def reader(cohort):
    """A learner of the site who grades in a cohort."""
    return MembershipFactory(cohort=cohort, role=Role.GRADER).person


@pytest.fixture
def reader_client(reader):
    client = Client()
    client.force_login(reader, backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.fixture
def theirs(cohort):
    """A review of what a learner of the cohort wrote."""
    learner = MembershipFactory(cohort=cohort).person
    return ReviewFactory(attempt=AttemptFactory(learner=learner))


@pytest.mark.parametrize("role", [Role.GRADER, Role.INSTRUCTOR])
def test_they_read_their_cohorts_learners_and_nobody_else(cohort, theirs, role):
    reader = MembershipFactory(cohort=cohort, role=role).person
    other = MembershipFactory().person
    ReviewFactory(attempt=AttemptFactory(learner=other))
    ReviewFactory()
    assert list(reviews.waiting(reader)) == [theirs]
    assert review_queue.take_next(reader) == theirs
    assert review_queue.take_next(reader) is None


def test_nobody_reads_their_own_attempt_nor_another_graders(cohort, reader):
    colleague = MembershipFactory(cohort=cohort, role=Role.GRADER).person
    for person in (reader, colleague):
        ReviewFactory(attempt=AttemptFactory(learner=person))
    assert not reviews.waiting(reader)


def test_site_graders_and_instructors_read_everybody(grader, instructor, theirs):
    ReviewFactory()
    assert reviews.waiting(grader).count() == reviews.waiting(instructor).count() == 2


@pytest.mark.parametrize("gone", ["reader left", "learner left", "cohort archived"])
def test_it_ends_with_the_place_or_the_cohort(cohort, reader, theirs, gone):
    now = timezone.now()
    if gone == "cohort archived":
        cohort.archived_at = now
        cohort.save()
    else:
        who = reader if gone == "reader left" else theirs.attempt.learner
        who.memberships.update(removed_at=now)
    assert not reviews.waiting(reader)


def test_review_stands_in_their_top_bar_and_opens(reader_client, theirs, learner_client):
    link = f'href="{reverse(QUEUE)}"'
    page = reader_client.get(reverse(QUEUE))
    assert page.status_code == 200
    assert link in page.content.decode()
    assert reverse("labs:review", args=[theirs.public_id]) in page.content.decode()
    assert link not in learner_client.get(reverse("labs:index")).content.decode()
    assert learner_client.get(reverse(QUEUE)).status_code == 403


def test_what_another_cohort_wrote_is_not_there_for_them(reader_client, theirs):
    elsewhere = ReviewFactory()
    for name in ("review", "review-skip", "review-release", "review-without", "review-story"):
        address = reverse(f"labs:{name}", args=[elsewhere.public_id])
        assert reader_client.get(address).status_code == 404
        assert reader_client.get(
            address.replace(str(elsewhere.public_id), str(theirs.public_id))
        ).status_code in {200, 302}
    for name in ("review-claim", "review-keep"):
        address = reverse(f"labs:{name}", args=[elsewhere.public_id])
        assert reader_client.post(address).status_code == 404


@pytest.mark.parametrize("name", ["review-load", "review-rules"])
def test_what_concerns_the_whole_site_is_not_theirs(reader_client, theirs, name):
    assert reader_client.get(reverse(f"labs:{name}")).status_code == 403
    assert reverse(f"labs:{name}") not in reader_client.get(reverse(QUEUE)).content.decode()


def test_a_learner_who_only_learns_asks_the_database_no_more_than_one_question_for_the_bar(
    learner_client, django_assert_num_queries
):
    learner_client.get("/accessibility/")
    with django_assert_num_queries(3):
        learner_client.get("/accessibility/")


def test_who_was_promised_a_place_by_address_reads_nothing_yet(cohort, theirs):
    person = UserFactory()
    Membership.objects.create(cohort=cohort, email=person.email, role=Role.GRADER)
    assert not reviews.waiting(person)

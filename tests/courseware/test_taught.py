"""Whose work the pages of insight show, and to whom."""

import pytest
from django.utils import timezone

from courseware.models import User
from lessons import progress
from tests.factories import CohortFactory, MembershipFactory, UserFactory
from tests.lessons.conftest import LESSON

pytestmark = pytest.mark.django_db
CHECK = "cold-rollout"
PAGES = (
    "/lessons/insight/",
    f"/lessons/insight/{LESSON.slug}/{CHECK}/",
    "/lessons/insight/sure/",
    "/lessons/insight/keywords/",
    "/labs/insight/",
    "/labs/insight/preemption-storm/",
)
ITEM = PAGES[1]


@pytest.fixture
def cohort():
    return CohortFactory(name="Spring intake")


def answered(person):
    question = LESSON.with_check(CHECK).checks[CHECK]
    progress.answer_check(person, LESSON, question, question.right_answer, number=1)


def text(response):
    return response.content.decode()


def of(cohort):
    return {"cohort": str(cohort.public_id)}


def test_who_teaches_a_cohort_sees_that_cohort_and_no_other(cohort, learner, learner_client):
    other = CohortFactory(name="Somebody else’s")
    MembershipFactory(cohort=cohort, person=learner, role="instructor")
    for address in PAGES:
        page = text(learner_client.get(address))
        assert "Somebody else" not in page
        assert learner_client.get(address, of(other)).status_code == 404
        assert learner_client.get(address, {"cohort": "\x00"}).status_code == 404
    page = text(learner_client.get(PAGES[0]))
    assert "Spring intake" in page
    assert "all learners" not in page
    assert "Reported problems" not in page


@pytest.mark.parametrize("role", ["learner", "grader"])
def test_members_who_do_not_teach_see_none(cohort, learner, learner_client, role):
    MembershipFactory(cohort=cohort, person=learner, role=role)
    for address in PAGES:
        assert learner_client.get(address).status_code == 403
        assert learner_client.get(address, of(cohort)).status_code == 403


def test_who_has_left_sees_none_and_an_archived_cohort_is_looked_at_by_its_address(
    cohort, learner, learner_client
):
    seat = MembershipFactory(cohort=cohort, person=learner, role="instructor")
    assert learner_client.get(PAGES[0]).status_code == 200
    seat.removed_at = timezone.now()
    seat.save()
    assert learner_client.get(PAGES[0]).status_code == 403
    seat.removed_at, cohort.archived_at = None, timezone.now()
    seat.save()
    cohort.save()
    assert learner_client.get(PAGES[0]).status_code == 403
    assert learner_client.get(PAGES[0], of(cohort)).status_code == 200


def test_a_cohorts_numbers_are_those_of_its_learners(cohort, instructor_client):
    for _ in range(10):
        answered(MembershipFactory(cohort=cohort).person)
    for person in UserFactory.create_batch(3):
        answered(person)
    assert "of 13; could be" in text(instructor_client.get(ITEM))
    assert "of 10; could be" in text(instructor_client.get(ITEM, of(cohort)))
    seat = cohort.memberships.first()
    seat.removed_at = timezone.now()
    seat.save()
    assert "Fewer than 10" in text(instructor_client.get(ITEM, of(cohort)))


def test_a_place_makes_a_learner_of_whoever_has_it(cohort, instructor_client):
    for _ in range(9):
        answered(MembershipFactory(cohort=cohort).person)
    teacher = UserFactory(role=User.Role.INSTRUCTOR)
    answered(teacher)
    MembershipFactory(cohort=cohort, person=teacher)
    assert "of 10; could be" in text(instructor_client.get(ITEM, of(cohort)))


def test_links_stay_with_the_cohort(cohort, instructor_client):
    page = text(instructor_client.get(PAGES[0], of(cohort)))
    query = f"?cohort={cohort.public_id}"
    for address in PAGES:
        assert f'href="{address}{query}"' in page or address == PAGES[5]
    assert f"/labs/insight/preemption-storm/{query}" in text(
        instructor_client.get("/labs/insight/", of(cohort))
    )

"""Two who change the same thing: the second is shown what the first wrote, and nothing typed is lost."""

import re

import pytest

from courseware.models import Assignment
from tests.factories import AssignmentFactory, CohortFactory, MembershipFactory, UserFactory

pytestmark = pytest.mark.django_db


def seen(page):
    return re.search(r'name="seen" value="([0-9a-f]+)"', page)[1]


def sent(client, address, **typed):
    """Open a form, let ``meanwhile`` happen, and send it."""
    meanwhile = typed.pop("meanwhile", lambda: None)
    page = client.get(address).content.decode()
    meanwhile()
    return client.post(address, {"seen": seen(page), **typed})


@pytest.fixture
def cohort(instructor):
    return CohortFactory(name="Autumn")


@pytest.fixture
def assignment(cohort):
    return AssignmentFactory(cohort=cohort, most_attempts=2)


def test_an_assignment_that_was_changed_meanwhile_is_shown_and_not_overwritten(
    instructor_client, cohort, assignment
):
    address = f"/cohorts/{cohort.public_id}/assignments/{assignment.pk}/"

    def meanwhile():
        Assignment.objects.update(most_attempts=5)

    answer = sent(instructor_client, address, most_attempts=3, meanwhile=meanwhile)
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "somebody changed this after your page was opened" in page
    assert "attempts at most: 5" in page
    assert 'value="3"' in page
    assert Assignment.objects.get().most_attempts == 5
    again = instructor_client.post(address, {"seen": seen(page), "most_attempts": 3})
    assert again.status_code == 302
    assert Assignment.objects.get().most_attempts == 3


def test_what_nobody_changed_is_saved_at_once(instructor_client, cohort, assignment):
    address = f"/cohorts/{cohort.public_id}/assignments/{assignment.pk}/"
    assert sent(instructor_client, address, most_attempts=3).status_code == 302
    assert Assignment.objects.get().most_attempts == 3


def test_a_cohort_and_a_member_are_guarded_the_same_way(instructor_client, cohort):
    edit = f"/cohorts/{cohort.public_id}/edit/"
    typed = {"name": "Winter", "starts_on": cohort.starts_on, "ends_on": cohort.ends_on}

    def renamed():
        type(cohort).objects.update(name="Spring")

    refused = sent(instructor_client, edit, **typed, meanwhile=renamed)
    assert "name: Spring" in refused.content.decode()
    seat = MembershipFactory(cohort=cohort, person=UserFactory(), role="learner")
    member = f"/cohorts/{cohort.public_id}/members/{seat.pk}/"
    typed = {"name": "Ada", "role": "learner", "labels": "late", "extra_time_percent": 25}

    def labelled():
        type(seat).objects.filter(pk=seat.pk).update(labels=["early"])

    refused = sent(instructor_client, member, **typed, meanwhile=labelled)
    assert "labels: early" in refused.content.decode()
    seat.refresh_from_db()
    assert seat.extra_time_percent == 0

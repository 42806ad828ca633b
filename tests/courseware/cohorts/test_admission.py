"""Who may start what, and when: asked of the rows of running cohorts."""

import threading
from datetime import timedelta

import pytest
from django.db import connections
from django.utils import timezone

from courseware.admission import why_not
from courseware.models import Membership, Override
from courseware.people import may_read
from labs import attempts
from labs.catalogue import labs
from labs.models import Attempt
from tests.factories import AssignmentFactory, AttemptFactory, CohortFactory, MembershipFactory
from tests.on_disk import on_disk

SPEC = labs()["preemption-storm"]
HOUR = timedelta(hours=1)


def refusal(person):
    return why_not(person, "lab", SPEC.slug, lambda: attempts.begun(person, SPEC))


@pytest.fixture
def seat(db):
    return MembershipFactory()


def assigned(seat, **terms):
    return AssignmentFactory(cohort=seat.cohort, **terms)


@pytest.mark.django_db
def test_what_is_not_assigned_is_open_to_everyone(seat, learner):
    assert refusal(seat.person) == refusal(learner) == ""


def test_a_label_and_then_a_person_have_other_terms_than_the_assignment(seat):
    soon = timezone.now() + HOUR
    work = assigned(seat, opens_at=soon)
    assert "not open yet" in refusal(seat.person)
    Membership.objects.filter(pk=seat.pk).update(labels=["pilot"])
    Override.objects.create(cohort=seat.cohort, label="pilot", opens_at=soon - 2 * HOUR)
    assert refusal(seat.person) == ""
    Override.objects.create(cohort=seat.cohort, membership=seat, assignment=work, opens_at=soon)
    assert "not open yet" in refusal(seat.person)


def test_what_was_given_back_is_not_counted_and_what_was_given_up_is(seat):
    assigned(seat, most_attempts=1)
    attempt = AttemptFactory(learner=seat.person, status="not_graded")
    assert refusal(seat.person) == ""
    Attempt.objects.filter(pk=attempt.pk).update(status="given_up")
    assert "one attempt is used up" in refusal(seat.person)


def test_of_two_cohorts_one_that_lets_a_person_start_is_enough(seat):
    assigned(seat, due_at=timezone.now() - HOUR)
    assert "closed" in refusal(seat.person)
    AssignmentFactory(cohort=MembershipFactory(person=seat.person).cohort)
    assert refusal(seat.person) == ""


def test_who_teaches_and_who_was_removed_is_not_held_to_dates(seat, instructor):
    assigned(seat, due_at=timezone.now() - HOUR)
    MembershipFactory(cohort=seat.cohort, person=instructor)
    assert refusal(instructor) == ""
    Membership.objects.filter(pk=seat.pk).update(role="grader")
    assert refusal(seat.person) == ""
    Membership.objects.filter(pk=seat.pk).update(role="learner", removed_at=timezone.now())
    assert refusal(seat.person) == ""


def test_an_attempt_that_is_refused_leaves_nothing_behind(seat):
    assigned(seat, due_at=timezone.now() - HOUR)
    with pytest.raises(attempts.NotNow, match="This lab is closed"):
        attempts.start_attempt(learner=seat.person, spec=SPEC)
    assert not Attempt.objects.exists()


def test_an_open_attempt_goes_on_whatever_the_dates(seat):
    begun = attempts.start_attempt(learner=seat.person, spec=SPEC)
    assigned(seat, due_at=timezone.now() - HOUR, most_attempts=1)
    assert attempts.start_attempt(learner=seat.person, spec=SPEC) == begun


def test_enrolled_is_who_has_a_place_in_a_running_cohort(seat, learner, settings):
    settings.OPEN_ENROLMENT = False
    assert may_read(seat.person, "enrolled")
    assert not may_read(learner, "enrolled")
    # A place that waits for an address is that person's, too.
    waiting = MembershipFactory(cohort=seat.cohort, person=None, email=learner.email)
    assert may_read(learner, "enrolled")
    Membership.objects.filter(pk=waiting.pk).update(removed_at=timezone.now())
    assert not may_read(learner, "enrolled")


def test_a_cohort_that_is_over_or_archived_enrols_nobody(seat, settings):
    settings.OPEN_ENROLMENT = False
    over = CohortFactory(
        starts_on=timezone.localdate() - timedelta(days=9),
        ends_on=timezone.localdate() - timedelta(days=1),
    )
    Membership.objects.filter(pk=seat.pk).update(cohort=over)
    assert not may_read(seat.person, "enrolled")


@pytest.mark.django_db(transaction=True)
def test_starts_at_once_never_exceed_the_attempts_allowed(tmp_path):
    """Each of eight threads starts and gives up as often as it is let: two attempts come of it."""
    seat = MembershipFactory()
    assigned(seat, most_attempts=2)
    gate, begun, told = threading.Barrier(8), set(), []

    def click():
        gate.wait()
        try:
            for _ in range(3):
                attempt = attempts.start_attempt(learner=seat.person, spec=SPEC)
                begun.add(attempt.pk)
                Attempt.objects.filter(pk=attempt.pk).update(status="given_up")
        except attempts.NotNow as refused:
            told.append(str(refused))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=click) for _ in range(8)]
    with on_disk(tmp_path):
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert len(begun) == 2
    assert len(told) == 8

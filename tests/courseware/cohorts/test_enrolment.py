"""How people come into a cohort and leave it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from courseware.cohorts import enrolment
from courseware.cohorts.enrolment import Outcome, Refused
from courseware.cohorts.roster import read
from courseware.models import Cohort, Membership
from courseware.models.cohorts import CODE_CHARACTERS
from tests.factories import CohortFactory, MembershipFactory, UserFactory

pytestmark = pytest.mark.django_db
HEAD = "email,name,role,labels,extra_time\n"


@pytest.fixture
def cohort():
    return CohortFactory()


def rows(*lines):
    return read(HEAD + "\n".join(lines)).rows


def outcomes(plans):
    return [each.outcome for each in plans]


# --------------------------------------------------------------------------------------------- code


def test_a_code_holds_no_characters_that_look_alike(cohort):
    assert len(cohort.join_code) == 8
    assert set(cohort.join_code) <= set(CODE_CHARACTERS)
    assert not set("ILO01") & set(CODE_CHARACTERS)


def test_a_code_is_found_however_it_was_typed(cohort):
    code = cohort.join_code
    assert enrolment.cohort_with(f" {code[:4].lower()}-{code[4:]} ") == cohort


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("ABC", "A code has 8 characters; this has 3."),
        ("ABCDEFGO", "No code holds O: "),
        ("ABCDEFGH", "No cohort has the code"),
    ],
)
def test_a_code_that_is_none_is_told_apart(typed, why):
    with pytest.raises(Refused, match=why):
        enrolment.cohort_with(typed)


def test_joining_twice_is_one_place(cohort, learner):
    assert enrolment.join(cohort, learner) == enrolment.join(cohort, learner)
    assert Membership.objects.count() == 1


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"is_open": False}, "takes nobody in by code"),
        ({"archived_at": timezone.now()}, "is archived"),
        ({"ends_on": timezone.localdate() - timedelta(days=1)}, "ended on"),
    ],
)
def test_a_cohort_that_takes_nobody_in_says_why(cohort, learner, fields, why):
    Cohort.objects.filter(pk=cohort.pk).update(**fields)
    cohort.refresh_from_db()
    with pytest.raises(Refused, match=why):
        enrolment.join(cohort, learner)


def test_who_was_taken_out_cannot_come_back_by_the_code(cohort, learner):
    seat = enrolment.join(cohort, learner)
    assert enrolment.remove(seat)
    assert not enrolment.remove(seat)
    with pytest.raises(Refused, match="Only its instructor can bring you back"):
        enrolment.join(cohort, learner)
    assert enrolment.readmit(seat)
    assert enrolment.join(cohort, learner) == seat


def test_of_two_instructors_who_replace_a_code_one_does(cohort):
    shown = cohort.join_code
    assert enrolment.replace_code(cohort, shown)
    assert not enrolment.replace_code(cohort, shown)
    with pytest.raises(Refused, match="replaced"):
        enrolment.cohort_with(shown)


# ------------------------------------------------------------------------------------------- roster


def test_a_roster_is_shown_first_and_writes_nothing(cohort, learner):
    plans = enrolment.planned(
        cohort, rows(f"{learner.email},Ada,,pilot,25", "new@example.org", "x")
    )
    assert outcomes(plans) == [Outcome.JOINS, Outcome.JOINS, Outcome.REFUSED]
    assert plans[1].told == "as learner, as soon as somebody signs up as new@example.org"
    assert not Membership.objects.exists()


def test_a_roster_twice_is_a_roster_once(cohort, learner):
    lines = rows(f"{learner.email},Ada,,pilot,25", "new@example.org")
    enrolment.enrol(cohort, lines)
    stored = list(Membership.objects.values())
    assert outcomes(enrolment.enrol(cohort, lines)) == [Outcome.STAYS] * 2
    assert list(Membership.objects.values()) == stored


def test_an_empty_field_leaves_what_is_stored_and_a_change_is_told(cohort, learner):
    MembershipFactory(cohort=cohort, person=learner, labels=["pilot"], extra_time_percent=25)
    (plan,) = enrolment.enrol(cohort, rows(f"{learner.email},,,night-shift,"))
    assert (plan.outcome, plan.told) == (Outcome.CHANGES, "labels pilot → night-shift")
    seat = Membership.objects.get()
    assert (seat.labels, seat.extra_time_percent) == (["night-shift"], 25)


def test_a_roster_brings_back_who_was_taken_out(cohort, learner):
    MembershipFactory(cohort=cohort, person=learner, removed_at=timezone.now())
    (plan,) = enrolment.enrol(cohort, rows(learner.email))
    assert plan.outcome == Outcome.RETURNS
    assert Membership.objects.present().get().person == learner


def test_nobody_teaches_or_grades_before_they_have_an_account(cohort):
    (plan,) = enrolment.enrol(cohort, rows("chief@example.org,,instructor"))
    assert plan.told == (
        "Nobody has signed up as chief@example.org yet, and only somebody with an account can become instructor."
    )
    UserFactory(email="chief@example.org")
    (plan,) = enrolment.enrol(cohort, rows("chief@example.org,,instructor"))
    assert plan.outcome == Outcome.JOINS


def test_a_place_that_waits_for_an_address_is_taken_up_by_who_signs_up_with_it(cohort):
    enrolment.enrol(cohort, rows("new@example.org,New Comer,,pilot"))
    person = UserFactory(email="New@example.org")
    seat = enrolment.join(cohort, person)
    assert (seat.person, seat.labels) == (person, ["pilot"])
    assert Membership.objects.count() == 1

"""What a gradebook says of people: pure, then from rows, then as pages and as a file."""

import csv
import io
from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from courseware.cohorts import gradebook, gradebook_csv, grades, shown
from courseware.cohorts.gradebook import Column, Row, State, Try, Wanted, drill_cell, lab_cell
from courseware.cohorts.policy import Policy, Terms
from courseware.models import Membership, Override
from labs import outcomes
from lessons import content, progress
from lessons.models import DrillAttempt
from tests.factories import (
    AssignmentFactory,
    AttemptFactory,
    CohortFactory,
    MembershipFactory,
    ReviewFactory,
    UserFactory,
    by_key,
)

NOW = datetime(2027, 3, 20, 12, tzinfo=UTC)
BEGAN = NOW - timedelta(days=20)
DUE = NOW - timedelta(days=5)


def policy(**terms):
    return Policy(Terms(**terms), {})


def tried(total, *, at=DUE - timedelta(days=1), status="marked", **fields):
    return Try(status, at - timedelta(hours=1), at, total, **fields)


def cell(terms, *tries, now=NOW):
    return lab_cell(terms, tries, since=BEGAN, now=now)


# ---------------------------------------------------------------------------------------------- pure


def test_what_counts_is_what_the_attempt_policy_says():
    found = cell(policy(due_at=DUE), tried(60), tried(80, at=DUE - timedelta(hours=3)))
    assert (found.points, found.state, found.told) == (60 + 20 * 0.9, State.MARKED, "78")


def test_a_late_gain_counts_at_its_credit_and_the_cell_says_so():
    terms = policy(due_at=DUE, late_until=NOW, late_credit_percent=50)
    found = cell(terms, tried(80, at=DUE + timedelta(days=1)))
    assert found.points == 40
    assert State.LATE in found.states
    assert found.words == ("late at 50 %",)


def test_a_late_attempt_that_gained_nothing_makes_nobody_late():
    terms = policy(due_at=DUE, late_until=NOW, late_credit_percent=50)
    assert State.LATE not in cell(terms, tried(80), tried(70, at=DUE + timedelta(days=1))).states


def test_an_attempt_from_before_does_not_count():
    assert cell(policy(), tried(90, at=BEGAN)).state == State.NOT_BEGUN


def test_without_a_mark_it_is_overdue_once_it_is_due_and_not_before():
    assert State.OVERDUE in cell(policy(due_at=DUE)).states
    assert State.OVERDUE not in cell(policy(due_at=DUE), now=DUE).states
    opens = cell(policy(opens_at=NOW + timedelta(days=2)))
    assert opens.words == ("not begun", "opens 22 Mar")


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("open", State.UNDER_WAY),
        ("marking", State.MARKING),
        ("not_graded", State.NOT_GRADED),
        ("given_up", State.GIVEN_UP),
    ],
)
def test_an_attempt_without_a_mark_says_where_it_stands(status, state):
    assert cell(policy(), tried(None, status=status)).state == state
    both = cell(policy(), tried(70), tried(None, status=status))
    assert (both.state, state in both.states) == (State.MARKED, True)


def test_a_released_review_stands_beside_the_points_and_in_no_number():
    found = cell(policy(), tried(70, review=(5, 7)))
    assert (found.points, found.review) == (70, (5, 7))
    assert State.TO_REVIEW in cell(policy(), tried(70, to_review=True)).states


def test_of_a_drill_the_best_try_is_shown():
    found = drill_cell(policy(), best=14.5, of=20.0, under_way=True, now=NOW)
    assert (found.told, found.shade) == ("14.5 of 20", 4)
    assert State.UNDER_WAY in found.states


def test_other_terms_are_said_where_they_hold_something():
    origins = {"late_credit_percent": "override 1 for label “nights” in the whole cohort"}
    credit = Policy(Terms(late_credit_percent=80), origins)
    assert lab_cell(credit, (), since=BEGAN, now=NOW).notes == ("other terms",)
    assert drill_cell(credit, best=14.5, of=20.0, under_way=False, now=NOW).notes == ()
    dated = Policy(Terms(due_at=NOW), {"due_at": "override 1 for Ada in this assignment"})
    assert drill_cell(dated, best=14.5, of=20.0, under_way=False, now=NOW).notes == ("other terms",)


COLUMNS = (
    Column(1, "lab", "Lab 1", ""),
    Column(2, "lab", "Lab 2", ""),
    Column(3, "drill", "D", ""),
)


def row(name, *cells, role="learner", labels=()):
    cells = (*cells, *[cell(policy())] * (3 - len(cells)))
    email = f"{name.lower()}@example.org"
    found = gradebook.total(COLUMNS, cells)
    return Row(len(name), name, email, role, labels, True, 0, cells, found)


def test_the_total_is_the_mean_of_labs_and_takes_what_is_overdue_for_nothing():
    marked, overdue, ahead = (
        cell(policy(), tried(80)),
        cell(policy(due_at=DUE)),
        cell(policy(due_at=NOW + timedelta(1))),
    )
    assert row("A", marked, overdue).total == 40
    assert row("B", marked, ahead).total == 80
    assert row("C", ahead, ahead).total is None


def test_rows_are_sorted_by_any_column_and_who_has_no_number_comes_last_either_way():
    rows = [row("Cy"), row("Bo", cell(policy(), tried(50))), row("Ada", cell(policy(), tried(90)))]

    def names(**wanted):
        return [each.name for each in gradebook.chosen(rows, COLUMNS, Wanted(**wanted))]

    assert names() == ["Ada", "Bo", "Cy"]
    assert names(falling=True) == ["Cy", "Bo", "Ada"]
    assert names(sort="1") == ["Bo", "Ada", "Cy"]
    assert names(sort="1", falling=True) == ["Ada", "Bo", "Cy"]
    assert names(sort="total") == ["Bo", "Ada", "Cy"]
    assert names(sort="no such column") == ["Ada", "Bo", "Cy"]


def test_rows_are_filtered_by_name_role_label_and_state():
    rows = [
        row("Ada", cell(policy(due_at=DUE)), labels=("nights",)),
        row("Bo", cell(policy(), tried(50)), role="grader"),
    ]

    def names(**wanted):
        return [each.name for each in gradebook.chosen(rows, COLUMNS, Wanted(**wanted))]

    assert names(find="ADA@") == ["Ada"]
    assert names(role="grader") == ["Bo"]
    assert names(label="nights") == ["Ada"]
    assert names(state="overdue") == ["Ada"]
    assert names(state="marked") == ["Bo"]
    assert names(state="nonsense") == []


@given(st.text(max_size=8))
def test_no_cell_of_the_file_begins_like_a_formula(text):
    assert not gradebook_csv.harmless(text).lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r"))
    assert gradebook_csv.harmless(text).endswith(text)


def test_the_file_has_a_line_a_person_and_heads_that_say_what_they_hold():
    rows = [row('=HYPERLINK("http://x")', cell(policy(), tried(80, review=(5, 7))))]
    lines = list(csv.DictReader(io.StringIO(gradebook_csv.table(COLUMNS, rows))))
    assert len(lines) == 1
    assert lines[0]["name"].startswith("'=HYPERLINK")
    assert lines[0]["total, mean of labs, 0 to 100"] == "80.0"
    assert lines[0]["Lab 1: what counts, 0 to 100"] == "80"
    assert (lines[0]["Lab 1: review points"], lines[0]["Lab 1: of"]) == ("5", "7")
    assert lines[0]["Lab 2: state"] == "not begun"
    assert lines[0]["D: points of the best try"] == ""


# ---------------------------------------------------------------------------------------------- rows


@pytest.fixture
def cohort(db):
    return CohortFactory(name="Spring intake")


def handled(person, total, **fields):
    now = timezone.now()
    return AttemptFactory(
        learner=person, total=total, started_at=now - timedelta(hours=2), finished_at=now, **fields
    )


def test_a_cell_holds_what_the_learners_own_page_says(cohort):
    seat = MembershipFactory(cohort=cohort, extra_time_percent=25)
    due = timezone.now() - timedelta(days=1)
    assignment = AssignmentFactory(
        cohort=cohort, due_at=due, late_until=due + timedelta(days=4), late_credit_percent=50
    )
    Override.objects.create(
        cohort=cohort, assignment=assignment, membership=seat, late_credit_percent=80
    )
    for number, total in enumerate((60, 80), start=1):
        handled(seat.person, total, number=number)
    [found] = grades.book(cohort).rows
    works, _ = shown.work_of(seat, seat.person)
    assert works[0].told == f"{found.cells[0].told} of 100 counts"
    assert {"extra time 25 %", "other terms"} <= set(found.cells[0].notes)


def test_lessons_and_drills_and_reviews_have_their_numbers(cohort):
    lesson = content.lessons()["failure-modes"]
    seat = MembershipFactory(cohort=cohort)
    AssignmentFactory(cohort=cohort)
    AssignmentFactory(cohort=cohort, kind="lesson", slug=lesson.slug)
    AssignmentFactory(cohort=cohort, kind="drill", slug="1.1")
    for each in lesson.stations:
        progress.mark_read(seat.person, lesson, each)
    for total in (12.0, 16.0):
        DrillAttempt.objects.create(
            learner=seat.person, drill="1.1", version=1, seed=1, stage="done", total=total
        )
    attempt = handled(seat.person, 70)
    ReviewFactory(attempt=attempt, points=by_key([1, 0, 2, 0, 0]), released_at=timezone.now())
    outcomes.settle(attempt, timezone.now())
    [found] = grades.book(cohort).rows
    lab, read, drilled = found.cells
    assert lab.review == (3, 9)
    unasked = sum(not each.checks for each in lesson.stations)
    assert read.told == f"{unasked} of {len(lesson.stations)}"
    assert drilled.told == "16 of 20"


def test_who_has_left_is_not_in_it_and_who_has_no_account_has_no_total(cohort):
    AssignmentFactory(cohort=cohort, due_at=timezone.now() - timedelta(days=1))
    MembershipFactory(cohort=cohort, removed_at=timezone.now())
    MembershipFactory(cohort=cohort, person=None, email="waits@example.org")
    [found] = grades.book(cohort).rows
    assert (found.name, found.has_account, found.total) == ("waits@example.org", False, None)


# --------------------------------------------------------------------------------------------- pages


def at(name, cohort, *arguments):
    return reverse(f"cohorts:{name}", args=[cohort.public_id, *arguments])


def text(response):
    return response.content.decode()


def addresses(cohort, seat):
    return at("gradebook", cohort), at("gradebook-csv", cohort), at("person", cohort, seat.pk)


def test_a_cohorts_instructors_and_those_of_the_site_look_and_nobody_else(
    cohort, client, learner, learner_client, grader, grader_client, instructor_client
):
    seat = MembershipFactory(cohort=cohort, person=learner)
    MembershipFactory(cohort=cohort, person=grader, role="grader")
    for address in addresses(cohort, seat):
        assert client.get(address).status_code == 302
        assert learner_client.get(address).status_code == 403
        assert grader_client.get(address).status_code == 403
        assert instructor_client.get(address).status_code == 200
    Membership.objects.filter(pk=seat.pk).update(role="instructor")
    for address in addresses(cohort, seat):
        assert learner_client.get(address).status_code == 200
    other = CohortFactory()
    theirs = MembershipFactory(cohort=other)
    for address in addresses(other, theirs):
        assert learner_client.get(address).status_code == 404
    assert learner_client.get(at("person", cohort, theirs.pk)).status_code == 404


def test_the_page_sorts_and_filters_by_its_address(cohort, instructor_client):
    assignment = AssignmentFactory(cohort=cohort)
    for name, total in (("Ada", 50), ("Bo", 90)):
        handled(MembershipFactory(cohort=cohort, name=name).person, total)
    MembershipFactory(cohort=cohort, name="Gil", role="grader")
    page = text(instructor_client.get(at("gradebook", cohort)))
    assert page.index(">Ada<") < page.index(">Bo<")
    assert ">Gil<" not in page
    query = {"sort": assignment.pk, "order": "falling", "role": "every"}
    page = text(instructor_client.get(at("gradebook", cohort), query))
    assert page.index(">Bo<") < page.index(">Ada<") < page.index(">Gil<")
    assert 'aria-sort="descending"' in page
    page = text(instructor_client.get(at("gradebook", cohort), {"find": "nobody at all"}))
    assert "Nobody fits." in page


def test_the_file_holds_the_rows_that_the_page_shows(cohort, instructor_client):
    AssignmentFactory(cohort=cohort)
    for name in ("=1+1", "Bo"):
        MembershipFactory(cohort=cohort, name=name)
    answer = instructor_client.get(at("gradebook-csv", cohort), {"find": "=1"})
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert 'filename="gradebook-spring-intake-' in answer["Content-Disposition"]
    [line] = csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig")))
    assert line["name"] == "'=1+1"


def test_two_hundred_people_and_ten_assignments_take_as_many_queries_as_two(
    cohort, instructor_client, django_assert_max_num_queries
):
    slugs = list(content.lessons())[:3]
    for slug in ("preemption-storm", "first-word-waits", "fuller-than-ever", "calls-given-up"):
        AssignmentFactory(cohort=cohort, slug=slug)
    for slug in slugs:
        AssignmentFactory(cohort=cohort, kind="lesson", slug=slug)
    for number in ("1.1", "1.2", "2.1"):
        AssignmentFactory(cohort=cohort, kind="drill", slug=number)
    people = UserFactory.create_batch(200)
    for place, person in enumerate(people):
        MembershipFactory(cohort=cohort, person=person)
        ReviewFactory(attempt=handled(person, place % 100))
    with django_assert_max_num_queries(16):
        page = text(instructor_client.get(at("gradebook", cohort)))
    assert page.count('<th scope="row"><a') == 200


def test_the_page_of_a_person_holds_what_they_did_since_the_first_day(cohort, instructor_client):
    seat = MembershipFactory(cohort=cohort, name="Ada")
    AssignmentFactory(cohort=cohort, due_at=timezone.now() + timedelta(days=3))
    lesson = content.lessons()["failure-modes"]
    question = lesson.stations[0].checks["cold-rollout"]
    wrong = next(each.key for each in question.options if not each.right)
    progress.answer_check(seat.person, lesson, question, [wrong])
    part = {"name": "mechanism", "earned": 22.5, "weight": 25, "reason": "Because."}
    attempt = handled(seat.person, 70, mark={"passed": True, "parts": [part]})
    before = timezone.now() - timedelta(days=40)
    AttemptFactory(learner=seat.person, lab_slug="first-word-waits", started_at=before)
    page = text(instructor_client.get(at("person", cohort, seat.pk)))
    assert "from the assignment" in page
    assert f'href="{reverse("labs:points", args=[attempt.public_id])}"' in page
    assert '<td class="n heat-5">22.5</td>' in page
    assert "wrong 1 time, never right" in page
    assert "First word" not in page


def test_the_page_of_a_place_without_an_account_shows_its_terms(cohort, instructor_client):
    AssignmentFactory(cohort=cohort)
    seat = MembershipFactory(cohort=cohort, person=None, email="waits@example.org")
    page = text(instructor_client.get(at("person", cohort, seat.pk)))
    assert "Has not signed up yet." in page
    assert "Checks missed" not in page

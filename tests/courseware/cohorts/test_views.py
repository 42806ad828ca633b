"""The pages of cohorts: who sees which, and what they answer to good and bad input."""

from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from courseware.models import Announcement, Assignment, Cohort, Membership, Override
from tests.factories import (
    AssignmentFactory,
    AttemptFactory,
    CohortFactory,
    MembershipFactory,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def cohort():
    return CohortFactory(name="Spring intake")


@pytest.fixture
def seat(cohort, learner):
    return MembershipFactory(cohort=cohort, person=learner)


def at(name, cohort, *arguments):
    return reverse(f"cohorts:{name}", args=[cohort.public_id, *arguments])


def text(response):
    return response.content.decode()


# ------------------------------------------------------------------------------------------- access


@pytest.mark.parametrize("name", ["cohort", "edit", "roster", "assign", "override-new"], ids=str)
def test_a_cohort_is_not_there_for_who_is_not_in_it(cohort, learner_client, name):
    assert learner_client.get(at(name, cohort)).status_code == 404


def test_members_see_their_work_and_manage_nothing(cohort, seat, learner_client):
    AssignmentFactory(cohort=cohort)
    page = text(learner_client.get(at("cohort", cohort)))
    assert "What you do, and by when" in page
    assert cohort.join_code not in page
    for name in ("edit", "roster", "assign", "override-new"):
        assert learner_client.get(at(name, cohort)).status_code == 403
    assert learner_client.post(at("archive", cohort)).status_code == 403


def test_a_cohorts_instructor_manages_that_cohort_only(cohort, seat, learner_client):
    Membership.objects.filter(pk=seat.pk).update(role="instructor")
    assert cohort.join_code in text(learner_client.get(at("cohort", cohort)))
    assert learner_client.get(at("cohort", CohortFactory())).status_code == 404
    assert learner_client.get(reverse("cohorts:new")).status_code == 403


def test_an_instructor_of_the_site_manages_all_and_finds_them_in_the_top_bar(
    cohort, instructor_client
):
    page = text(instructor_client.get(reverse("cohorts:index")))
    assert "Spring intake" in page
    assert f'href="{reverse("cohorts:index")}" aria-current="page">Cohorts' in page


# ------------------------------------------------------------------------------------------ joining


def test_a_typed_code_leads_to_the_question_and_a_yes_into_the_cohort(cohort, learner_client):
    answer = learner_client.post(reverse("cohorts:index"), {"code": cohort.join_code.lower()})
    assert answer.headers["Location"] == reverse("cohorts:join", args=[cohort.join_code])
    assert "Join Spring intake" in text(learner_client.get(answer.headers["Location"]))
    joined = learner_client.post(answer.headers["Location"])
    assert joined.headers["Location"] == cohort.get_absolute_url()
    assert learner_client.get(cohort.get_absolute_url()).status_code == 200


def test_a_wrong_code_stays_in_its_field_with_a_sentence(learner_client):
    answer = learner_client.post(reverse("cohorts:index"), {"code": "ABCO"})
    assert answer.status_code == 422
    assert 'value="ABCO"' in text(answer)
    assert "No code holds O" in text(answer)


def test_a_visitor_who_follows_the_link_signs_in_first(cohort, client):
    answer = client.get(reverse("cohorts:join", args=[cohort.join_code]))
    assert answer.headers["Location"].startswith(reverse("account_login"))


# ------------------------------------------------------------------------------------------- editing


def test_who_makes_a_cohort_is_its_instructor(instructor, instructor_client):
    sent = {"name": "Autumn", "starts_on": "2027-09-01", "ends_on": "2027-12-01", "is_open": "on"}
    instructor_client.post(reverse("cohorts:new"), sent)
    seat = Cohort.objects.get(name="Autumn").memberships.get()
    assert (seat.person, seat.role) == (instructor, "instructor")


def test_a_cohort_that_ends_before_it_starts_is_refused_and_keeps_what_was_typed(instructor_client):
    sent = {"name": "Autumn", "starts_on": "2027-09-01", "ends_on": "2027-08-01"}
    answer = instructor_client.post(reverse("cohorts:new"), sent)
    assert answer.status_code == 422
    assert "The last day lies before the first." in text(answer)
    assert 'value="2027-08-01"' in text(answer)


def test_a_lab_is_assigned_with_dates_once(cohort, instructor_client):
    sent = {"item": "lab:preemption-storm", "due_at": "2027-03-01T09:00", "most_attempts": "3"}
    assert instructor_client.post(at("assign", cohort), sent).status_code == 302
    found = Assignment.objects.get()
    assert (found.slug, found.most_attempts, found.due_at.hour) == ("preemption-storm", 3, 9)
    assert "has it already" in text(instructor_client.post(at("assign", cohort), sent))


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        ({"item": ""}, "Choose a lab, a lesson or a drill."),
        ({"item": "lab:nowhere"}, "The course has nothing of that name."),
        ({"opens_at": "2027-03-02T09:00", "due_at": "2027-03-01T09:00"}, "due before it opens"),
        ({"due_at": "2027-03-02T09:00", "late_until": "2027-03-01T09:00"}, "ends before it begins"),
        ({"due_at": "9999-12-31T23:59"}, "Write a year from 2000 to 2100."),
        ({"due_at": "tomorrow"}, "Write a date and a time, such as 2027-03-01 09:00."),
        ({"late_credit_percent": "50"}, "Say until when late work is taken"),
        ({"most_attempts": "0"}, "One attempt is the least."),
        ({"most_attempts": "-1"}, "greater than or equal to 0"),
        (
            {"item": "lesson:failure-modes", "most_attempts": "2"},
            "Only attempts at labs are counted",
        ),
    ],
)
def test_terms_that_cannot_hold_are_refused_with_the_reason(cohort, instructor_client, sent, why):
    sent = {"item": "lab:preemption-storm", **sent}
    answer = instructor_client.post(at("assign", cohort), sent)
    assert answer.status_code == 422
    assert why in text(answer)
    assert not Assignment.objects.exists()


def test_an_override_is_for_one_person_or_one_label_and_overrides_something(
    cohort, seat, instructor_client
):
    def refused(**sent):
        return text(instructor_client.post(at("override-new", cohort), {"order": 1, **sent}))

    assert "Say for whom" in refused(most_attempts=3)
    assert "not both" in refused(membership=seat.pk, label="pilot", most_attempts=3)
    assert "fill at least one field" in refused(label="pilot")
    assert "One label an override" in refused(label="pilot night", most_attempts=3)
    assert not Override.objects.exists()
    refused(label="Pilot", most_attempts=3)
    assert Override.objects.get().label == "pilot"


def test_a_members_page_says_which_value_came_from_where(cohort, seat, instructor_client):
    work = AssignmentFactory(cohort=cohort, most_attempts=2, wait_min=60)
    Override.objects.create(cohort=cohort, membership=seat, assignment=work, most_attempts=5)
    page = text(instructor_client.get(at("member", cohort, seat.pk)))
    assert f"override 1 for {seat} in this assignment" in page
    assert "the assignment" in page


def test_a_member_is_taken_out_and_brought_back(cohort, seat, instructor_client, learner_client):
    instructor_client.post(at("member-move", cohort, seat.pk))
    assert learner_client.get(at("cohort", cohort)).status_code == 404
    instructor_client.post(at("member-move", cohort, seat.pk), {"do": "back"})
    assert learner_client.get(at("cohort", cohort)).status_code == 200


def test_another_cohorts_rows_are_not_there(cohort, instructor_client):
    stray = MembershipFactory(cohort=CohortFactory())
    assert instructor_client.get(at("member", cohort, stray.pk)).status_code == 404


def test_the_people_are_filtered_by_name_role_and_label(cohort, instructor_client):
    MembershipFactory(cohort=cohort, name="Ada", labels=["pilot"])
    MembershipFactory(cohort=cohort, name="Grace", role="grader")
    for asked, there, gone in (
        ({"find": "ada"}, "Ada", "Grace"),
        ({"role": "grader"}, "Grace", "Ada"),
        ({"label": "pilot"}, "Ada", "Grace"),
    ):
        page = text(instructor_client.get(at("cohort", cohort), asked))
        assert f">{there}</a>" in page
        assert f">{gone}</a>" not in page
        assert "1 of 2 shown" in page


# ------------------------------------------------------------------------------------------- roster


def test_a_roster_is_looked_at_before_it_is_written_and_bad_rows_stay(cohort, instructor_client):
    sent = "email,name\nada@example.org,Ada\nnobody,X"
    page = text(instructor_client.post(at("roster", cohort), {"text": sent, "do": "look"}))
    assert "“nobody” is no e-mail address." in page
    assert not Membership.objects.exists()
    page = text(instructor_client.post(at("roster", cohort), {"text": sent, "do": "enrol"}))
    assert Membership.objects.get().email == "ada@example.org"
    assert "email,name\nnobody,X</textarea>" in page
    assert "1 joined, 1 left out." in page


def test_a_file_is_put_into_the_text(cohort, instructor_client):
    file = SimpleUploadedFile("class.csv", "\ufeffemail\nada@example.org".encode())
    page = text(instructor_client.post(at("roster", cohort), {"file": file, "do": "look"}))
    assert "email\nada@example.org</textarea>" in page


def test_a_file_that_is_no_text_says_so_and_keeps_what_was_pasted(cohort, instructor_client):
    file = SimpleUploadedFile("class.csv", b"email\n\xff\xfe")
    answer = instructor_client.post(
        at("roster", cohort), {"file": file, "text": "email\nada@x.org"}
    )
    assert answer.status_code == 422
    assert "class.csv is not UTF-8 text (byte 6)" in text(answer)
    assert "ada@x.org</textarea>" in text(answer)


def test_rows_and_a_file_at_once_are_refused_and_the_rows_are_kept(cohort, instructor_client):
    sent = {"file": SimpleUploadedFile("class.csv", b"email\nx@x.org"), "text": "email\nada@x.org"}
    page = text(instructor_client.post(at("roster", cohort), sent))
    assert "They are kept; the file was not read." in page
    assert "ada@x.org</textarea>" in page


# ------------------------------------------------------------------------------------ announcements


def test_an_announcement_stands_on_home_and_cohort_without_what_could_harm(
    cohort, seat, instructor_client, learner_client
):
    said = "**Monday** <script>alert(1)</script> [x](javascript:alert(2)) ![p](https://example.org/p.png)"
    instructor_client.post(at("announce", cohort), {"text": said})
    for address in (reverse("home"), at("cohort", cohort)):
        page = text(learner_client.get(address))
        assert "<strong>Monday</strong>" in page
        assert "alert(1)" not in page
        assert "javascript:" not in page
        assert "p.png" not in page
    instructor_client.post(at("withdraw", cohort, Announcement.objects.get().pk))
    assert "Monday" not in text(learner_client.get(reverse("home")))


def test_an_empty_announcement_is_refused_on_the_page(cohort, instructor_client):
    answer = instructor_client.post(at("announce", cohort), {"text": "  "})
    assert answer.status_code == 422
    assert "There is nothing to announce yet." in text(answer)


# --------------------------------------------------------------------------------- a learner's work


def test_a_learner_reads_what_is_open_done_and_closed(cohort, seat, learner, learner_client):
    now = timezone.now()
    AssignmentFactory(cohort=cohort, most_attempts=3, due_at=now + timedelta(days=1))
    AssignmentFactory(cohort=cohort, slug="first-word-waits", due_at=now - timedelta(days=1))
    AssignmentFactory(cohort=cohort, kind="lesson", slug="failure-modes")
    AssignmentFactory(cohort=cohort, kind="drill", slug="1.1", opens_at=now + timedelta(days=1))
    AttemptFactory(learner=learner, total=80, finished_at=now)
    works = learner_client.get(at("cohort", cohort)).context["works"]
    assert [(each.dated.assignment.slug, each.state, each.told) for each in works] == [
        ("first-word-waits", "closed", "not marked yet"),
        ("preemption-storm", "done", "80 of 100 counts"),
        ("1.1", "later", "not done"),
        ("failure-modes", "open", "0 of 6 stations"),
    ]
    assert works[1].left == 2


def test_what_the_course_has_no_more_does_not_break_the_page(
    cohort, seat, learner_client, instructor_client
):
    for kind in ("lab", "lesson", "drill"):
        AssignmentFactory(cohort=cohort, kind=kind, slug="gone")
    for client in (learner_client, instructor_client):
        assert "gone (not in the course any more)" in text(client.get(at("cohort", cohort)))


def test_the_page_of_a_lab_says_why_it_cannot_be_started(cohort, seat, learner_client):
    AssignmentFactory(cohort=cohort, opens_at=timezone.now() + timedelta(days=1))
    address = reverse("labs:lab", args=["preemption-storm"])
    assert "This lab is not open yet: it opens on" in text(learner_client.get(address))
    answer = learner_client.post(reverse("labs:start", args=["preemption-storm"]), follow=True)
    assert "This lab is not open yet: it opens on" in text(answer)


def test_a_visitor_and_a_learner_without_a_cohort_see_none_at_home(client, learner_client):
    for each in (client, learner_client):
        assert "Your cohort" not in text(each.get(reverse("home")))


def test_a_cohorts_instructor_finds_it_at_home_and_nobody_finds_one_that_is_over(
    cohort, seat, learner_client
):
    Membership.objects.filter(pk=seat.pk).update(role="instructor")
    assert "Spring intake" in text(learner_client.get(reverse("home")))
    yesterday = timezone.localdate() - timedelta(days=1)
    Cohort.objects.filter(pk=cohort.pk).update(ends_on=yesterday)
    assert "Spring intake" not in text(learner_client.get(reverse("home")))


def test_a_cohort_in_the_archive_binds_nobody(cohort, seat, instructor_client, learner_client):
    AssignmentFactory(cohort=cohort, due_at=timezone.now() - timedelta(days=1))
    instructor_client.post(at("archive", cohort))
    address = reverse("labs:lab", args=["preemption-storm"])
    assert "This lab is closed" not in text(learner_client.get(address))
    instructor_client.post(at("archive", cohort), {"do": "back"})
    assert "This lab is closed" in text(learner_client.get(address))


def test_the_code_is_replaced_once_for_two_who_ask_at_once(cohort, instructor_client):
    old = cohort.join_code
    for _ in range(2):
        instructor_client.post(at("code", cohort), {"code": old})
    first = Cohort.objects.get().join_code
    assert first != old


def test_a_persons_data_hold_their_places(cohort, seat, learner_client):
    (place,) = learner_client.get(reverse("you:data")).json()["cohorts"]
    assert (place["cohort__name"], place["role"]) == ("Spring intake", "learner")

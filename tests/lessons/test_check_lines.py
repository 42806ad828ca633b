import pytest
from django.urls import reverse

from lessons import check_lines, progress
from lessons.models import CheckWhy, ProblemReport
from tests.lessons.conftest import HTMX, LESSON

pytestmark = pytest.mark.django_db
QUESTION = LESSON.stations[0].checks["cold-rollout"]
WHY = reverse("lessons:why", args=["failure-modes", "cold-rollout"])
PROBLEM = reverse("lessons:problem", args=["failure-modes", "cold-rollout"])
REPORTS = reverse("lessons:reports")
LINE = {"why": "New pods have cold caches.", "problem": "Two answers <i>fit</i>."}


@pytest.fixture
def resolved(learner) -> None:
    progress.answer_check(learner, LESSON, QUESTION, QUESTION.right_answer)


@pytest.fixture
def report(learner, resolved) -> ProblemReport:
    assert check_lines.report_problem(learner, LESSON, QUESTION, LINE["problem"])
    return ProblemReport.objects.get()


# -------------------------------------------------------------------------------- at the check


@pytest.mark.parametrize("address", [WHY, PROBLEM])
def test_nothing_is_said_before_a_check_is_resolved(learner_client, at, address):
    assert "Why this answer?" not in learner_client.get(at.station("classify")).content.decode()
    assert learner_client.post(address, LINE).status_code == 404


@pytest.mark.parametrize("address", [WHY, PROBLEM])
def test_a_visitor_says_nothing(client, address):
    assert client.post(address, LINE).status_code == 403
    assert not CheckWhy.objects.exists()
    assert not ProblemReport.objects.exists()


def test_why_is_asked_once_and_shown_back(learner_client, resolved, at):
    assert "Why this answer?" in learner_client.get(at.station("classify")).content.decode()
    html = learner_client.post(WHY, LINE, **HTMX).content.decode()
    assert LINE["why"] in html
    assert "Why this answer?" not in html
    learner_client.post(WHY, {"why": "On second thoughts."})
    assert CheckWhy.objects.get().why == LINE["why"]
    assert LINE["why"] in learner_client.get(at.station("classify")).content.decode()


def test_a_report_is_kept_and_shown_back_as_text(learner_client, learner, resolved):
    html = learner_client.post(PROBLEM, LINE, **HTMX).content.decode()
    assert "Two answers &lt;i&gt;fit&lt;/i&gt;." in html
    assert "An instructor reads it." in html
    row = ProblemReport.objects.get()
    assert (row.learner, row.lesson, row.check_key) == (learner, LESSON.slug, QUESTION.key)


def test_a_second_report_waits_until_the_first_is_done(learner, instructor, report):
    assert not check_lines.report_problem(learner, LESSON, QUESTION, "Again.")
    check_lines.finish_report(report.pk, instructor)
    assert check_lines.report_problem(learner, LESSON, QUESTION, "Again.")
    assert ProblemReport.objects.count() == 2


@pytest.mark.parametrize(
    ("address", "name", "words"),
    [
        (WHY, "why", "Write one line first."),
        (PROBLEM, "problem", "Write one line on what is wrong."),
    ],
)
@pytest.mark.parametrize("extra", [{}, HTMX])
def test_an_empty_or_too_long_line_is_a_sentence(
    learner_client, resolved, address, name, words, extra
):
    response = learner_client.post(address, {name: " "}, **extra)
    assert response.status_code == 422
    assert words in response.content.decode()
    long = learner_client.post(address, {name: "x" * 301}, **extra)
    assert "300 characters at most" in long.content.decode()
    assert "x" * 301 in long.content.decode()


@pytest.mark.parametrize("address", [WHY, PROBLEM])
def test_without_javascript_the_page_comes_back_to_the_check(learner_client, resolved, at, address):
    response = learner_client.post(address, LINE)
    assert response.headers["Location"] == at.station("classify") + "#check-cold-rollout"


def test_another_persons_lines_are_nowhere(
    learner_client, another_learner_client, another_learner, resolved, at
):
    learner_client.post(WHY, LINE)
    learner_client.post(PROBLEM, LINE)
    progress.answer_check(another_learner, LESSON, QUESTION, QUESTION.right_answer)
    html = another_learner_client.get(at.station("classify")).content.decode()
    assert LINE["why"] not in html
    assert "Two answers" not in html
    assert html.count("Why this answer?") == 1


# --------------------------------------------------------------------------------- for instructors


@pytest.mark.parametrize("address", [REPORTS, REPORTS + "1/done/"])
def test_reports_are_for_instructors(client, learner_client, grader_client, address):
    send = "post" if "done" in address else "get"
    assert getattr(client, send)(address).status_code == 302
    assert getattr(learner_client, send)(address).status_code == 403
    assert getattr(grader_client, send)(address).status_code == 403


def test_an_empty_page_says_what_will_stand_there(instructor_client):
    assert "Nothing is open." in instructor_client.get(REPORTS).content.decode()


def test_the_newest_report_stands_first_with_who_and_where(
    instructor_client, another_learner, report, at
):
    check_lines.report_problem(another_learner, LESSON, QUESTION, "A newer one.")
    html = instructor_client.get(REPORTS).content.decode()
    assert html.index("A newer one.") < html.index("Two answers")
    assert str(another_learner) in html
    assert at.station("classify") + "#check-cold-rollout" in html


def test_of_two_instructors_one_is_done_with_a_report(instructor_client, instructor, report):
    done = reverse("lessons:report-done", args=[report.pk])
    html = instructor_client.post(done, follow=True).content.decode()
    assert "Nothing is open." in html
    assert "Done by" in html
    report.refresh_from_db()
    first = report.done_at
    html = instructor_client.post(done, follow=True).content.decode()
    assert "done already" in html
    report.refresh_from_db()
    assert (report.done_at, report.done_by) == (first, instructor)


def test_a_learner_sees_that_a_report_is_done_and_may_report_anew(
    learner_client, instructor, report, at
):
    check_lines.finish_report(report.pk, instructor)
    html = learner_client.get(at.station("classify")).content.decode()
    assert "An instructor has dealt with it." in html
    assert "Report a problem with this question" in html


def test_a_report_of_a_check_that_is_gone_is_still_shown(instructor_client, learner):
    ProblemReport.objects.create(learner=learner, lesson="gone", check_key="x", problem="Old.")
    html = instructor_client.get(REPORTS).content.decode()
    assert "gone: x, no longer in the course" in html


def test_instructors_find_the_reports_from_the_lessons(instructor_client, learner_client, report):
    html = instructor_client.get(reverse("lessons:index")).content.decode()
    assert REPORTS in html
    assert "1 not done yet" in html
    assert REPORTS not in learner_client.get(reverse("lessons:index")).content.decode()

"""Steps of a walkthrough in the page: run, waited for, refused, tried again."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from lessons import computing, content, runs
from lessons.models import ComputedAnswer, StepRun
from tests.lessons.conftest import HTMX

pytestmark = pytest.mark.django_db
LESSON = content.lessons()["late-first-tokens"]
WALK = LESSON.walkthrough
PAGE = reverse("lessons:station", args=[LESSON.slug, "split"])
Status = ComputedAnswer.Status


def at(step: str) -> str:
    return reverse("lessons:run", args=[LESSON.slug, step])


def post(client, step: str, line: str = "", **extra):
    line = line or WALK.step(step).line
    return client.post(at(step), {"command": line, **extra}, **HTMX)


def worked(sent: list[int]) -> None:
    for answer_id in sent:
        computing.compute(answer_id)


def test_a_run_is_published_once_and_waited_for(
    learner_client, published, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        html = post(learner_client, "alarm").content.decode()
    assert "Handed to a worker" in html
    assert 'hx-trigger="load delay:400ms, every 1s"' in html
    with django_capture_on_commit_callbacks(execute=True):
        learner_client.get(at("alarm"), **HTMX)
    assert published == [StepRun.objects.get().answer_id]


def test_the_answer_opens_with_its_clock_and_the_text_that_quotes_it(
    learner_client, published, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        post(learner_client, "alarm")
    before = learner_client.get(PAGE).content.decode()
    assert "times the target" not in before
    worked(published)
    html = learner_client.get(at("alarm"), **HTMX).content.decode()
    assert "288.383" in html
    assert "288\xa0s, 481 times the target" in html
    assert "0:15" in html
    assert "hx-trigger" not in html


def test_everybody_gets_the_same_row(learner, another_learner):
    step = WALK.step("queue")
    first = runs.run(learner, LESSON, WALK, step, step.line)
    second = runs.run(another_learner, LESSON, WALK, step, step.line)
    assert first.answer == second.answer
    assert ComputedAnswer.objects.count() == 1


def test_without_javascript_one_is_sent_back_to_the_step(learner_client, published):
    response = learner_client.post(at("alarm"), {"command": WALK.step("alarm").line})
    assert response.headers["Location"] == f"{PAGE}#run-alarm"
    html = learner_client.get(PAGE).content.decode()
    assert f'<a href="{at("alarm")}">Look again</a>' in html
    assert learner_client.get(at("alarm")).headers["Location"] == f"{PAGE}#run-alarm"


def test_what_is_expected_comes_first_where_the_lesson_asks(learner_client, published):
    response = post(learner_client, "router")
    assert response.status_code == 422
    assert b"Write what you expect first" in response.content
    assert not StepRun.objects.exists()
    post(learner_client, "router", expected="seconds, not ms")
    assert StepRun.objects.get().expected == "seconds, not ms"
    assert b"seconds, not ms" in learner_client.get(at("router"), **HTMX).content


def test_a_reading_of_ones_own_needs_no_guess_and_shows_no_explanation(learner_client, published):
    assert post(learner_client, "router", "kv-ledger").status_code == 200
    row = StepRun.objects.get()
    computing.compute(row.answer_id)
    html = learner_client.get(at("router"), **HTMX).content.decode()
    assert "held by running" in html
    assert "out of the story" not in html


@pytest.mark.parametrize("htmx", [True, False])
def test_a_refused_line_stays_in_its_field(learner_client, htmx):
    extra = HTMX if htmx else {}
    response = learner_client.post(at("alarm"), {"command": "wait 5m <b>"}, **extra)
    assert response.status_code == 422
    html = response.content.decode()
    assert 'value="wait 5m &lt;b&gt;"' in html
    assert 'aria-invalid="true"' in html
    assert not StepRun.objects.exists()


@pytest.mark.parametrize("line", ["", "x" * 401, "restart --max-num-seqs 8", "\x00", "kubectl"])
def test_bad_input_is_told_and_computes_nothing(learner_client, line):
    response = learner_client.post(at("alarm"), {"command": line}, **HTMX)
    assert response.status_code == 422
    assert not ComputedAnswer.objects.exists()


def test_the_thirty_first_line_in_ten_minutes_waits(learner, learner_client, published):
    step = WALK.step("alarm")
    for place in range(runs.MOST):
        runs.run(learner, LESSON, WALK, step, f"kv-ledger | head -n {place + 1}")
    response = post(learner_client, "alarm", "kv-ledger | tail -n 3")
    assert response.status_code == 422
    assert "The next can be run in about 10\xa0min" in response.content.decode()
    again = runs.run(learner, LESSON, WALK, step, "kv-ledger | head -n 1")
    assert again.line == "kv-ledger | head -n 1"
    StepRun.objects.update(asked_at=timezone.now() - timedelta(minutes=11))
    assert post(learner_client, "alarm", "kv-ledger | tail -n 3").status_code == 200


def test_a_computation_that_failed_says_so_and_is_tried_again(learner, learner_client, published):
    row = runs.run(learner, LESSON, WALK, WALK.step("alarm"), WALK.step("alarm").line)
    ComputedAnswer.objects.update(status=Status.FAILED, error="the worker stopped")
    html = learner_client.get(at("alarm"), **HTMX).content.decode()
    assert "the worker stopped" in html
    assert "Try again" in html
    post(learner_client, "alarm")
    row.answer.refresh_from_db()
    assert row.answer.status == Status.QUEUED


def test_a_step_that_the_course_has_no_more_fails_in_the_worker(learner, caplog):
    row = runs.run(learner, LESSON, WALK, WALK.step("alarm"), "kv-ledger")
    ComputedAnswer.objects.update(name="run:late-first-tokens:gone")
    computing.compute(row.answer_id)
    row.answer.refresh_from_db()
    assert row.answer.is_failed


def test_a_visitor_reads_the_line_and_is_asked_to_sign_in(client):
    html = client.get(PAGE).content.decode()
    assert "slo:ttft_p95" in html
    assert "Sign in to run it" in html
    assert client.post(at("alarm"), {"command": "kv-ledger"}).status_code in {302, 403}


@pytest.mark.parametrize(
    "address",
    ["/lessons/late-first-tokens/runs/nope/", "/lessons/failure-modes/runs/alarm/", "/lessons/nope/runs/alarm/"],
)  # fmt: skip
def test_a_step_that_does_not_exist_is_not_found(learner_client, address):
    assert learner_client.get(address).status_code == 404
    assert learner_client.post(address, {"command": "kv-ledger"}).status_code == 404


def test_what_another_ran_is_not_shown(learner, another_learner_client):
    step = WALK.step("alarm")
    row = runs.run(learner, LESSON, WALK, step, step.line)
    computing.compute(row.answer_id)
    html = another_learner_client.get(PAGE).content.decode()
    assert "288" not in html

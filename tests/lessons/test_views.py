import re
from itertools import pairwise

import pytest
from django.urls import reverse

from lessons import computing, predictions
from lessons.content import lessons
from lessons.models import CheckTry, ComputedAnswer, PredictionCommit, StationRead
from lessons.predictions import result_of
from tests.lessons.conftest import HTMX, LESSON

pytestmark = pytest.mark.django_db
GUESS = {"value": "12", "confidence": "80", "why": "Fewer run, so fewer are evicted."}
CHECK = LESSON.stations[0].checks["cold-rollout"]
WRONG = next(o for o in CHECK.options if not o.right)
RIGHT = next(o for o in CHECK.options if o.right)


def html_of(client, address, **extra) -> str:
    response = client.get(address, **extra)
    assert response.status_code == 200
    return response.content.decode()


def done(key: str) -> ComputedAnswer:
    answer = computing.ask(f"prediction:{key}")
    computing.compute(answer.pk)
    answer.refresh_from_db()
    return answer


# ---------------------------------------------------------------------------------------- reading


@pytest.mark.parametrize("station", [s.slug for s in LESSON.stations])
def test_a_visitor_reads_everything_and_is_told_how_to_take_part(client, at, station):
    html = html_of(client, at.station(station))
    assert "<textarea" not in html
    assert 'type="radio"' not in html
    if LESSON.station(station).checks or LESSON.station(station).predictions:
        assert "?next=" + at.station(station) in html


@pytest.mark.parametrize("lesson", list(lessons()))
def test_no_heading_of_a_station_skips_a_level(client, lesson):
    for station in lessons()[lesson].stations:
        html = client.get(f"/lessons/{lesson}/{station.slug}/").content.decode()
        found = re.findall(r'<h([1-6])|role="heading" aria-level="(\d)"', html)
        levels = [int(plain or said) for plain, said in found]
        skips = [pair for pair in pairwise(levels) if pair[1] > pair[0] + 1]
        assert skips == [], station.slug


def test_index_and_front_page_show_the_lesson(client):
    assert "Failure modes and debugging" in html_of(client, reverse("lessons:index"))
    html = html_of(client, reverse("lessons:lesson", args=["failure-modes"]))
    assert "Quality gates" in html
    assert html.count("is not in this course yet") == 1
    assert reverse("lessons:lesson", args=["method"]) in html


def test_the_last_station_leads_on_to_the_next_lesson_and_its_first_back(client, at):
    last = html_of(client, at.station(LESSON.stations[-1].slug))
    assert f'class="next" href="{reverse("lessons:lesson", args=["method"])}"' in last
    first = html_of(client, reverse("lessons:station", args=["method", "split"]))
    assert reverse("lessons:lesson", args=["failure-modes"]) in first


@pytest.mark.parametrize(
    "address",
    ["/lessons/nope/", "/lessons/failure-modes/nope/", "/lessons/nope/classify/"],
)
def test_what_does_not_exist_is_not_found(client, address):
    assert client.get(address).status_code == 404


@pytest.mark.parametrize("key", ["checks/nope", "predictions/nope", "predictions/nope/seen"])
def test_an_unknown_card_is_not_found(learner_client, key):
    assert learner_client.post(f"/lessons/failure-modes/{key}/", GUESS).status_code == 404


def test_a_page_without_a_chart_loads_no_chart_library(client, at):
    for station in ("classify", "four-ooms", "compatibility", "lifetime"):
        assert "plotly" not in html_of(client, at.station(station))
    assert "plotly" in html_of(client, at.station("overload"))


def test_a_reader_who_may_see_a_reveal_gets_the_chart_library(learner_client, at):
    assert "plotly" in html_of(learner_client, at.station("lifetime"))
    assert "plotly" not in html_of(learner_client, at.station("four-ooms"))


def test_a_page_weighs_little(client, at):
    for station in LESSON.stations:
        assert len(client.get(at.station(station.slug)).content) < 60_000


def test_reading_is_noted_and_leads_on(learner_client, learner, at):
    response = learner_client.post(at.read("classify"))
    assert response.headers["Location"] == at.station("boundary")
    assert StationRead.objects.get().learner == learner
    last = learner_client.post(at.read("lifetime"))
    assert last.headers["Location"] == reverse("lessons:lesson", args=["failure-modes"])


@pytest.mark.parametrize("method", ["read", "check", "prediction", "seen"])
def test_a_visitor_changes_nothing(client, at, method):
    key = {"read": "classify", "check": "cold-rollout"}.get(method, "pool-atlas")
    response = client.post(getattr(at, method)(key), GUESS)
    assert response.status_code == 403
    assert "/account/login/" in response.content.decode()
    assert not PredictionCommit.objects.exists()


# ----------------------------------------------------------------------------------------- checks


@pytest.mark.parametrize("station", [s.slug for s in LESSON.stations])
def test_no_page_holds_the_answer_of_a_check_before_it_is_due(learner_client, at, station):
    html = html_of(learner_client, at.station(station))
    for question in LESSON.station(station).checks.values():
        assert question.explanation[:40] not in html
        for option in question.options:
            assert not option.feedback or option.feedback[:30] not in html
        if question.kind == "number":
            assert not re.search(rf"\b{question.answer:.4g} {question.unit}\b", html)


def test_a_wrong_try_hears_why_it_tempts_and_not_what_is_right(learner_client, at):
    html = learner_client.post(
        at.check("cold-rollout"), {"answer": WRONG.key}, **HTMX
    ).content.decode()
    assert WRONG.feedback[:40] in html
    assert RIGHT.feedback[:30] not in html
    assert CHECK.explanation[:40] not in html
    assert 'class="ok"' not in html
    assert "your first answer" in html


def test_a_right_answer_explains_and_takes_no_more(learner_client, at):
    learner_client.post(at.check("cold-rollout"), {"answer": WRONG.key})
    html = learner_client.post(
        at.check("cold-rollout"), {"answer": RIGHT.key}, **HTMX
    ).content.decode()
    assert CHECK.explanation[:40] in html
    assert "your first answer" in html
    assert "your second answer" in html
    assert 'name="answer"' not in html
    learner_client.post(at.check("cold-rollout"), {"answer": WRONG.key})
    assert CheckTry.objects.count() == 2


def test_two_wrong_tries_are_answered_with_the_right_one(learner_client, at):
    for _ in range(2):
        response = learner_client.post(at.check("cold-rollout"), {"answer": WRONG.key}, **HTMX)
    html = response.content.decode()
    assert CHECK.explanation[:40] in html
    assert ">right</b>" in html


def test_without_javascript_the_page_comes_back_to_the_same_place(learner_client, at):
    response = learner_client.post(at.check("cold-rollout"), {"answer": WRONG.key})
    assert response.headers["Location"] == at.station("classify") + "#check-cold-rollout"


@pytest.mark.parametrize("extra", [{}, HTMX])
def test_an_empty_answer_is_a_sentence_and_costs_no_try(learner_client, at, extra):
    response = learner_client.post(at.check("cold-rollout"), {}, **extra)
    assert response.status_code == 422
    assert b"Choose an answer first." in response.content
    assert not CheckTry.objects.exists()


def test_a_bad_number_stays_in_its_field(learner_client, at):
    response = learner_client.post(at.check("kv-per-rank"), {"answer": "eighty"}, **HTMX)
    assert response.status_code == 422
    assert b'value="eighty"' in response.content


def test_of_several_options_it_is_not_said_which_chosen_one_is_wrong(learner_client, at):
    question = LESSON.stations[-1].checks["record-path"]
    keys = [o.key for o in question.options]
    html = learner_client.post(at.check("record-path"), {"answer": keys}, **HTMX).content.decode()
    assert 'class="bad"' not in html


# ------------------------------------------------------------------------------------- predictions


def test_a_commit_is_stored_before_anything_is_computed(learner_client, learner, at, monkeypatch):
    stored = []

    def watch(answer_id):
        stored.append(PredictionCommit.objects.filter(learner=learner).count())

    monkeypatch.setattr(computing, "compute", watch)
    learner_client.post(at.prediction("pool-atlas"), GUESS)
    assert stored == [1]


def test_a_short_answer_is_revealed_at_once_and_the_explanation_waits(learner_client, at):
    html = learner_client.post(at.prediction("pool-atlas"), GUESS, **HTMX).content.decode()
    assert "<output>114,688</output>" in html
    assert "What did you see?" in html
    assert "Had you read GiB as GB" not in html
    html = learner_client.post(
        at.seen("pool-atlas"), {"seen": "Far more."}, **HTMX
    ).content.decode()
    assert "Had you read GiB as GB" in html
    assert "Far more." in html
    assert "⟦" not in html


def test_a_long_answer_waits_for_a_worker_and_polls_only_until_then(
    learner_client, at, published, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        html = learner_client.post(at.prediction("cap-28"), GUESS, **HTMX).content.decode()
    answer = ComputedAnswer.objects.get(name="prediction:cap-28")
    assert published == [answer.pk]
    assert 'hx-trigger="every 1s"' in html
    assert "Look again" in html
    assert "<output>" not in html
    computing.compute(answer.pk)
    html = html_of(learner_client, at.prediction("cap-28"), **HTMX)
    assert "hx-trigger" not in html
    assert "<output>12</output>" in html


def test_the_second_learner_gets_a_long_answer_at_once(learner_client, at, published):
    done("cap-28")
    html = learner_client.post(at.prediction("cap-28"), GUESS, **HTMX).content.decode()
    assert "Computed" in html
    assert published == []


def test_without_javascript_looking_again_publishes_a_lost_message(
    learner_client, at, published, django_capture_on_commit_callbacks
):
    learner_client.post(at.prediction("cap-28"), GUESS)
    ComputedAnswer.objects.update(published_at=None)
    with django_capture_on_commit_callbacks(execute=True):
        response = learner_client.get(at.prediction("cap-28"))
    assert response.headers["Location"].endswith("/overload/#prediction-cap-28")
    assert len(published) == 1


def test_progress_is_told_in_the_time_of_the_world(learner_client, at, published):
    learner_client.post(at.prediction("cap-28"), GUESS)
    ComputedAnswer.objects.filter(name="prediction:cap-28").update(
        status="running", done_s=250, total_s=2400
    )
    assert "Simulating 04:10 of 40:00" in html_of(learner_client, at.station("overload"))


def test_a_computation_that_failed_says_so_and_can_be_asked_again(learner_client, at, published):
    learner_client.post(at.prediction("cap-28"), GUESS)
    ComputedAnswer.objects.filter(name="prediction:cap-28").update(
        status="failed", error="the worker ran out of memory"
    )
    html = html_of(learner_client, at.station("overload"))
    assert "the worker ran out of memory" in html
    assert "Compute it again" in html
    learner_client.post(reverse("lessons:again", args=["failure-modes", "cap-28"]))
    assert ComputedAnswer.objects.get(name="prediction:cap-28").status == "queued"


@pytest.mark.parametrize("extra", [{}, HTMX])
def test_bad_input_is_a_sentence_and_loses_nothing(learner_client, at, extra):
    bad = {**GUESS, "value": "lots"}
    response = learner_client.post(at.prediction("pool-atlas"), bad, **extra)
    html = response.content.decode()
    assert response.status_code == 422
    assert "Write a number, such as 1200, 1,200 or 0.5, without a unit." in html
    assert 'value="lots"' in html
    assert 'value="80" checked' in html
    assert GUESS["why"] in html
    assert not PredictionCommit.objects.exists()


def test_an_empty_line_on_what_was_seen_opens_nothing(learner_client, at):
    learner_client.post(at.prediction("pool-atlas"), GUESS)
    response = learner_client.post(at.seen("pool-atlas"), {"seen": " "}, **HTMX)
    assert response.status_code == 422
    assert b"Had you read GiB as GB" not in response.content


def test_what_was_seen_cannot_be_said_before_the_commit(learner_client, at):
    assert learner_client.post(at.seen("pool-atlas"), {"seen": "x"}).status_code == 404


def test_what_a_learner_typed_is_shown_as_text(learner_client, at):
    learner_client.post(at.prediction("pool-atlas"), {**GUESS, "why": "<script>alert(1)</script>"})
    html = html_of(learner_client, at.station("four-ooms"))
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(1)" in html


def test_another_persons_guess_is_nowhere(learner_client, another_learner_client, at):
    learner_client.post(at.prediction("pool-atlas"), GUESS)
    for address in (at.station("four-ooms"), reverse("lessons:lesson", args=["failure-modes"])):
        html = html_of(another_learner_client, address)
        assert GUESS["why"] not in html
        assert "114,688" not in html


def test_a_stored_reveal_stays_when_the_code_moves_on(learner_client, at, monkeypatch):
    learner_client.post(at.prediction("pool-atlas"), GUESS)
    monkeypatch.setattr(computing, "code_version", lambda: "tomorrow")
    assert "<output>114,688</output>" in html_of(learner_client, at.station("four-ooms"))


def test_what_is_shown_is_what_the_pure_function_computes(learner_client, at):
    learner_client.post(at.prediction("drain-30"), GUESS)
    reveal = result_of(predictions.QUESTIONS["drain-30"].compute())
    html = html_of(learner_client, at.station("lifetime"))
    assert f"<output>{reveal.shown}</output>" in html


def test_the_ruler_says_in_words_where_one_is(learner_client, at):
    learner_client.post(at.read("boundary"))
    html = html_of(learner_client, at.station("classify"))
    assert 'class="now"' in html
    assert '<span class="vh">Read: </span>Refuse with numbers' in html
    assert '<span class="vh">Not read: </span>Four OOMs' in html


@pytest.mark.parametrize("answer", [RIGHT.key, WRONG.key])
def test_the_first_try_takes_a_check_off_the_stations_footer(learner_client, at, answer):
    page = learner_client.get(at.station("classify")).content.decode()
    (before,) = re.findall(r'<span class="meta" id="standing">(.*?)</span>', page)
    html = learner_client.post(
        at.check("cold-rollout"), {"answer": answer}, **HTMX
    ).content.decode()
    (after,) = re.findall(r'id="standing" hx-swap-oob="true">(.*?)</span>', html)
    assert "not tried yet" in before
    assert after != before

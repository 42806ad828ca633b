"""Predictions of every kind on their page: nothing of the answer before the commit, all of it after."""

import json
import re

import pytest
from django.urls import reverse

from lessons import computing, content, progress
from lessons.cohort import LEAST
from lessons.models import ComputedAnswer, PredictionCommit
from lessons.predictions import QUESTIONS, result_of
from tests.factories import UserFactory
from tests.lessons.conftest import HTMX, LESSON

pytestmark = pytest.mark.django_db
PREDICTED = {
    key: (lesson, station)
    for lesson in content.lessons().values()
    for station in lesson.stations
    for key in station.predictions
}
CHOICE, ORDER, SKETCH, NUMBER = "who-is-evicted", "graphs-in-order", "after-the-burst", "pool-atlas"
SURE = {"confidence": "80"}
POINTS = (35, 40, 95, 90, 60, 40, 35, 35, 35)
SAID = {
    NUMBER: {"value": "12", **SURE},
    CHOICE: {"choice": "b", **SURE},
    ORDER: {"place-ttft": "1", "place-kv": "2", "place-running": "3", "place-preemptions": "4", **SURE},
    SKETCH: {**{f"at-{place}": f"{value}" for place, value in enumerate(POINTS)}, **SURE},
}  # fmt: skip
STORED = {
    NUMBER: 12,
    CHOICE: "b",
    ORDER: ["ttft", "kv", "running", "preemptions"],
    SKETCH: list(POINTS),
}
KINDS = pytest.mark.parametrize("key", SAID)


def html_of(client, address, **extra) -> str:
    return client.get(address, **extra).content.decode()


def done(key: str) -> ComputedAnswer:
    answer = computing.ask(f"prediction:{key}")
    computing.compute(answer.pk)
    answer.refresh_from_db()
    return answer


def others(key: str, count: int) -> None:
    """Let ``count`` other people commit: two guesses, in turn."""
    answer = result_of(QUESTIONS[key].compute()).as_json()["answer"]
    for n in range(count):
        guess = STORED[key] if n % 2 else answer
        progress.commit_prediction(UserFactory(), LESSON, key, guess=guess, confidence=70)


def secrets(result: dict, key: str) -> set[str]:
    """Everything of a reveal that a page could let slip, as it would stand there."""
    found = {
        result["method"],
        f'id="prediction-{key}-0"',
        "your answer",
        "your place",
        "people here",
    }
    found |= set(result["readings"].values())
    if result["shown"]:
        found |= {f"{result['shown']} {QUESTIONS[key].unit}", f"<output>{result['shown']}</output>"}
    if result["axes"]:
        found |= {"You drew", "s-ink", *(f"{y}" for _, y in result["curve"] if y % 1)}
    return found


@pytest.mark.parametrize("key", QUESTIONS)
def test_no_response_before_the_commit_holds_a_byte_of_the_reveal(learner_client, client, key):
    answer = done(key)  # It is known already: others asked.
    if key in SAID:
        others(key, LEAST)
    lesson, station = PREDICTED[key]
    page = reverse("lessons:station", args=[lesson.slug, station.slug])
    prediction = reverse("lessons:prediction", args=[lesson.slug, key])
    bad = {"value": "x", "choice": "x", "at-0": "x", "place-kv": "9"}
    pages = {
        "station": html_of(learner_client, page),
        "visitor": html_of(client, page),
        "fragment": html_of(learner_client, prediction, **HTMX),
        "refused": learner_client.post(prediction, bad, **HTMX).content.decode(),
        "refused page": learner_client.post(prediction, bad).content.decode(),
        "front page": html_of(learner_client, reverse("lessons:lesson", args=[lesson.slug])),
        "review": html_of(learner_client, reverse("you:review")),
        # The seconds of a time may be those of any answer.
        "own data": re.sub(r":\d\d\.\d+Z", "Z", html_of(learner_client, "/you/data.json")),
    }
    text = station.predictions[key]
    explained = max(re.split("⟦.*?⟧", text.explanation), key=len)[5:45]
    for name, html in pages.items():
        card = html
        if name in {"station", "visitor", "refused page"}:
            # Other cards of the page have texts of their own.
            card = html.partition(f'id="prediction-{key}"')[2].partition("</section>")[0]
            assert card
        for secret in secrets(answer.result, key):
            assert secret not in card, (name, secret)
        assert explained not in html, name


@KINDS
def test_every_kind_is_stored_as_it_was_said_and_revealed(learner_client, learner, at, key):
    html = learner_client.post(at.prediction(key), SAID[key], **HTMX).content.decode()
    html = html.replace("\xa0", " ")
    assert PredictionCommit.objects.get(learner=learner).guess == STORED[key]
    answer = ComputedAnswer.objects.get(name=f"prediction:{key}")
    assert answer.result["method"] in html
    assert "What did you see?" in html
    assert "people here" not in html
    html = learner_client.post(at.seen(key), {"seen": "Another."}, **HTMX).content.decode()
    assert "⟦" not in html
    assert 'class="after explained"' in html


def test_a_choice_marks_what_was_computed_and_what_was_said(learner_client, at):
    html = learner_client.post(at.prediction(CHOICE), SAID[CHOICE], **HTMX).content.decode()
    assert "Something else came." in html
    [truth] = re.findall(r'<li class="truth">(.*?)</li>', html)
    assert "D, which came last" in truth
    assert "held 72 blocks" in truth
    [mine] = [row for row in re.findall(r"<li.*?</li>", html) if "your answer" in row]
    assert "B, which holds the most blocks" in mine


def test_an_order_is_shown_as_computed_with_ones_own_places(learner_client, at):
    html = learner_client.post(at.prediction(ORDER), SAID[ORDER], **HTMX).content.decode()
    rows = re.findall(r"<li>.*?</li>", html)
    assert [re.search(r"your place: (\d)", row)[1] for row in rows] == ["3", "2", "4", "1"]
    assert "4 of 6 pairs the wrong way round" in html


def test_a_sketch_is_drawn_beside_the_computed_curve_with_a_table_behind_it(learner_client, at):
    html = learner_client.post(at.prediction(SKETCH), SAID[SKETCH], **HTMX).content.decode()
    lines = re.findall(r'<polyline class="(s-ink|s-yours)" points="([^"]+)"', html)
    assert [name for name, _ in lines] == ["s-ink", "s-yours"]
    assert len(lines[0][1].split()) == 25
    assert len(lines[1][1].split()) == len(POINTS)
    assert html.count("<circle") == len(POINTS) + 1
    assert '<td class="n">95</td>' in html
    assert "of the scale on average" in html


@KINDS
def test_what_everybody_said_comes_with_the_reveal_once_five_have_committed(
    learner_client, at, key
):
    others(key, LEAST - 1)
    html = learner_client.post(at.prediction(key), SAID[key], **HTMX).content.decode()
    assert f"What {LEAST} people here said: it came for 2" in html
    assert f"of {LEAST}" in html
    assert "@example" not in html


def test_people_who_were_asked_by_other_code_are_not_counted(learner_client, at):
    others(CHOICE, LEAST)
    ComputedAnswer.objects.update(key="yesterday", code_version="yesterday")
    html = learner_client.post(at.prediction(CHOICE), SAID[CHOICE], **HTMX).content.decode()
    assert "people here" not in html


@pytest.mark.parametrize(
    ("key", "changed", "words"),
    [
        (CHOICE, {"choice": ""}, "Choose what you expect."),
        (CHOICE, {"choice": "z"}, "Choose among these."),
        (ORDER, {"place-kv": ""}, "Give every item a place."),
        (ORDER, {"place-kv": "1"}, "Two items stand at place 1: give each a place of its own."),
        (SKETCH, {"at-2": ""}, "Draw or write a value at 6 minutes."),
        (
            SKETCH,
            {f"at-{n}": "" for n in range(9)},
            "Draw the curve, or write a value at each place.",
        ),
        (SKETCH, {"at-2": "140"}, "Write at most 100 %."),
        (SKETCH, {"at-2": "full"}, "Write a number, such as"),
        (SKETCH, {"confidence": ""}, "Choose how sure you are."),
        (SKETCH, {"why": "x" * 301}, "One line is enough"),
    ],
)
@pytest.mark.parametrize("extra", [{}, HTMX])
def test_bad_input_is_a_sentence_and_loses_nothing(learner_client, at, key, changed, words, extra):
    said = {**SAID[key], "why": "Because.", **changed}
    response = learner_client.post(at.prediction(key), said, **extra)
    html = response.content.decode()
    assert response.status_code == 422
    assert words in html
    assert not PredictionCommit.objects.exists()
    if "why" not in changed:
        assert "Because." in html
    if key == SKETCH and "at-3" not in changed:
        assert f'name="at-3" inputmode="decimal" autocomplete="off" maxlength="20" value="{POINTS[3]}"' in html  # fmt: skip
    if key == ORDER:
        assert "<option selected>3</option>" in html


def test_a_reason_is_optional(learner_client, at):
    html = learner_client.post(at.prediction(CHOICE), SAID[CHOICE], **HTMX).content.decode()
    assert PredictionCommit.objects.get().why == ""
    assert "Your reason" not in html


def test_a_sure_miss_of_every_kind_comes_back_and_every_kind_counts_for_calibration(
    learner, learner_client, at
):
    for key, said in SAID.items():
        learner_client.post(at.prediction(key), said)
    html = html_of(learner_client, "/you/")
    assert f"0 of {len(SAID)}" in html
    PredictionCommit.objects.update(committed_at="2026-01-01T00:00Z")
    html = html_of(learner_client, reverse("you:review"))
    assert f"{len(SAID)} due" in html
    for words in (
        "D, which came last",
        "B, which holds the most blocks",
        "35, 40, 95",
        "1. p95 TTFT",
    ):
        assert words in html
    for key in SAID:
        address = reverse("you:review-prediction", args=[LESSON.slug, key])
        learner_client.post(address, {"answer": "same"})
    assert "Computed was:" in html_of(learner_client, reverse("you:review"))


def test_a_hit_of_every_kind_counts_as_one(learner, learner_client):
    for key in SAID:
        answer = result_of(QUESTIONS[key].compute()).as_json()["answer"]
        commit = progress.commit_prediction(learner, LESSON, key, guess=answer, confidence=90)
        computing.compute(commit.answer.pk)
    assert f"{len(SAID)} of {len(SAID)}" in html_of(learner_client, "/you/")


def test_ones_own_data_has_every_kind_with_its_answer(learner_client, at):
    for key, said in SAID.items():
        learner_client.post(at.prediction(key), said)
    rows = json.loads(html_of(learner_client, "/you/data.json"))["lessons"]["prediction_commits"]
    assert {row["prediction"]: row["guess"] for row in rows} == STORED
    for row in rows:
        assert row["computed"] == ComputedAnswer.objects.get(name=f"prediction:{row['prediction']}").result["answer"]  # fmt: skip


def test_the_front_page_lists_every_kind(learner_client, at):
    for key, said in SAID.items():
        learner_client.post(at.prediction(key), said)
    html = html_of(learner_client, reverse("lessons:lesson", args=[LESSON.slug]))
    for words in (
        "B, which holds the most blocks",
        "1. p95 TTFT",
        "35, 40, 95",
        "something else came",
    ):
        assert words in html


def test_the_script_that_draws_is_loaded_only_where_a_sketch_is_asked(client, at):
    assert "js/sketch.js" in html_of(client, at.station("overload"))
    assert "js/sketch.js" not in html_of(client, at.station("boundary"))


def test_a_question_that_nobody_has_answered_yet_complains_of_nothing(learner_client, at):
    html = html_of(learner_client, at.station("overload"))
    assert f'id="prediction-{SKETCH}"' in html
    assert 'class="errors"' not in html

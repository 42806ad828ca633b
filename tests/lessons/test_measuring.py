"""The lesson on measuring: what it asks, what it computes, and that its words and its demonstrations agree."""

import html
import re

import pytest

from lessons import content, predictions
from lessons.checks_marking import mark
from lessons.demos import DEMOS, computed
from lessons.measuring_quantities import NUMBERS, SHOWN, drift_bias, mean_s

LESSON = content.lessons()["measuring-honestly"]
CHECKS = [(s.slug, key) for s in LESSON.stations for key in s.checks]
FACTS = {
    key: predictions.result_of(predictions.QUESTIONS[key].compute()).facts
    for s in LESSON.stations
    for key in s.predictions
}


def question(station: str, key: str):
    return LESSON.station(station).checks[key]


def said(key: str, **values) -> str:
    """Return what a demonstration says where its lesson has put it, but for ``values``."""
    station = LESSON.with_demo(key)
    return computed(DEMOS[key], {**station.demos[key], **values}).says


def test_six_stations_each_hold_a_check_of_another_kind():
    kinds = [asked.kind for s in LESSON.stations for asked in s.checks.values()]
    assert sorted(kinds) == ["many", "match", "number", "one", "order", "text"]


def test_every_station_holds_a_demonstration_and_every_keyword_stands_once():
    for station in LESSON.stations:
        assert station.demos
        prose = "".join(part.value for part in station.parts if part.kind == "prose")
        terms = re.findall(r"<summary>([^<]*)</summary>", prose)
        assert terms
        assert len(terms) == len(set(terms))


@pytest.mark.parametrize(("station", "key"), CHECKS)
def test_the_right_answer_earns(station, key):
    asked = question(station, key)
    assert mark(asked, asked.right_answer).right
    assert asked.explanation


@pytest.mark.parametrize("typed", ["4", "1.333", "1.75", "2"])
def test_a_wrong_speed_up_hears_why_it_tempts(typed):
    verdict = mark(question("what-arrives", "quarter-of-a-step"), [typed])
    assert not verdict.right
    assert len(verdict.feedback[0]) > 40


def test_a_quarter_of_a_step_made_four_times_as_fast():
    assert NUMBERS["step_gain"] == pytest.approx(1 / 0.8125)


def test_the_text_and_its_demonstrations_say_the_same():
    assert f"reports {SHOWN['loop_tool_ms']} ms at {SHOWN['loop_tool_rps']}.0" in said(
        "open-and-closed"
    )
    assert f"wait {SHOWN['loop_gentle_ms']} ms" in said("open-and-closed", rate_rps=8.0)
    assert f"reports {SHOWN['loop_many_s']}0 s" in said("open-and-closed", clients=64)
    assert f"reports {SHOWN['loop_paused_ms']} ms at {SHOWN['loop_paused_rps']} " in said(
        "open-and-closed", think_s=5.0
    )
    assert f"costs {SHOWN['warm_bench_ms']} ms" in said("warm-caches", order="loop")
    assert f"costs {SHOWN['warm_real_ms']} ms, {SHOWN['warm_times']} times" in said("warm-caches")
    assert said("warm-caches", order="loop", prompts=224).startswith(SHOWN["warm_fit_hits"])
    assert said("warm-caches", order="loop", prompts=225).startswith("0 %")
    assert f"{SHOWN['stall_small_late']} requests are late" in said("coordinated-omission")
    assert (
        f"is {SHOWN['mean_mean_ms']} ms, the p99 of all requests {SHOWN['mean_true_ms']} ms: {SHOWN['mean_low']} too low"
        in said("averaged-percentiles")
    )
    assert f"{SHOWN['aa_needed']} runs each make it 80 %" in said(
        "same-against-same", true_percent=3.4
    )
    assert f"{SHOWN['aa_needed_small']} runs each" in said("same-against-same", true_percent=1.0)
    assert f"in {SHOWN['aa_false_1']} % of such comparisons" in said("same-against-same")
    assert f"{SHOWN['arrive_touched']} % of the fleet's time" in said("what-arrives")
    assert f"would gain {SHOWN['arrive_ceiling']} %" in said("what-arrives")


@pytest.mark.parametrize(
    ("order", "bias"), [("AAAABBBB", 4), ("ABABABAB", 1), ("ABBAABBA", 0), ("BA", -1)]
)
def test_a_drift_favours_whoever_runs_later(order, bias):
    assert drift_bias(order, 1.0) == bias


def test_the_mean_time_of_an_open_loop_is_service_over_what_is_idle():
    assert mean_s(0.8, 0.1) == pytest.approx(0.5)


def test_the_p99_around_a_stall_lies_among_those_who_waited():
    facts = FACTS["stall-by-schedule"]
    assert (facts["requests"], facts["late"], facts["recorded_late"]) == ("600", "50", "1")
    assert float(facts["shortest"]) < float(facts["p99"]) < float(facts["longest"])
    assert float(facts["p99"]) == pytest.approx(8.85, abs=0.01)


def test_seven_answers_in_ten_meet_a_gap_of_which_one_in_five_hundred_is_slow():
    facts = FACTS["streams-with-a-gap"]
    assert (facts["met"], facts["spared"], facts["mean"], facts["half"]) == (
        "70",
        "30",
        "1.2",
        "347",
    )


@pytest.mark.parametrize("key", FACTS)
def test_no_demonstration_shows_a_predictions_answer_before_it_is_turned(key):
    station = LESSON.with_prediction(key)
    shown = predictions.result_of(predictions.QUESTIONS[key].compute()).shown
    for demo, values in station.demos.items():
        result = computed(DEMOS[demo], values)
        words = [
            result.says,
            *(r.value for r in result.readouts),
            *(cell for row in result.table.rows for cell in row),
        ]
        assert not any(
            re.search(rf"(?<![\d.]){re.escape(shown)}(?![\d.])", html.unescape(word))
            for word in words
        )

import json
from itertools import pairwise

import pytest

from lessons import content, predictions
from lessons.figures import FIGURES, four_ledgers
from lessons.predictions import QUESTIONS, all_computations, code_version, result_of
from lessons.simulations import Progress


@pytest.fixture(scope="module")
def reveals():
    return {key: result_of(question.compute()) for key, question in QUESTIONS.items()}


@pytest.mark.parametrize("name", all_computations())
def test_a_computation_gives_the_same_bytes_twice(name):
    compute = all_computations()[name]
    first, second = (json.dumps(result_of(compute()).as_json()) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("key", QUESTIONS)
def test_a_question_computes_every_fact_that_its_explanation_may_use(key, reveals):
    assert set(reveals[key].facts) == QUESTIONS[key].facts
    assert reveals[key].method


@pytest.mark.parametrize("key", QUESTIONS)
def test_an_answer_is_one_that_could_have_been_guessed(key, reveals):
    question, answer = QUESTIONS[key], reveals[key].answer
    if question.kind == "number":
        assert 0 <= answer <= question.highest
        assert reveals[key].shown
    elif question.kind == "choice":
        assert answer in question.options
    elif question.kind == "order":
        assert sorted(answer) == sorted(question.options)
    else:
        axes = reveals[key].axes
        assert axes == question.axes
        assert len(answer) == len(axes.xs) >= 5
        assert all(axes.least <= value <= axes.most for value in answer)
        steps = {later - earlier for earlier, later in pairwise(axes.xs)}
        assert len(steps) == 1


@pytest.mark.parametrize("key", [key for key, q in QUESTIONS.items() if q.options])
def test_the_page_does_not_list_an_order_as_it_will_come(key, reveals):
    stations = [lesson.with_prediction(key) for lesson in content.lessons().values()]
    [text] = [station.predictions[key] for station in stations if station]
    assert sorted(text.items) == sorted(QUESTIONS[key].options)
    assert list(text.items) != reveals[key].answer


def test_the_alarm_is_the_last_of_four_panels_in_every_seed(reveals):
    assert reveals["graphs-in-order"].answer == ["running", "kv", "preemptions", "ttft"]
    facts = reveals["graphs-in-order"].facts
    assert facts["same"] == facts["seeds"]
    at_s = [int(facts[name]) for name in ("running", "kv", "preemptions", "ttft")]
    assert all(later - earlier >= 10 for earlier, later in pairwise(at_s))


def test_who_came_last_is_evicted_whatever_it_holds(reveals):
    facts = reveals["who-is-evicted"].facts
    held = {name: int(facts[f"blocks_{name}"]) for name in "abcd"}
    assert reveals["who-is-evicted"].answer == "d"
    assert max(held, key=held.get) == "b"
    assert min(held, key=held.get) == "c"
    assert int(facts["gap"]) > 10


def test_a_burst_leaves_the_pool_full_for_longer_than_it_took(reveals):
    facts = reveals["after-the-burst"].facts
    assert int(facts["full_after"]) > 5
    assert float(facts["times"]) > 1
    assert int(facts["waiting"]) > 50


@pytest.mark.parametrize("key", QUESTIONS)
def test_a_chart_has_a_sentence_and_a_table_beside_it(key, reveals):
    assert bool(reveals[key].plots) == QUESTIONS[key].is_charted
    for plot in reveals[key].plots:
        assert plot.spoken
        assert reveals[key].table.rows


def test_the_cap_ends_the_stalls_and_makes_the_first_token_later_in_every_seed(reveals):
    facts = reveals["cap-28"].facts
    assert facts["preemptions_28"] == "0"
    assert float(facts["gap_28"]) < 0.1 < float(facts["gap_40"])
    assert facts["worse"] == facts["seeds"] == "8"
    # The storm study, eight seeds of its own: 148 [68 - 224] s and 306 [229 - 377] s.
    assert 68 <= float(facts["p95_40"]) <= 224
    assert 229 <= float(facts["p95_28"]) <= 377
    assert int(facts["wanted_share"].rstrip(" %")) > 100


def test_twice_the_arrivals_below_saturation_slow_a_token_by_far_less_than_twice(reveals):
    assert 1.15 < reveals["double-arrivals"].answer < 1.6


def test_the_default_grace_period_cuts_about_half_of_the_streams(reveals):
    facts = reveals["drain-30"].facts
    assert int(facts["done"]) + int(facts["cut"]) == int(facts["streams"])
    assert 25 < reveals["drain-30"].answer < 75


def test_the_engine_clamps_to_what_is_left_of_the_window(reveals):
    assert reveals["clamped-tokens"].answer == 24


def test_both_pools_are_those_of_the_profiles(reveals):
    assert reveals["pool-atlas"].answer == 114_688
    assert reveals["pool-llama"].answer == 458_752


def test_tpot_tells_the_two_regimes_apart_and_the_queue_does_not():
    drawing = result_of(FIGURES["two-regimes"].compute())
    waiting, _, tpot = (plot.figure["data"] for plot in drawing.plots)
    change = tpot[0]["x"].index(0.0)
    assert all(line["y"][-1] > 10 * max(1, *line["y"][: change + 1]) for line in waiting)
    before = tpot[0]["y"][change]
    assert max(tpot[0]["y"][change:]) < 1.2 * before
    assert min(tpot[1]["y"][change + 1 :]) > 1.5 * before


def test_progress_speaks_in_the_time_of_its_world():
    assert Progress(250, 2400).words == "Simulating 04:10 of 40:00"


def test_only_what_takes_long_is_left_to_a_worker():
    long = [key for key, question in QUESTIONS.items() if question.is_long]
    assert long == ["cap-28", "walk-cap", "walk-starts", "walk-gap"]


def test_the_code_version_is_the_same_in_one_process():
    assert code_version() == code_version()
    assert len(code_version()) == 16


def test_in_every_ledger_what_is_asked_for_does_not_fit():
    for ledger in four_ledgers():
        limit = float(ledger.limit.rstrip("%"))
        wanted = [s for s in ledger.segments if s.kind == "wanted"]
        assert len(wanted) == 1
        end = float(wanted[0].start.rstrip("%")) + float(wanted[0].width.rstrip("%"))
        assert end > limit


def test_the_holes_together_would_hold_what_none_of_them_does():
    fragmented = four_ledgers()[-1]
    holes = [float(s.width.rstrip("%")) for s in fragmented.segments if s.kind == "free"]
    wanted = next(float(s.width.rstrip("%")) for s in fragmented.segments if s.kind == "wanted")
    assert max(holes) < wanted < sum(holes)


def test_confidence_has_five_steps():
    assert predictions.CONFIDENCES == (50, 60, 70, 80, 90)

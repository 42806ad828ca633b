"""The lab's proof, computed from the committed table: values, thresholds, slack, verdicts."""

import pytest

from labs import plays, pool, proof
from labs.log import spent_s

SLUG = "preemption-storm"


@pytest.fixture(scope="module")
def table():
    return pool.table(SLUG)


@pytest.fixture(scope="module")
def route(spec, seeds):
    return plays.reference_route(spec, seeds["demand"], hypothesis="demand")


@pytest.mark.parametrize(
    ("value", "threshold", "at_most", "slack", "verdict"),
    [
        (0.94, 0.60, False, 0.567, "green"),
        (0.61, 0.60, False, 0.0167, "amber"),
        (0.59, 0.60, False, -0.0167, "red"),
        (0.20, 0.35, True, 0.429, "green"),
        (0.40, 0.35, True, -0.143, "red"),
        (0.5, 0.0, False, 0.5, "green"),
        (75.0, 75.0, True, 0.0, "amber"),
    ],
)
def test_slack_is_how_far_on_the_right_side(value, threshold, at_most, slack, verdict):
    line = proof.Line(4, "says", value, threshold, at_most=at_most)
    assert line.slack == pytest.approx(slack, abs=1e-3)
    assert line.verdict == verdict


def test_a_line_prints_as_the_specification_shows_it():
    line = proof.Line(4, "discriminates, of H", 0.94, 0.60)
    assert str(line) == "4 discriminates, of H 0.94 ≥ 0.60, slack 57 %: green"


def test_what_holds_or_fails_is_never_amber():
    assert proof.same_twice({"a": ("x", "x")}).verdict == "green"
    assert proof.same_twice({"a": ("x", "x"), "b": ("x", "y")}).verdict == "red"


def test_each_world_is_held_to_the_seeds_that_came_to_it(spec):
    line = proof.admission(spec, {"metastable": 50, "leak": 5}, 45)
    assert line.value == pytest.approx(0.5)
    assert "metastable 0.50" in line.note
    assert "leak 0.90" in line.note
    assert "healthy 1.00" in line.note


def test_the_symptom_is_a_large_effect(spec, table):
    assert [line.verdict for line in proof.effect(spec, table)] == ["green", "green"]


def test_the_references_readings_discriminate(spec, table, route):
    whole, pair = proof.discrimination(spec, table, route.known(table))
    assert whole.value > 0.6
    assert pair.value > 0.5
    assert {whole.verdict, pair.verdict} == {"green"}


def test_the_two_served_worlds_cannot_be_told_apart_by_kv_usage(spec, table):
    known = {"kv_usage": 0, "queue_depth": 0}
    _, pair = proof.discrimination(spec, table, known)
    assert pair.verdict == "red"


def test_no_constant_answer_is_right_too_often(spec):
    assert all(line.verdict != "red" for line in proof.free_answers(spec))


def test_nothing_is_to_be_named_in_a_healthy_control(spec):
    """A lab with one says so for that world: no components."""
    name = next(iter(spec.hypotheses))
    answer = spec.hypotheses[name].answer.model_copy(update={"components": ()})
    calm = spec.hypotheses[name].model_copy(update={"answer": answer})
    control = spec.model_copy(update={"hypotheses": {**spec.hypotheses, name: calm}})
    before, after = (next(iter(proof.free_answers(each))) for each in (spec, control))
    assert after.value <= before.value


def test_the_budget_leaves_room_and_does_not_pay_for_everything(spec, route):
    lines = list(proof.budget(spec, {"demand": spent_s(route.log)}))
    assert all(line.verdict != "red" for line in lines)


def test_no_fault_world_is_transient(spec, table):
    assert proof.lasts(spec, table).verdict == "green"


def test_ceilings_are_held_to_the_most_that_was_earned():
    (line,) = proof.ceilings({"cheat": [10.0, 61.0]}, {"cheat": 60.0}, {})
    assert line.verdict == "red"
    assert "10.0 to 61.0 on 2 seeds" in str(line)


def test_a_ceiling_that_was_raised_says_why():
    (line,) = proof.ceilings(
        {"cheat": [10.0]}, {"cheat": 60.0}, {"cheat": "both worlds have one cure"}
    )
    assert "both worlds have one cure" in line.note


def test_a_play_that_must_not_pass_and_does_is_red():
    (good,) = proof.never_passes({"cheat": 0})
    (bad,) = proof.never_passes({"cheat": 1})
    assert (good.verdict, bad.verdict) == ("green", "red")


def test_a_tempting_fix_that_mends_once_is_red():
    (line,) = proof.tempting({"cap": (1, 20)})
    assert line.verdict == "red"
    assert "of 20 seeds" in str(line)

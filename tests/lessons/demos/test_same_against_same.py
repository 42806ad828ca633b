import pytest

from lessons.demos.same_against_same import DEMO, _interval, computed
from lessons.exact.comparisons import false_alarms, run_results, runs_needed_by_t, t_power

START = DEMO.start


def test_one_run_each_has_a_difference_and_no_interval():
    shown = computed(**{**START, "runs": 1})
    a, b = (run_results(1.0, 0.025, 1, START["seed"], version=v)[0] for v in "AB")
    assert shown.readouts[0].value == f"{100 * (b - a):+.1f}"
    assert shown.readouts[1].value == "none"
    assert shown.readouts[2].value == f"{100 * false_alarms(b - a, 0.025):.0f}"


def test_nothing_looks_like_a_gain_at_the_start():
    shown = computed(**START)
    assert shown.readouts[0].value == "+3.4"
    assert "the two are equal" in shown.says


def test_it_says_how_many_runs_a_difference_needs():
    shown = computed(**{**START, "true_percent": 3.4, "runs": 4})
    assert f"{runs_needed_by_t(0.034, 0.025)} runs each make it 80 %" in shown.says
    assert f"in {100 * t_power(0.034, 0.025, 4):.0f} %" in shown.says


def test_few_runs_get_welchs_interval_and_many_a_bootstraps():
    beside = [computed(**{**START, "runs": runs}).readouts[1].beside for runs in (1, 2, 9, 10)]
    assert beside == ["one run has no spread", "by Welch's t", "by Welch's t", "by bootstrap"]


def test_intervals_of_equal_versions_miss_zero_in_one_comparison_of_twenty():
    missed = 0
    for seed in range(400):
        a, b = (run_results(1.0, 0.025, 3, seed, version=v) for v in "AB")
        low, high = (float(end.replace("−", "-")) for end in _interval(a, b, seed))
        missed += not low <= 0 <= high
    assert missed / 400 == pytest.approx(0.05, abs=0.02)

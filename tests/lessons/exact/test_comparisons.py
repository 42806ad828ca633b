import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons.exact.comparisons import (
    amdahl,
    bootstrap,
    false_alarms,
    run_results,
    runs_needed,
    runs_needed_by_t,
    student_cdf,
    student_quantile,
    t_power,
    waterfall,
    welch,
)


def test_twice_in_a_benchmark_is_a_tenth_in_production():
    assert amdahl(0.9, 2.0) == pytest.approx(1.82, abs=0.005)
    assert amdahl(0.45, 1.25) == pytest.approx(1.10, abs=0.005)


@given(st.floats(0, 1), st.floats(0.1, 100))
def test_a_part_never_speeds_the_whole_up_by_more_than_itself(share, factor):
    assert min(1, factor) - 1e-9 <= amdahl(share, factor) <= max(1, factor) + 1e-9
    if share < 1:
        assert amdahl(share, factor) < 1 / (1 - share) + 1e-9


def test_a_waterfall_ends_where_amdahl_says():
    steps = waterfall((("attention", 0.3, 2.0), ("sampling", 0.1, 4.0)))
    assert [name for name, _ in steps] == ["attention", "sampling"]
    assert steps[0][1] == pytest.approx(1 / amdahl(0.3, 2.0))
    assert steps[1][1] == pytest.approx(1 - 0.15 - 0.075)
    with pytest.raises(ValueError, match="at most 1"):
        waterfall((("a", 0.6, 2), ("b", 0.6, 2)))


@pytest.mark.parametrize(
    ("share", "degrees", "expected"),
    [(0.975, 1, 12.7062), (0.975, 16, 2.1199), (0.95, 5, 2.0150), (0.5, 3, 0.0), (0.025, 30, -2.0423)],
)  # fmt: skip
def test_quantiles_of_t_are_those_of_the_tables(share, degrees, expected):
    assert student_quantile(share, degrees) == pytest.approx(expected, abs=1e-4)


@given(st.floats(-30, 30))
def test_t_with_one_degree_is_cauchys(t):
    assert student_cdf(t, 1) == pytest.approx(0.5 + math.atan(t) / math.pi, abs=1e-12)


def test_one_run_each_tells_three_and_a_half_percent_from_nothing_in_two_cases_of_three():
    assert false_alarms(0.034, 0.025) == pytest.approx(0.336, abs=0.001)


def test_the_textbook_says_nine_runs_and_the_t_test_takes_ten():
    assert runs_needed(0.034, 0.025) == 9
    assert t_power(0.034, 0.025, 9) == pytest.approx(0.773, abs=0.001)
    assert runs_needed_by_t(0.034, 0.025) == 10
    assert (runs_needed(0.034, 0.01), runs_needed_by_t(0.034, 0.01)) == (2, 3)


def test_a_powers_formula_is_what_a_simulation_counts():
    rng = np.random.Generator(np.random.PCG64(0))
    a, b = rng.normal(0, 1, (40_000, 9)), rng.normal(3.4 / 2.5, 1, (40_000, 9))
    t = (b.mean(1) - a.mean(1)) / np.sqrt((a.var(1, ddof=1) + b.var(1, ddof=1)) / 9)
    seen = (np.abs(t) > student_quantile(0.975, 16)).mean()
    assert seen == pytest.approx(t_power(0.034, 0.025, 9), abs=0.01)


@given(st.floats(0.01, 0.2), st.floats(0.005, 0.1))
def test_no_fewer_runs_than_the_textbook_less_one_ever_suffice(difference, run_cv):
    by_t = runs_needed_by_t(difference, run_cv)
    assert by_t >= runs_needed(difference, run_cv) - 1
    assert t_power(difference, run_cv, by_t) >= 0.80


def test_welch_is_its_formulas():
    a = [20.1, 22.3, 19.8, 21.0, 20.9, 20.0, 21.7, 20.4, 21.6, 20.4]
    b = [23.0, 24.5, 22.8, 25.1, 23.9, 22.1, 24.4, 23.6, 23.2, 24.5]
    found = welch(a, b)
    variances = [np.var(side, ddof=1) / 10 for side in (a, b)]
    assert found.difference == pytest.approx(np.mean(b) - np.mean(a))
    assert found.degrees == pytest.approx(sum(variances) ** 2 / sum(v**2 / 9 for v in variances))
    assert found.high - found.difference == pytest.approx(
        student_quantile(0.975, found.degrees) * math.sqrt(sum(variances))
    )
    assert not found.crosses_zero
    assert found.p_value < 1e-5


def test_an_interval_covers_the_truth_as_often_as_it_says():
    covered = 0
    for seed in range(400):
        found = welch(
            run_results(1.0, 0.025, 6, seed), run_results(1.0, 0.025, 6, seed, version="B")
        )
        covered += found.crosses_zero
        assert found.crosses_zero == (found.p_value >= 0.05)
    assert covered / 400 == pytest.approx(0.95, abs=0.03)


def test_a_bootstrap_of_many_values_is_welchs_interval():
    a, b = run_results(1.0, 0.025, 100, 1), run_results(1.02, 0.025, 100, 1, version="B")
    one, other = welch(a, b), bootstrap(a, b, 1)
    assert other.difference == pytest.approx(one.difference)
    assert other.high - other.low == pytest.approx(one.high - one.low, rel=0.1)
    assert (bootstrap(a, b, 1).low, bootstrap(a, b, 1).high) == (other.low, other.high)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: amdahl(2, 1), "speedup"),
        (lambda: student_cdf(0, 0), "degrees"),
        (lambda: student_quantile(1, 3), "share"),
        (lambda: t_power(0.1, 0.1, 1), "2 runs"),
        (lambda: runs_needed_by_t(0.0001, 0.1), "does not show"),
        (lambda: welch([1], [1, 2]), "two values"),
        (lambda: welch([1, 1], [2, 2]), "spread"),
        (lambda: bootstrap([], [1], 0), "each side"),
    ],
)
def test_what_cannot_be_compared_is_refused(call, match):
    with pytest.raises(ValueError, match=match):
        call()

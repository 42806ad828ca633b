import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labs.simulator.pauses import Pause
from lessons.exact.periods import (
    autocorrelation,
    by_seconds,
    constant_in,
    full_collection_allocations,
    spacing,
    token_times_s,
)

BY_STEPS = Pause(0.2, every_steps=70)
BY_SECONDS = Pause(0.2, every_s=10.0)


def times_s(pause, step_ms, seed=0, steps=4_000):
    return token_times_s(pause, step_ms=step_ms, steps=steps, seed=seed)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("pause", "unit"), [(BY_STEPS, "steps"), (BY_SECONDS, "seconds")])
def test_the_period_that_stays_when_the_load_changes_names_the_unit(pause, unit, seed):
    light, heavy = (spacing(times_s(pause, step_ms, seed)) for step_ms in (20.0, 35.0))
    assert constant_in(light, heavy) == unit


def test_one_load_alone_tells_nothing():
    one, other = (spacing(times_s(BY_STEPS, 25.0, seed)) for seed in (0, 1))
    assert constant_in(one, other) == "both"


def test_a_collector_every_seventy_steps_comes_every_two_seconds():
    found = spacing(times_s(BY_STEPS, 25.0))
    assert found.steps == 70
    # 70 steps of 25 ms, and the pause itself.
    assert found.seconds == pytest.approx(70 * 0.025 + 0.2, rel=0.01)
    assert found.slow == 4_000 // 70


def test_a_timer_of_ten_seconds_comes_every_ten_seconds_at_any_load():
    for step_ms in (15.0, 25.0, 45.0):
        assert spacing(times_s(BY_SECONDS, step_ms)).seconds == pytest.approx(10.0, abs=0.1)


def test_the_period_is_the_lag_of_the_highest_peak():
    gaps_s = np.diff(times_s(BY_STEPS, 25.0))
    found = autocorrelation(gaps_s, 200)
    assert found[0] == pytest.approx(1.0)
    assert int(found[10:].argmax()) + 10 == 70
    binned = by_seconds(times_s(BY_SECONDS, 25.0), bin_s=0.25)
    lag = int(autocorrelation(binned, 60)[10:].argmax()) + 10
    assert lag * 0.25 == pytest.approx(10.0, abs=0.25)


@given(st.integers(0, 99), st.integers(2, 60))
@settings(max_examples=20, deadline=None)
def test_correlations_lie_between_minus_one_and_one(seed, count):
    gaps = np.random.Generator(np.random.PCG64(seed)).random(count)
    found = autocorrelation(gaps, count - 1)
    direct = [
        ((gaps - gaps.mean())[: count - lag] * (gaps - gaps.mean())[lag:]).sum()
        for lag in range(count)
    ]
    assert found == pytest.approx(np.array(direct) / direct[0])
    assert np.abs(found).max() <= 1 + 1e-9


def test_a_pause_that_ends_leaves_a_stream_without_a_period():
    ended = Pause(0.2, every_steps=70, times=2)
    with pytest.raises(ValueError, match="2 slow gaps"):
        spacing(times_s(ended, 25.0))
    with pytest.raises(ValueError, match="no correlation"):
        autocorrelation(np.ones(5), 2)


def test_periods_that_both_change_belong_to_something_else():
    one, other = (
        spacing(times_s(BY_STEPS, 25.0)),
        spacing(times_s(Pause(0.2, every_steps=140), 25.0)),
    )
    assert constant_in(one, other) == "neither"


def test_a_full_collection_takes_a_third_more_allocations_than_the_product_of_the_thresholds():
    assert full_collection_allocations() == 93_233
    assert full_collection_allocations((700, 10, 10)) / (700 * 10 * 10) == pytest.approx(
        1.33, abs=0.01
    )

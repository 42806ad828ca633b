"""Step costs from measured steps: what was put in comes out."""

import random
from dataclasses import replace

import pytest

from labs.live.calibration import (
    BATCHES,
    Fit,
    Seen,
    Step,
    fit,
    fitted,
    gaps_of,
    holds,
    joined,
    paced,
    steps_of,
)
from labs.live.iterations import Iteration
from labs.live.scenarios import storm


def made(noise=0.0, *, base=10.0, kv_us=2.0, prefill=0.5, sequence=0.4):
    """Steps of many kinds with these costs, milliseconds."""
    stream = random.Random("steps")
    steps = []
    for sequences in (1, 2, 4, 7, 12, 20, 32):
        for prompt in (0, 0, 0, 64 * sequences):
            kv = sequences * stream.randrange(64, 600)
            took = base + kv * kv_us / 1000 + prompt * prefill + sequences * sequence
            steps.append(Step(took * (1 + noise * stream.uniform(-1, 1)), kv, prompt, sequences))
    return steps


def test_the_costs_that_made_the_steps_are_found():
    found = fit(made())
    assert (found.base_ms, found.kv_us_per_token) == pytest.approx((10.0, 2.0))
    assert (found.prefill_ms_per_token, found.sequence_ms) == pytest.approx((0.5, 0.4))
    assert found.median_error == pytest.approx(0.0, abs=1e-9)
    assert found.steps == 28


def test_noise_moves_the_costs_little_and_shows_as_error():
    found = fit(made(noise=0.1))
    assert found.prefill_ms_per_token == pytest.approx(0.5, rel=0.1)
    assert 0.01 < found.median_error < 0.1


def test_no_cost_is_below_nothing():
    found = fit(made(kv_us=-0.5))
    assert found.kv_us_per_token == 0.0
    assert min(found.base_ms, found.prefill_ms_per_token, found.sequence_ms) >= 0


def test_too_few_steps_are_refused():
    with pytest.raises(ValueError, match="3 steps are too few"):
        fit(made()[:3])


def test_the_fit_is_given_to_the_simulator_in_its_own_units():
    cost = fit(made()).cost()
    assert cost.base_ps == pytest.approx(10e9)
    assert cost.per_kv_token_ps == pytest.approx(2e6)
    assert cost.per_prefill_token_ps == pytest.approx(5e8)


def test_what_a_batch_took_besides_its_steps_is_shared_out_and_its_end_is_left_out():
    batch = [
        Iteration(0, 1, 64, 0, 30.0),
        Iteration(1, 1, 64, 1, 40.0),
        Iteration(2, 0, 0, 2, 10.0),
        Iteration(3, 0, 0, 1, 8.0),
    ]
    steps = steps_of(batch, wall_ms=100.0, requests=2)
    assert [each.took_ms for each in steps] == [33.0, 43.0, 13.0]
    assert [each.kv_tokens for each in steps] == [64, 129, 131]
    assert [each.sequences for each in steps] == [1, 2, 2]


def test_gaps_are_those_between_the_last_beginning_and_the_first_end():
    ms = 10**9
    first = [10 * ms, 30 * ms, 42 * ms, 54 * ms, 66 * ms]
    second = [30 * ms, 42 * ms, 54 * ms]
    assert gaps_of([first, second], 64) == [(12.0, 132, 2), (12.0, 134, 2)]


def test_steps_spread_as_measured_ones_did_and_prefill_does_not():
    made_of = Fit(10.0, 0.0, 1.0, 0.0, 4, 0.0, jitter=(-8.0, 0.0, 20.0))
    cost, again = made_of.with_jitter("seed"), made_of.with_jitter("seed")
    decode = {"kv_tokens": 100, "prefill_tokens": 0, "sequences": 2, "tokens": 2}
    took = [cost.step_ps(**decode) for _ in range(50)]
    # No step is shorter than half of what was fitted.
    assert set(took) == {5 * 10**9, 10**10, 3 * 10**10}
    assert took == [again.step_ps(**decode) for _ in range(50)]
    prefill = {"kv_tokens": 100, "prefill_tokens": 64, "sequences": 2, "tokens": 66}
    assert cost.step_ps(**prefill) == 74 * 10**9


def test_an_engine_is_measured_with_the_batches_that_it_holds_at_once():
    storm_run, capped, watermarked, ample = (run.config for run in storm().runs)
    assert not holds(storm_run, 32, 64, 60)
    assert holds(storm_run, 20, 64, 60)
    assert holds(storm_run, 7, 448, 60)
    assert not holds(watermarked, 7, 448, 60)
    assert {count for count, *_ in BATCHES if holds(capped, count, 64, 60)} == {1, 2, 4, 7}
    assert holds(ample, 32, 256, 40)
    assert not holds(ample, 1, 1000, 60)


def test_what_was_measured_before_and_after_is_fitted_together():
    steps = made()
    half = len(steps) // 2
    seen = joined([Seen(tuple(steps[:half])), Seen(tuple(steps[half:]), ((24.0, 1000, 5),))])
    assert (fitted(seen).base_ms, fitted(seen).steps) == (fit(steps).base_ms, len(steps))
    assert fitted(seen).jitter == pytest.approx((24.0 - fit(steps).decode_ms(1000, 5),))


def test_a_slower_hour_makes_every_cost_longer_by_as_much():
    shape = fit(made())
    slower = [replace(each, took_ms=1.25 * each.took_ms) for each in made()]
    found = paced(shape, Seen(tuple(slower), ((25.0, 1000, 5),)))
    assert found.pace == pytest.approx(1.25)
    assert found.base_ms == pytest.approx(1.25 * shape.base_ms)
    assert found.step_ms(slower[0]) == pytest.approx(slower[0].took_ms)
    assert found.jitter == pytest.approx((25.0 - found.decode_ms(1000, 5),))
    with pytest.raises(ValueError, match="no step was measured"):
        paced(shape, Seen())

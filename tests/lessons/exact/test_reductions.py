import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessons.exact.numerics import bfloat16
from lessons.exact.reductions import accumulate, diverge, flips, split_k


def matrices(seed, n=4, d=64, m=32):
    rng = np.random.Generator(np.random.PCG64(seed))
    return (
        bfloat16(rng.standard_normal((n, d)).astype(np.float32)),
        bfloat16(rng.standard_normal((d, m)).astype(np.float32)),
    )


def test_six_hundred_ones_are_256():
    assert accumulate(np.ones(600, dtype=np.float32)) == 256
    assert accumulate(np.ones(200, dtype=np.float32)) == 200


@given(st.integers(0, 500), st.booleans())
@settings(max_examples=25)
def test_one_part_is_the_product_rounded_once(seed, running):
    rows, weights = matrices(seed)
    exact = (rows.astype(np.float64) @ weights).astype(np.float32)
    assert np.array_equal(split_k(rows, weights, 1, running=running), bfloat16(exact))


@given(st.integers(0, 500), st.integers(1, 64))
@settings(max_examples=40)
def test_no_way_to_add_is_off_by_more_than_its_roundings(seed, parts):
    rows, weights = matrices(seed)
    exact = rows.astype(np.float64) @ weights
    reach = (np.abs(rows).astype(np.float64) @ np.abs(weights)).max()
    found = split_k(rows, weights, parts, running=True)
    assert np.abs(found - exact).max() <= (parts + 1) * reach * 2**-8


def test_parts_that_no_sum_has_are_refused():
    rows, weights = matrices(0)
    for parts in (0, 65):
        with pytest.raises(ValueError, match="parts"):
            split_k(rows, weights, parts)


def test_another_order_flips_one_or_two_positions_in_a_hundred():
    found = [flips(4, seed=seed) for seed in range(4)]
    assert np.mean([one.flipped for one in found]) == pytest.approx(0.018, abs=0.008)
    assert all(0.03 < one.largest_change < 0.08 for one in found)
    assert np.mean([one.median_margin for one in found]) == pytest.approx(0.37, abs=0.03)
    assert found[0].identical(200) < 0.1


def test_the_same_order_flips_nothing():
    found = flips(1, seed=0, positions=50)
    assert (found.flipped, found.largest_change, found.identical(200)) == (0.0, 0.0, 1.0)


def test_sums_kept_in_fp32_until_the_end_flip_less():
    running = flips(4, seed=2, positions=400, depth=256, vocab=2_048)
    kept = flips(4, seed=2, positions=400, depth=256, vocab=2_048, running=False)
    assert kept.largest_change < running.largest_change


def test_logits_differ_long_before_the_text_does():
    found = diverge(1, 4, seed=0)
    assert (found.first_logit <= found.first_token).all()
    assert found.first_logit.max() == 0
    assert np.median(found.first_token) > 5


def test_first_flips_are_spread_as_a_geometric_distribution():
    found = [diverge(1, 4, seed=seed, tokens=60, prompts=32) for seed in range(6)]
    rate = np.mean([one.rate for one in found])
    assert rate == pytest.approx(0.0125, abs=0.005)
    identical = np.mean([one.identical for one in found])
    assert identical == pytest.approx((1 - rate) ** 60, abs=0.12)


def test_the_same_parts_give_the_same_answers_to_the_end():
    found = diverge(4, 4, seed=0, tokens=40)
    assert found.identical == 1.0
    assert (found.first_logit == 40).all()
    assert found.rate == 0.0


def test_another_process_with_another_thread_count_computes_the_same_bytes():
    code = (
        "from lessons.exact.reductions import diverge, flips;"
        "d = diverge(1, 4, seed=3, tokens=30);"
        "print(d.first_token.tolist(), flips(4, seed=3, positions=60, depth=256, vocab=1024))"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"OPENBLAS_NUM_THREADS": threads, "PYTHONHASHSEED": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2")
    }
    assert len(told) == 1
    assert "Flips" in told.pop()

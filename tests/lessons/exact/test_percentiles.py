import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons.exact.percentiles import (
    Fleet,
    Freezes,
    histogram_quantile,
    over_gaps,
    over_streams,
    quantile,
    share_that_met_one,
    stream_gaps_ms,
)

HEAD, TAIL = Freezes(), Freezes(queue_ms=8_000.0)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50), st.floats(0, 1))
def test_a_quantile_is_numpys(values, share):
    assert quantile(values, share) == pytest.approx(np.quantile(values, share), abs=1e-6)


def test_a_histogram_knows_no_more_than_its_bounds():
    values = [0.3] * 90 + [0.9] * 9 + [30.0]
    assert histogram_quantile(values, (0.25, 0.5, 1.0), 0.5) == pytest.approx(0.25 + 0.25 * 50 / 90)
    # Beyond the last bound everything reads as that bound, and above 0.9 nothing is known but the bucket.
    assert histogram_quantile(values, (0.25, 0.5, 1.0), 0.995) == 1.0
    assert histogram_quantile(values, (0.25, 0.5, 1.0), 0.99) == 1.0
    assert math.isnan(histogram_quantile([], (1.0,), 0.5))


@given(st.lists(st.floats(0.001, 9.9), min_size=5, max_size=80), st.floats(0.01, 0.99))
def test_a_quantile_of_buckets_lies_within_the_bucket_of_the_true_one(values, share):
    bounds = [0.5, 1.0, 2.5, 5.0, 10.0]
    place = math.ceil(share * len(values)) - 1
    true = sorted(values)[place]
    index = next(i for i, bound in enumerate(bounds) if true <= bound)
    low = bounds[index - 1] if index else 0.0
    assert low <= histogram_quantile(values, bounds, share) <= bounds[index] + 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_two_policies_share_the_p99_of_gaps_and_differ_in_the_longest_gap_of_a_stream(seed):
    head, tail = stream_gaps_ms(HEAD, seed), stream_gaps_ms(TAIL, seed)
    for share in (0.5, 0.99, 0.999):
        assert over_gaps(head, share) == over_gaps(tail, share)
    assert over_gaps(head, 0.99) == pytest.approx(28.0, abs=0.2)
    assert over_gaps(head, 0.999) == pytest.approx(29.4, abs=0.3)
    assert over_streams(head, 0.50) == pytest.approx(29, abs=0.5)
    assert over_streams(head, 0.75) < 1_000
    assert over_streams(tail, 0.75) > 8_000
    assert over_streams(tail, 0.95) - over_streams(head, 0.95) == pytest.approx(8_000)


def test_frozen_gaps_are_six_in_ten_thousand():
    gaps_ms = stream_gaps_ms(HEAD, 0)
    assert gaps_ms.shape == (400, 500)
    assert (gaps_ms > 100).sum() / gaps_ms.size == pytest.approx(0.0006)


def test_the_longest_gap_is_the_same_for_both_ways_of_looking_at_the_extreme():
    gaps_ms = stream_gaps_ms(HEAD, 1)
    assert over_gaps(gaps_ms, 1.0) == over_streams(gaps_ms, 1.0)


def test_few_events_meet_many_streams():
    assert share_that_met_one(1, 1) == 1.0
    assert share_that_met_one(0, 5) == 0.0
    assert share_that_met_one(5, 10) == pytest.approx(1 - 0.9**5)


def test_a_slow_replica_of_eight_makes_the_tail_of_the_fleet():
    fleet = Fleet()
    assert fleet.healthy_quantile(0.99) == pytest.approx(1.79, abs=0.005)
    assert fleet.quantile(0.99) == pytest.approx(1.95, abs=0.005)
    assert fleet.tail_from_slow(0.99) == pytest.approx(0.665, abs=0.005)
    # The p92 of the slow replica is the bound; at a factor of 1.3 the healthy ones still hold a third of the tail.
    assert fleet.slow_place_bound(0.99) == pytest.approx(0.92)
    assert fleet.slow_quantile(0.92) == pytest.approx(1.85, abs=0.005)
    assert fleet.slow_place(0.99) == pytest.approx(0.947, abs=0.001)


@given(st.integers(2, 64), st.floats(1.0, 5.0), st.floats(0.5, 0.999))
def test_a_fleets_quantile_lies_between_those_of_its_replicas(replicas, factor, share):
    fleet = Fleet(replicas, 0.25, factor)
    found = fleet.quantile(share)
    assert fleet.healthy_quantile(share) - 1e-9 <= found <= fleet.slow_quantile(share) + 1e-9
    assert sum(fleet.beyond(found)) == pytest.approx(1 - share, rel=1e-6)
    assert fleet.slow_quantile(fleet.slow_place(share)) == pytest.approx(found, rel=1e-6)
    assert fleet.slow_place(share) >= fleet.slow_place_bound(share) - 1e-9


def test_the_bound_is_reached_when_the_slow_one_holds_all_of_the_tail():
    assert Fleet(slow_factor=3.0).slow_place(0.99) == pytest.approx(0.92, abs=1e-6)
    assert Fleet(slow_factor=3.0).tail_from_slow(0.99) == pytest.approx(1.0, abs=1e-6)


def test_a_fleet_with_nothing_slow_has_its_share_of_the_tail():
    assert Fleet(slow_factor=1.0).tail_from_slow(0.99) == pytest.approx(1 / 8)
    with pytest.raises(ValueError, match="fleet"):
        Fleet(replicas=0)


def test_one_seed_makes_one_set_of_streams():
    assert stream_gaps_ms(HEAD, 3).tobytes() == stream_gaps_ms(HEAD, 3).tobytes()
    assert stream_gaps_ms(HEAD, 3).tobytes() != stream_gaps_ms(HEAD, 4).tobytes()

"""Weighted kappa of two readers, its interval, and when it is not shown."""

import random

import pytest

from labs.agreement import LEAST_ATTEMPTS, agreement, place, without_each
from labs.marking.agreement import weighted_kappa


def drawn(attempts, slip, seed=1):
    """Clusters of four items of two points each; the second reader slips by one with a probability."""
    rng = random.Random(seed)

    def pair():
        one = rng.randint(0, 2)
        off = rng.choice((-1, 1)) if rng.random() < slip else 0
        return one, max(0, min(2, one + off))

    return [[pair() for _ in range(4)] for _ in range(attempts)]


def kappa_of(clusters):
    pairs = [pair for cluster in clusters for pair in cluster]
    return weighted_kappa([int(2 * one) for one, _ in pairs], [int(2 * two) for _, two in pairs])


def test_the_same_points_throughout_are_one_and_leave_no_doubt():
    found = agreement(drawn(12, slip=0))
    assert (found.kappa, found.low, found.high, found.milder) == (1, 1, 1, 0)


def test_readers_who_slip_agree_less_the_more_they_slip():
    kappas = [agreement(drawn(60, slip)).kappa for slip in (0.1, 0.4, 0.9)]
    assert kappas == sorted(kappas, reverse=True)


def test_leaving_one_attempt_out_is_the_kappa_of_the_others():
    clusters = drawn(15, slip=0.5)
    for place_, left_out in enumerate(without_each(clusters)):
        assert left_out == pytest.approx(kappa_of(clusters[:place_] + clusters[place_ + 1 :]))


def test_halves_count_as_halves():
    clusters = [[(0.5, 1.0), (2, 1.5)], *drawn(12, slip=0.3)]
    assert agreement(clusters).kappa == pytest.approx(kappa_of(clusters))


def test_the_interval_holds_the_kappa_of_most_classes_and_narrows_with_their_size():
    truth = agreement(drawn(4000, slip=0.4)).kappa
    classes = [agreement(drawn(40, slip=0.4, seed=seed)) for seed in range(200)]
    assert 0.88 <= sum(each.low <= truth <= each.high for each in classes) / 200 <= 0.99
    small, large = agreement(drawn(20, 0.4)), agreement(drawn(500, 0.4))
    assert large.high - large.low < (small.high - small.low) / 2


def test_below_ten_attempts_nothing_is_shown():
    found = agreement(drawn(LEAST_ATTEMPTS - 1, slip=0.2))
    assert (found.kappa, found.low, found.attempts) == (None, None, 9)
    assert agreement([]).kappa is None


def test_everybody_in_one_band_agrees_and_divides_by_nothing():
    found = agreement([[(1, 1)]] * 12)
    assert (found.kappa, found.low, found.high) == (1, 1, 1)


def test_the_milder_reader_is_above_zero():
    assert agreement([[(2, 1)]] * 3).milder == 1


@pytest.mark.parametrize(("kappa", "expected"), [(-0.9, "0.00%"), (0.25, "50.00%"), (1, "100.00%")])
def test_a_kappa_has_its_place_on_the_axis(kappa, expected):
    assert place(kappa) == expected

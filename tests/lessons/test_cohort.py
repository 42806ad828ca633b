"""What everybody said: from five people on, and never who."""

from dataclasses import asdict
from itertools import pairwise

import pytest

from lessons.cohort import LEAST, MOST_BINS, cohort_of
from lessons.guesses import Axes

AXES = Axes("minutes", (0, 5, 10, 15, 20), "KV usage", "%", least=0, most=100, step=5)


@pytest.mark.parametrize("count", [1, LEAST - 1])
def test_fewer_than_five_people_are_no_distribution(count):
    assert cohort_of([12.0] * count, 12.0, {"answer": 20}) is None
    assert cohort_of([12.0] * LEAST, 12.0, {"answer": 20}).count == LEAST


def test_numbers_fall_into_a_dozen_bins_at_most_with_ones_own_and_the_answer_marked():
    guesses = [3, 10, 12, 14, 40, 41, 77]
    found = cohort_of(guesses, 12, {"answer": 44})
    bins = found.histogram.bins
    assert len(bins) <= MOST_BINS
    assert sum(each.count for each in bins) == len(guesses)
    assert [each.low <= 12 < each.high for each in bins] == [each.is_yours for each in bins]
    assert [each.low <= 44 < each.high for each in bins] == [each.is_answer for each in bins]
    assert all(each.high == pytest.approx(after.low) for each, after in pairwise(bins))
    assert found.came == 2


@pytest.mark.parametrize("guesses", [[0, 1, 30, 900, 80_000], [2, 5, 10, 1_000, 70_000]])
def test_numbers_over_more_than_two_decades_are_binned_by_ratio(guesses):
    found = cohort_of(guesses, guesses[0], {"answer": 230}).histogram
    assert found.is_log
    assert sum(each.count for each in found.bins) == len(guesses)
    assert found.bins[0].is_yours
    assert len(found.bins) <= MOST_BINS + 6


def test_five_equal_numbers_are_one_bar():
    found = cohort_of([7] * 5, 7, {"answer": 7}).histogram
    assert [each.count for each in found.bins if each.count] == [5]


def test_a_choice_has_a_bar_for_each_option_and_one_for_what_is_gone():
    found = cohort_of(["a", "b", "b", "b", "gone"], "b", {"answer": "a"}, ["a", "b", "c"])
    assert [(bar.key, bar.count) for bar in found.bars] == [
        ("a", 1),
        ("b", 3),
        ("c", 0),
        ("gone", 1),
    ]
    assert [bar.key for bar in found.bars if bar.is_yours] == ["b"]
    assert [bar.key for bar in found.bars if bar.is_answer] == ["a"]
    assert found.bars[1].share == 0.6


def test_an_order_has_the_share_of_people_at_each_place():
    guesses = [["a", "b", "c"]] * 3 + [["b", "a", "c"], ["c", "b", "a"]]
    found = cohort_of(guesses, ["c", "b", "a"], {"answer": ["a", "b", "c"]})
    assert found.places[0].shares == (0.6, 0.2, 0.2)
    assert all(sum(item.shares) == pytest.approx(1) for item in found.places)
    assert [(item.key, item.yours, item.computed) for item in found.places] == [
        ("a", 3, 1),
        ("b", 2, 2),
        ("c", 1, 3),
    ]


def test_sketches_have_the_middle_half_at_each_place():
    guesses = [[float(n)] * 5 for n in (0, 10, 20, 30, 90)]
    found = cohort_of(guesses, guesses[0], {"answer": [20.0] * 5, "axes": asdict(AXES)})
    assert [(at.low, at.middle, at.high) for at in found.band] == [(10, 20, 30)] * 5
    assert [at.x for at in found.band] == [0, 5, 10, 15, 20]
    assert found.came == 3


def test_a_guess_of_another_kind_is_not_counted():
    guesses = ["a", "b", "a", "a", "b", 12.0, ["a"]]
    assert cohort_of(guesses, "a", {"answer": "a"}, ["a", "b"]).count == 5
    assert cohort_of([*guesses[5:], 1, 2, 3], 12.0, {"answer": 3}) is None

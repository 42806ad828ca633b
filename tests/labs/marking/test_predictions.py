import math
import random

import pytest

from labs.marking.predictions import (
    Guessed,
    brier,
    calibration_strip,
    calibration_word,
    is_hit,
    range_score,
    value_error,
    wilson,
)


def test_three_hundred_for_229_is_a_miss_by_four_tenths_of_an_octave():
    assert value_error(300, 229) == pytest.approx(0.390, abs=5e-4)
    assert not is_hit(300, 229)
    assert brier(70, hit=is_hit(300, 229)) == pytest.approx(0.49)


def test_a_range_that_misses_pays_ten_an_octave():
    assert range_score(100, 200, 229) == pytest.approx(2.953, abs=5e-4)
    assert range_score(100, 300, 229) == pytest.approx(1.585, abs=5e-4)
    assert range_score(300, 600, 229) == pytest.approx(1 + 10 * math.log2(300 / 229))


def test_a_hit_is_within_a_quarter_either_way():
    assert is_hit(125, 100)
    assert is_hit(80, 100)
    assert not is_hit(126, 100)
    assert not is_hit(79, 100)


def test_counts_get_one_added_and_shares_a_difference():
    assert value_error(0, 1, "count") == -1
    assert value_error(0, 0, "count") == 0
    assert is_hit(0, 0, "count")
    assert value_error(0.4, 0.1, "share") == pytest.approx(0.3)
    assert is_hit(0, 0, "share")
    assert not is_hit(0.1, 0, "share")
    assert range_score(0, 1, 1, "count") == 1
    assert range_score(0.2, 0.4, 0.5, "share") == pytest.approx(1.2)


def test_a_ratio_of_what_is_not_above_zero_is_refused():
    with pytest.raises(ValueError, match="above 0"):
        value_error(0, 10)
    with pytest.raises(ValueError, match="above 0"):
        range_score(0, 10, 5)
    with pytest.raises(ValueError, match="ends before it starts"):
        range_score(10, 5, 7)


def test_a_choice_is_scored_on_the_option_chosen():
    assert brier(90, hit=True) == pytest.approx(0.01)
    assert brier(90, hit=False) == pytest.approx(0.81)


def test_six_of_ten_has_the_wilson_interval_of_the_specification():
    low, high = wilson(6, 10)
    assert (low, high) == pytest.approx((0.352, 0.806), abs=5e-4)
    assert wilson(0, 5)[0] == 0
    assert wilson(5, 5)[1] == pytest.approx(1)
    for hits, count in [(3, 2), (0, 0), (-1, 4)]:
        with pytest.raises(ValueError, match="no such share"):
            wilson(hits, count)


def test_words_for_each_level_would_mislabel_a_quarter_of_calibrated_people():
    silent = 1.0
    for chance in (0.5, 0.7, 0.9):
        silent *= sum(
            math.comb(10, hits) * chance**hits * (1 - chance) ** (10 - hits)
            for hits in range(11)
            if wilson(hits, 10)[0] <= chance <= wilson(hits, 10)[1]
        )
    assert 1 - silent == pytest.approx(0.23, abs=0.005)


def guesses(percent, hits, count):
    return [Guessed(percent, k < hits) for k in range(count)]


def test_the_strip_waits_for_twenty_and_a_level_for_five():
    assert calibration_strip(guesses(70, 14, 19)) is None
    strip = calibration_strip(guesses(70, 11, 16) + guesses(90, 4, 4))
    assert [(each.percent, each.hits, each.count) for each in strip.levels] == [
        (50, 0, 0),
        (70, 11, 16),
        (90, 4, 4),
    ]
    assert [each.interval is None for each in strip.levels] == [True, False, True]
    assert strip.word is None


def test_a_word_is_said_only_with_reason():
    assert calibration_word(guesses(90, 0, 19)) is None
    assert calibration_word(guesses(90, 12, 20)) == "over-confident"
    assert calibration_word(guesses(50, 16, 20)) == "under-confident"
    assert calibration_word(guesses(70, 14, 20)) is None


def word_rate(chance_less, count=30, rounds=4000):
    rng = random.Random(f"words:{chance_less}")
    said = 0
    for _ in range(rounds):
        given = []
        for _ in range(count):
            percent = rng.choice([50, 70, 90])
            given.append(Guessed(percent, rng.random() < percent / 100 - chance_less))
        said += calibration_word(given) is not None
    return said / rounds


def test_a_word_mislabels_one_calibrated_person_in_twenty():
    assert word_rate(0.0) == pytest.approx(0.045, abs=0.012)


def test_a_word_sees_twenty_points_of_excess_seven_times_in_ten():
    assert word_rate(0.2) == pytest.approx(0.71, abs=0.04)


def test_a_confidence_that_cannot_be_given_is_refused():
    with pytest.raises(ValueError, match=r"not \[60\]"):
        calibration_strip([Guessed(60, True)])

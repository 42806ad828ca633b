import math

import pytest

from lessons.exact.evidence import after, doubt, worth, worth_a_minute

EVEN = {"a": 0.5, "b": 0.5}


def test_two_suspects_that_are_equally_likely_are_one_bit_of_doubt():
    assert doubt(EVEN) == pytest.approx(1)
    assert doubt({"a": 1.0, "b": 0.0}) == 0


def test_shares_that_do_not_add_up_are_refused():
    with pytest.raises(ValueError, match="add up to 1"):
        doubt({"a": 0.5, "b": 0.4})


def test_bayes_rule_as_by_hand():
    found = after({"bad": 0.02, "good": 0.98}, {"bad": 0.99, "good": 0.05})
    assert found["bad"] == pytest.approx(0.02 * 0.99 / (0.02 * 0.99 + 0.98 * 0.05))
    assert math.fsum(found.values()) == pytest.approx(1)


def test_a_reading_that_no_suspect_gives_says_that_one_is_missing():
    with pytest.raises(ValueError, match="missing"):
        after(EVEN, {"a": 0.0, "b": 0.0})


def test_a_reading_that_decides_is_worth_all_the_doubt():
    assert worth(EVEN, {"a": 1.0, "b": 0.0}) == pytest.approx(1)


def test_a_reading_that_reads_alike_in_both_is_worth_nothing():
    assert worth(EVEN, {"a": 0.98, "b": 0.98}) == pytest.approx(0)


def test_a_noisy_reading_is_worth_the_capacity_of_its_channel():
    noise = -(0.1 * math.log2(0.1) + 0.9 * math.log2(0.9))
    assert worth(EVEN, {"a": 0.9, "b": 0.1}) == pytest.approx(1 - noise)


def test_the_worth_a_minute_falls_with_the_price():
    sure = {"a": 1.0, "b": 0.0}
    assert worth_a_minute(EVEN, sure, cost_s=30) == pytest.approx(2)
    with pytest.raises(ValueError, match="takes time"):
        worth_a_minute(EVEN, sure, cost_s=0)

import pytest

from labs.marking.information import best_information, posterior
from labs.marking.values import (
    Instrument,
    best_value,
    value_left,
    value_per_minute,
    valued_instruments,
)

from .test_information import xor_table
from .toys import drawn


def test_value_is_bits_a_minute_of_seconds_and_attention():
    assert value_per_minute(1.2, 12, 1) == pytest.approx(2.667, abs=5e-4)
    assert value_per_minute(0.5, 0, 0) == 0


def test_a_free_counter_is_not_infinitely_good():
    assert value_per_minute(1.0, 0, 1) == 4.0


@pytest.mark.parametrize(("shown", "value"), [(0, 6.0), (10, 1.0)])
def test_a_page_dump_pays_for_each_signal_that_it_shows(shown, value):
    assert value_per_minute(3.0, 30, shown) == value


def test_instruments_are_listed_by_what_they_are_worth():
    table = drawn([[0, 4], [0, 1], [0, 0]])
    dear = Instrument("dear", ("s00",), 300, 30)
    cheap = Instrument("cheap", ("s00",), 10)
    faint = Instrument("faint", ("s01",), 10)
    noise = Instrument("noise", ("s02",), 1)
    listing = valued_instruments(table, [noise, faint, dear, cheap], 0)
    assert [each.instruments[0] for each in listing] == ["cheap", "faint", "dear", "noise"]
    assert listing[2].seconds == 330
    assert listing[3].value == 0
    assert listing[0].information == best_information(table, {"s00": 0}).counted


def test_the_best_value_finds_an_answer_that_lies_in_a_combination():
    instruments = [Instrument("A", ("a",), 12), Instrument("B", ("b",), 18)]
    best = best_value(xor_table(), instruments, 0)
    assert best.instruments == ("A", "B")
    assert best.value == pytest.approx(60 * best.information / (30 + 30))
    assert all(each.value == 0 for each in valued_instruments(xor_table(), instruments, 0))


def test_the_best_value_of_one_good_instrument_is_its_own():
    table = drawn([[0, 4], [0, 1]])
    instruments = [Instrument("A", ("s00",), 12), Instrument("B", ("s01",), 60)]
    assert best_value(table, instruments, 0).instruments == ("A",)
    with pytest.raises(ValueError, match="without instruments"):
        best_value(table, [], 0)


def test_once_the_answer_is_known_nothing_is_left_to_ask():
    table = drawn([[0, 4], [0, 4]])
    instruments = [Instrument("A", ("s00",), 12), Instrument("B", ("s01",), 12)]
    after = posterior(table, {("s00", 0): 4.0})
    assert value_left(table, instruments, 0, after)[0].value == 0
    before = len(table.memo)
    assert value_left(table, instruments, 0, table.priors)[0].value > 0
    assert len(table.memo) == before

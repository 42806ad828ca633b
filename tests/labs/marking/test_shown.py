from dataclasses import replace
from itertools import permutations

import pytest

from labs.marking.shown import posterior_after, waste_s
from labs.marking.table import Signal

from .test_information import xor_table
from .toys import drawn, reading


@pytest.fixture(scope="module")
def table():
    return drawn([[4, 0, 0], [4, 0, 0.2], [0, 0, 0]])


def test_seconds_beyond_the_cheapest_telling_readings_are_waste(table):
    phase = [
        reading(1, "s02", cost_s=100),
        reading(2, "s00", cost_s=60),
        reading(3, "s01", cost_s=20),
        reading(4, "s01", cost_s=20),
    ]
    # Neither s00 nor s01 alone has 95 % of what both tell: 80 of 200 s were needed.
    assert waste_s(table, phase) == 120
    assert waste_s(table, phase[2:]) == 20
    assert waste_s(table, phase[:1]) == 100


def test_readings_that_tell_together_are_no_waste():
    table = xor_table()
    assert waste_s(table, [reading(1, "a", cost_s=12), reading(2, "b", cost_s=18)]) == 0
    assert waste_s(table, [reading(1, "a", "b", cost_s=12), reading(2, "b", cost_s=18)]) == 18
    assert waste_s(table, [reading(1, "a", cost_s=12)]) == 12


def test_waste_ignores_order(table):
    phase = [
        reading(1, "s00", cost_s=60, at_s=5),
        reading(2, "s01", cost_s=20, at_s=5),
        reading(3, "s02", cost_s=7, at_s=5),
    ]
    wasted = {
        waste_s(table, [replace(each, number=n) for n, each in enumerate(order)])
        for order in permutations(phase)
    }
    assert len(wasted) == 1


def test_a_duplicate_is_waste_in_full(table):
    once = [reading(1, "s00", cost_s=60)]
    assert waste_s(table, [*once, reading(2, "s00", cost_s=60)]) == waste_s(table, once) + 60


def test_the_posterior_is_that_of_the_most_telling_readings(table):
    after = posterior_after(table, [reading(1, values={"s00": 4.0, "s02": 0.0})])
    assert max(after, key=lambda world: after[world]) == "w0"
    assert posterior_after(table, []) == pytest.approx(dict(table.priors))
    spoilt = reading(1, values={"s00": 4.0}, spoilt=True)
    assert posterior_after(table, [spoilt]) == pytest.approx(dict(table.priors))


def test_a_derived_signal_needs_its_value():
    table = drawn([[0, 0], [0, 0], [0, 6]], signals=["a", "b", "load"])
    table = replace(
        table, signals=(*table.signals[:2], Signal("load", "", "id", 0.1, inputs=("a", "b")))
    )
    phase = [reading(1, "a"), reading(2, "b")]
    with pytest.raises(ValueError, match="load"):
        posterior_after(table, phase)
    phase = [reading(1, "a"), reading(2, "b", derived={"load": 6.0})]
    assert posterior_after(table, phase)["w1"] > 0.9

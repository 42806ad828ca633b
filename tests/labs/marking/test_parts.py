import random

import pytest

from labs.marking.constants import WEIGHTS
from labs.marking.parts import counted_noun, half_up, listed, made_part


@pytest.mark.parametrize(
    ("number", "rounded"),
    [
        (0.05, 0.1),
        (0.15, 0.2),
        (0.25, 0.3),
        (2.675, 2.7),
        (4.375, 4.4),
        (13.333333, 13.3),
        (8.571428, 8.6),
        (6.949999999, 6.9),
        (6.95 - 1e-13, 7.0),
        (1.1 * 1.5, 1.7),
        (0.0, 0.0),
        (100.0, 100.0),
    ],
)
def test_points_are_rounded_half_up(number, rounded):
    assert half_up(number) == rounded


def test_every_half_of_a_tenth_goes_up_whatever_float_noise_it_carries():
    rng = random.Random("half:1")
    for tenth in range(1000):
        noise = rng.uniform(-1e-12, 1e-12)
        assert half_up(tenth / 10 + 0.05 + noise) == (tenth + 1) / 10


def test_two_decimals_are_rounded_half_up_too():
    assert half_up(2.675, decimals=2) == 2.68
    assert half_up(1.005, decimals=2) == 1.01


def test_what_is_not_finite_cannot_be_rounded():
    for number in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="finite"):
            half_up(number)


def test_the_weights_are_a_hundred():
    assert sum(WEIGHTS.values()) == 100


def test_a_part_lies_between_nothing_and_its_weight():
    assert made_part("scope", 10.04, "", {}).earned == 10.0
    for points in (-1, 10.06):
        with pytest.raises(ValueError, match="not between 0 and 10"):
            made_part("scope", points, "", {})
    with pytest.raises(ValueError, match="no such part"):
        made_part("style", 1, "", {})


def test_names_and_counts_read_as_sentences_do():
    assert listed(("b", "a", "c")) == "a, b and c"
    assert listed(("a",)) == "a"
    assert listed(()) == "nothing"
    assert [counted_noun(n, "reading") for n in (1, 2)] == ["1 reading", "2 readings"]

"""What came and what did not, by kind; and how far off in words."""

from dataclasses import asdict

import pytest

from lessons.guesses import Axes, came, distance, number_distance, sketch_error

AXES = Axes("minutes", (0, 5, 10, 15), "KV usage", "%", least=0, most=200, step=5, within=0.1)
CHOICE = {"answer": "kv", "axes": None}
ORDER = {"answer": ["a", "b", "c", "d"], "axes": None}
SKETCH = {"answer": [0.0, 100.0, 200.0, 100.0], "axes": asdict(AXES)}


@pytest.mark.parametrize(
    ("said", "computed", "shown"),
    [
        (12, 304, ("25", "times", "too low")),
        (600, 304, ("97", "%", "too high")),
        (1, 1.34, ("25", "%", "too low")),
        (100, 20, ("5", "times", "too high")),
        (24, 24, ("0", "%", "exact, or nearly")),
        (0, 24, ("24", "", "too low")),
    ],
)
def test_a_guess_is_off_by_a_share_or_by_a_factor(said, computed, shown):
    found = number_distance(said, computed)
    assert (found.value, found.unit, found.words) == shown


@pytest.mark.parametrize(
    ("guess", "result", "hit"),
    [
        (124, {"answer": 100}, True),
        (126, {"answer": 100}, False),
        ("kv", CHOICE, True),
        ("queue", CHOICE, False),
        (["a", "b", "c", "d"], ORDER, True),
        (["b", "a", "c", "d"], ORDER, False),
        ([20, 120, 180, 120], SKETCH, True),
        ([20, 120, 180, 124], SKETCH, False),
        # What the question no longer asks for did not come.
        (12.0, CHOICE, False),
        ("kv", {"answer": 12.0}, False),
        ([20, 120, 180], SKETCH, False),
        ("kv", SKETCH, False),
    ],
)
def test_a_guess_comes_within_the_tolerance_of_its_kind(guess, result, hit):
    assert came(guess, result) is hit


def test_a_sketch_is_off_by_its_mean_distance_over_the_scale():
    assert sketch_error([0, 100, 200, 100], SKETCH["answer"], AXES) == 0
    assert sketch_error([40, 100, 200, 100], SKETCH["answer"], AXES) == pytest.approx(0.05)


def test_axes_come_back_from_what_a_reveal_kept():
    assert Axes.of({**asdict(AXES), "xs": [0, 5, 10, 15]}) == AXES


@pytest.mark.parametrize(
    ("guess", "result", "line"),
    [
        (50, {"answer": 100}, "2 times, too low"),
        ("kv", CHOICE, "what came"),
        ("queue", CHOICE, "something else came"),
        (["a", "b", "c", "d"], ORDER, "0 of 6 pairs the wrong way round"),
        (["d", "a", "b", "c"], ORDER, "3 of 6 pairs the wrong way round"),
        (["a", "b", "c", "x"], ORDER, "the question has changed"),
        ([20, 120, 180, 120], SKETCH, "10 % of the scale, a hit, being 10 % or less"),
        ([100, 100, 100, 100], SKETCH, "25 % of the scale, a hit is 10 % or less"),
        ([1, 2], SKETCH, "the question has changed"),
    ],
)
def test_every_kind_says_how_far_off(guess, result, line):
    assert distance(guess, result).line.replace("\xa0", " ") == line

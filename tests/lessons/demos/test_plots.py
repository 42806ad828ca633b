import pytest

from lessons.demos.numbers import plain, share, split_time, time
from lessons.demos.plots import Bar, Rule, Series, bars, lines

RISING = Series("rising", "c1", [0, 1, 2], [1.0, 2.0, 4.0])


def test_an_axis_begins_at_zero_and_leaves_room_for_the_labels():
    layout = lines("T", "s", "S.", [RISING], x_title="x").figure["layout"]
    assert layout["yaxis"]["range"] == [0, 4.6]
    assert layout["xaxis"]["range"][0] == 0
    assert layout["xaxis"]["range"][1] > 2
    assert layout["xaxis"]["tickvals"] == [0, 0.5, 1, 1.5, 2]


def test_labels_that_would_lie_on_each_other_are_pushed_apart():
    near = [Series(name, "c1", [0, 1], [0, y]) for name, y in (("a", 9.8), ("b", 10.0))]
    shifts = [label["yshift"] for label in lines("T", "s", "S.", near, x_title="x").figure["layout"]["annotations"]]  # fmt: skip
    assert shifts == [-8, 8]


def test_a_log_axis_holds_every_positive_value_and_labels_stand_at_the_logarithm():
    series = [Series("a", "c1", [0, 1], [0.0, 100.0])]
    layout = lines("T", "s", "S.", series, x_title="x", is_log=True).figure["layout"]
    low, high = layout["yaxis"]["range"]
    assert low <= 2 <= high
    assert layout["annotations"][0]["y"] == 2


def test_a_rule_is_drawn_and_named_in_its_colour():
    rules = [Rule(3.0, "target", colour="bad"), Rule(1.0, "you", is_vertical=True)]
    layout = lines("T", "s", "S.", [RISING], x_title="x", rules=rules).figure["layout"]
    assert [shape["line"]["color"] for shape in layout["shapes"]] == ["--bad", "--accent"]
    assert {"target", "you"} <= {label["text"] for label in layout["annotations"]}


def test_bars_stand_in_the_order_given_from_the_top():
    figure = bars("T", "s", "S.", [Bar("a", 1, "1 s"), Bar("b", 2, "2 s")]).figure
    assert figure["data"][0]["y"] == ["b", "a"]
    assert figure["layout"]["xaxis"]["range"] == [0, 2.6]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.0004, "0.4 ms"), (0.08, "80 ms"), (0.9996, "1.00 s"), (12.34, "12.3 s"), (2458, "2,458 s")],
)
def test_a_time_is_written_in_ms_below_a_second(seconds, words):
    assert time(seconds) == words
    assert " ".join(split_time(seconds)) == words


@pytest.mark.parametrize(
    ("part", "words"),
    [(0, "0 %"), (1, "100 %"), (1.1, "110 %"), (0.5, "50 %"), (0.034, "3.4 %"), (0.00001, "under 0.01 %"), (0.99999, "over 99.99 %"), (0.9942, "99.4 %")],
)  # fmt: skip
def test_a_share_never_rounds_to_nothing_or_to_all(part, words):
    assert share(part) == words


def test_a_number_is_written_as_it_was_set():
    assert [plain(x) for x in (11.0, 0.5, 1200, 8.25)] == ["11", "0.5", "1,200", "8.25"]

"""Lanes, as data."""

import pytest

from labs import charts


@pytest.mark.parametrize(("clock_s", "end_s"), [(0, 600), (599, 600), (600, 1200), (2900, 3000)])
def test_the_rooms_axis_ends_some_minutes_ahead_but_not_after_the_budget(clock_s, end_s):
    assert charts.shown_until_s(clock_s, 3000) == end_s


def done(kind, number, at_s, cost_s):
    return charts.Done(kind, number, at_s, cost_s)


def test_a_lane_draws_each_action_as_long_as_it_cost():
    lane = charts.lane(
        [done("reading", 1, 30, 30), done("change", 2, 110, 80)], from_s=-100, to_s=100
    )
    assert [(bar.css, bar.x) for bar in lane.bars] == [("f-edge", "50.00%"), ("f-yours", "65.00%")]
    assert lane.bars[1].width == "39.85%"
    assert lane.page == "50.00%"


def test_readings_in_a_row_share_one_label_and_a_wait_has_none():
    actions = [done("reading", n, 30 * n, 30) for n in (1, 2, 3)]
    lane = charts.lane([*actions, done("wait", 4, 690, 600)], from_s=0, to_s=700)
    assert [label.text for label in lane.labels] == ["1–3"]


def test_labels_that_would_touch_are_left_out():
    actions = [
        done("reading", 1, 10, 10),
        done("change", 2, 20, 10),
        done("verification", 3, 900, 300),
    ]
    lane = charts.lane(actions, from_s=0, to_s=1000)
    assert [label.text for label in lane.labels] == ["1", "3"]


def test_a_lane_is_told_in_words():
    lane = charts.lane(
        [done("reading", 1, 15, 15), done("reading", 2, 45, 30), done("change", 3, 125, 80)],
        from_s=0,
        to_s=600,
    )
    assert lane.spoken == "readings 1 to 2 until 0:45; change 3 until 2:05"


def test_what_cost_nothing_is_not_drawn():
    lane = charts.lane([done("answer", 1, 0, 0)], from_s=0, to_s=600)
    assert lane.bars == ()
    assert lane.spoken == "nothing yet"

"""Figures and lanes, as data."""

import json

import pytest

from labs import charts

POINTS = [(-60, 0.4), (0, 70.0), (60, None), (120, 302.4)]


def figure(points=POINTS, **others):
    known = {"from_s": -60, "to_s": 600, "healthy_to_s": -30, "target_s": 0.6, **others}
    return charts.ttft_figure(points, **known)


def test_a_figure_is_plain_json_with_time_in_minutes_and_gaps_kept():
    drawn = figure()
    assert json.loads(json.dumps(drawn)) == drawn
    assert drawn["data"][0]["x"] == [-1.0, 0.0, 1.0, 2.0]
    assert drawn["data"][0]["y"] == [0.4, 70.0, None, 302.0]


def test_the_log_axis_holds_every_value_and_the_target():
    axis = figure()["layout"]["yaxis"]
    assert (axis["type"], axis["range"]) == ("log", [-1, 3])
    assert axis["ticktext"] == ["0.1", "1", "10", "100", "1,000"]


def test_a_quiet_series_still_spans_two_decades():
    assert figure([(0, 0.5), (30, 0.5)])["layout"]["yaxis"]["range"] == [-1, 1]


def test_a_series_without_a_value_is_drawn_empty():
    assert figure([(0, None)])["data"][0]["y"] == [None]


def test_the_page_is_named_on_the_axis_and_minutes_before_it_have_a_true_minus():
    axis = figure(from_s=-600)["layout"]["xaxis"]
    assert axis["ticktext"] == ["−10", "−5", "page", "5", "10"]


def test_each_change_is_a_line_in_the_accent():
    shapes = figure(changes_s=[60, 300])["layout"]["shapes"]
    assert [shape["x0"] for shape in shapes if shape["line"].get("color") == "--accent"] == [
        1.0,
        5.0,
    ]


def test_colours_are_tokens_everywhere():
    drawn = json.dumps([figure(), charts.value_figure([])])
    assert "#" not in drawn
    assert "rgb" not in drawn


def test_paths_are_drawn_in_the_order_untouched_reference_you_within_their_window():
    runs = {"you": POINTS, "reference": POINTS, "untouched": [(-900, 1.0), *POINTS]}
    drawn = charts.paths_figure(runs, from_s=-600, to_s=600, target_s=0.6)
    assert [line["hovertemplate"].split(":")[0] for line in drawn["data"]] == [
        "untouched",
        "reference",
        "you",
    ]
    assert min(drawn["data"][0]["x"]) == -1.0


def test_the_best_instrument_is_on_top_and_yours_says_so():
    rows = [
        {"title": "Queue age", "value": 1.5, "yours": False},
        {"title": "KV ledger", "value": 0.5, "yours": True},
    ]
    bars = charts.value_figure(rows)["data"][0]
    assert bars["y"] == ["KV ledger", "Queue age"]
    assert bars["text"] == ["0.50 yours", "1.50"]
    assert bars["marker"]["color"] == ["--accent", "--ink-2"]


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

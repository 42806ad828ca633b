"""Figures of p95 TTFT, as data."""

import json

from labs import charts

POINTS = [(-60, 0.4), (0, 70.0), (60, None), (120, 302.4)]


def figure(points=POINTS, **others):
    known = {"from_s": -60, "to_s": 600, "healthy_to_s": -30, "target": 0.6, "unit": "s", **others}
    return charts.alarm_figure(points, **known)


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
    drawn = charts.paths_figure(runs, from_s=-600, to_s=600, target=0.6)
    assert [line["hovertemplate"].split(":")[0] for line in drawn["data"]] == [
        "untouched",
        "reference",
        "you",
    ]
    assert min(drawn["data"][0]["x"]) == -1.0

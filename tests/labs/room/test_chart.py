"""The chart of the room, in words and numbers."""

from tests.labs.room.logs import begun, change

PANEL = {
    "alarm": [[-1800, 0.4], [-1200, 0.5], [0, 329.0], [60, 350.0], [105, 325.0]],
    "gauges": {"alarm": 325.0},
}


def test_the_chart_is_told_in_words():
    assert begun(clock_s=105, panel=PANEL).chart.spoken == (
        "p95 TTFT, as clients see it, log scale. 0.45 s in the healthy window, "
        "329 s at the page, 325 s now, 350 s at most. Target 0.6 s."
    )


def test_the_table_has_every_five_minutes_and_now():
    assert [at for at, _ in begun(panel=PANEL).chart.table] == ["−30:00", "−20:00", "0:00", "1:45"]


def test_a_change_is_drawn_from_where_it_began():
    chart = begun(change(1, {"verb": "shed", "percent": "20"}), clock_s=110, panel=PANEL).chart
    accents = [
        shape["x0"]
        for shape in chart.figure["layout"]["shapes"]
        if shape["line"].get("color") == "--accent"
    ]
    assert accents == [0.5]
    assert chart.lane.spoken == "change 1 until 1:50"

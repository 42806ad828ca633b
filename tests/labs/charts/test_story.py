"""An attempt on one axis: where the alarm's line, the lanes and the cursor stand."""

from labs.charts import Spot, story_strip

ROWS = ("read", "changed")


def strip(alarm, spots=(), *, log_scale=False, now_s=0):
    return story_strip(
        alarm,
        spots,
        ROWS,
        to_s=1400,
        now_s=now_s,
        healthy_to_s=-300,
        target=2.0,
        log_scale=log_scale,
    )


def test_time_runs_from_ten_minutes_before_the_page_to_the_end():
    drawn = strip([[-600, 1.0], [0, 2.0], [1400, 4.0]], now_s=400)
    assert (drawn.healthy, drawn.page, drawn.now) == ("15.00%", "30.00%", "50.00%")
    assert [tick.text for tick in drawn.ticks][:3] == ["−10", "−5", "page"]
    (line,) = drawn.lines
    assert [point.partition(",")[0] for point in line.split()] == ["0.0", "300.0", "1000.0"]


def test_a_gap_breaks_the_line():
    drawn = strip([[-60, 1.0], [-30, 1.0], [0, None], [30, 3.0]])
    assert [len(line.split()) for line in drawn.lines] == [2, 1]


def test_a_log_scale_has_whole_decades_and_a_value_without_a_logarithm_lies_at_its_foot():
    drawn = strip([[0, 0.0], [30, 0.2], [60, 20.0]], log_scale=True)
    assert [level.text for level in drawn.levels] == ["0.1", "1", "10", "100"]
    assert drawn.lines[0].split()[0].endswith(",132.0")


def test_an_action_is_as_long_as_it_cost_and_what_cost_nothing_is_a_point():
    drawn = strip(
        [], [Spot("read", "f-edge", 400, 200, is_now=True), Spot("read", "f-edge", 400, 0)]
    )
    long, point = drawn.rows[0].bars
    assert (long.x, long.width, long.is_now) == ("40.00%", "9.85%", True)
    assert (point.x, point.width) == ("50.00%", "")
    assert drawn.rows[1].bars == ()

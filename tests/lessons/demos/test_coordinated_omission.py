import pytest

from lessons.demos.coordinated_omission import DEMO, computed, run

TEN = {"stall_s": 10.0, "interval_ms": 200, "service_ms": 50}


def test_both_clocks_time_the_same_requests():
    paced, opened = run(**TEN)
    assert sorted(paced.intended_s) == pytest.approx(sorted(opened.intended_s))


def test_the_tool_notes_one_late_request_and_the_schedule_one_for_each_interval():
    paced, opened = run(**TEN)
    assert (paced.recorded_s > 0.1).sum() == 1
    assert (opened.recorded_s > 0.1).sum() == 10 / 0.2


def test_the_p99_of_the_schedule_is_what_the_sixth_longest_waits():
    # 600 requests, those due in the stall wait 10.05, 9.85, 9.65 … s: numpy's p99 lies 0.01 of a step above the 7th.
    shown = computed(**TEN)
    assert float(shown.table.rows[2][2]) == pytest.approx(8.85 + 0.01 * 0.2, abs=1e-3)
    assert shown.table.rows[2][1] == "0.050"


def test_without_a_stall_the_clocks_agree():
    shown = computed(**{**TEN, "stall_s": 0.0})
    assert all(row[1] == row[2] for row in shown.table.rows)
    assert shown.readouts[2].value == "0"


def test_the_chart_holds_the_stall_and_no_more():
    figure = computed(**DEMO.start).plots[0].figure
    assert min(figure["data"][0]["x"]) >= 37
    assert len(figure["data"][0]["x"]) < 100

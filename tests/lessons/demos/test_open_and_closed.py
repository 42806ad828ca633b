import pytest

from lessons.demos.open_and_closed import DEMO, computed

OVERLOADED = {**DEMO.start, "rate_rps": 12.0, "service_ms": 100, "clients": 8, "think_s": 0.0}


def latencies(shown, column):
    return [float(row[column].replace(",", "")) for row in shown.table.rows]


def test_a_tool_without_pauses_reports_clients_times_service():
    shown = computed(**OVERLOADED)
    assert (shown.readouts[0].value, shown.readouts[0].unit) == ("800", "ms")
    assert latencies(shown, 1) == pytest.approx([0.8] * 5, rel=0.12)


def test_under_overload_users_wait_longer_every_minute():
    users = latencies(computed(**OVERLOADED), 3)
    assert users == sorted(users)
    # In the long run the wait grows by ρ - 1 seconds a second, here 12 s a minute.
    assert (users[-1] - users[0]) / 4 == pytest.approx(12, rel=0.35)


def test_below_the_knee_the_users_mean_is_the_formula():
    shown = computed(**{**OVERLOADED, "rate_rps": 5.0})
    assert (shown.readouts[1].value, shown.readouts[1].unit) == ("200", "ms")
    assert shown.readouts[2].value == "50"


def test_the_users_do_not_depend_on_the_tool():
    assert latencies(computed(**OVERLOADED), 3) == latencies(computed(**{**OVERLOADED, "clients": 64}), 3)  # fmt: skip

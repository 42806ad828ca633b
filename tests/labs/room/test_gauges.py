"""The gauges in the head of the room."""

import pytest

from labs.room.gauges import promises_held
from tests.labs.room.logs import SPEC, begun, reading, verification


def test_the_panel_is_read_as_it_is_now():
    shown = {"ttft_p95_s": 325.4, "users_hurt": 25, "hurt_per_minute": 13.6}
    gauges = begun(clock_s=105, panel={"gauges": shown}).gauges
    assert (gauges.clock, gauges.budget) == ("1:45", "50:00")
    assert (gauges.ttft, gauges.ttft_held) == ("325", False)
    assert (gauges.users_hurt, gauges.hurt_per_minute) == ("25", "14")


def test_the_longest_gap_is_what_was_measured_last():
    assert begun(reading(kv_usage=0.9)).gauges.gap is None
    found = begun(reading("gaps", gap_p95_s=8.36), verification(2, 0.4, 0.2)).gauges.gap
    assert (found["value"], found["held"]) == ("0.20", True)


@pytest.mark.parametrize(
    ("ttft", "gap", "held"),
    [(0.4, 0.2, True), (0.4, 8.0, False), (300.0, 0.2, False), (None, 0.2, False)],
)
def test_a_verification_holds_when_both_promises_do(ttft, gap, held):
    assert promises_held(SPEC, {"ttft_p95_s": ttft, "gap_p95_s": gap}) is held

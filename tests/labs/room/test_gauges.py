"""The gauges in the head of the room."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from labs.room.gauges import Gauges, promises_held
from tests.labs.room.logs import SPEC, begun, log, reading, verification


def test_the_panel_is_read_as_it_is_now():
    shown = {"alarm": 325.4, "users_hurt": 25, "hurt_per_minute": 13.6}
    gauges = begun(clock_s=105, panel={"gauges": shown}).gauges
    assert (gauges.clock, gauges.budget) == ("1:45", "55:00")
    assert (gauges.alarm, gauges.alarm_held, gauges.target) == ("325", False, "0.6")
    assert (gauges.users_hurt, gauges.hurt_per_minute) == ("25", "14")


def test_the_clock_of_a_real_engine_goes_on_and_says_when_the_gauges_were_read():
    attempt = begun(clock_s=64).attempt
    page = timezone.now() - timedelta(seconds=130)
    gauges = Gauges(attempt, SPEC, log(), runs_since=page)
    assert (gauges.clock, gauges.read_at, gauges.time_is_up) == ("2:10", "1:04", False)
    long_ago = replace(gauges, runs_since=page - timedelta(days=1))
    assert (long_ago.clock, long_ago.time_is_up) == (long_ago.budget, True)
    # A clock of the engine's that is ahead of the row's is not turned back.
    assert replace(gauges, runs_since=timezone.now()).clock == "1:04"


def test_an_alarm_that_found_nothing_to_measure_does_not_hold():
    gauges = begun(panel={"gauges": {"alarm": None}}).gauges
    assert (gauges.alarm, gauges.alarm_held) == ("none", False)


def test_promises_are_what_the_last_verification_found():
    assert begun(reading("gaps", gap_p95_s=0.2)).gauges.promises is None
    found = begun(
        verification(1, 0.4, ttft=0.99, gap=0.99),
        verification(2, 0.4, at_s=900, ttft=0.97, gap=0.9),
    ).gauges.promises
    assert (found["kept"], found["of"], found["held"]) == (1, 2, False)
    assert found["missed"] == SPEC.slos["gap"].title
    assert found["at"] == "15:00"


def test_a_promise_is_kept_from_its_target_on():
    found = begun(verification(1, 300.0, ttft=0.95, gap=0.9499)).gauges.promises
    assert (found["kept"], found["missed"]) == (1, SPEC.slos["gap"].title)


@pytest.mark.parametrize(
    ("alarm", "ttft", "gap", "held"),
    [
        (0.4, 0.99, 0.98, True),
        (0.4, 0.99, 0.90, False),
        (0.4, 0.90, 0.98, False),
        (300.0, 0.99, 0.98, False),
        (None, 0.99, 0.98, False),
        (0.4, None, 0.98, False),
    ],
)
def test_a_verification_holds_when_the_alarm_and_every_promise_do(alarm, ttft, gap, held):
    signals = {"ttft_p95_s": alarm, "promise:ttft": ttft, "promise:gap": gap}
    assert promises_held(SPEC, signals) is held


def test_a_verification_without_one_of_the_promises_does_not_hold():
    assert not promises_held(SPEC, {"ttft_p95_s": 0.4, "promise:ttft": 1.0})

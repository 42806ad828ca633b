"""Drill 2.2's evidence: what stays in steps, what stays in seconds, and how long a pause is."""

import pytest

from lessons.drills.evidence.regular_hitches import OBJECT_NS, _case, observe
from lessons.exact.periods import constant_in, full_collection_allocations, spacing

KINDS = {
    "collector": "steps",
    "log": "steps",
    "scrape": "seconds",
    "neighbour": "seconds",
    "reader": "seconds",
}


@pytest.mark.parametrize(("world", "unit"), KINDS.items())
def test_two_loads_tell_what_is_counted(world, unit):
    for seed in range(4):
        case = _case(world, seed)
        one, other = (spacing(case.times_s(each)) for each in (case.light_ms, case.heavy_ms))
        assert constant_in(one, other) == unit


def test_one_load_tells_nothing():
    for seed in range(4):
        periods = [observe(world, seed).values["period_s"] for world in KINDS]
        assert max(periods) < 2 * min(periods)


def test_a_collector_comes_by_its_thresholds_and_stays_for_its_objects():
    pause = _case("collector", 2).pause
    kept_a_step = full_collection_allocations() / pause.every_steps
    assert 900 < kept_a_step < 1550
    assert 0.15e6 < pause.pause_s / (OBJECT_NS * 1e-9) < 0.4e6


def test_a_hitch_is_a_step_and_its_pause():
    for world in KINDS:
        case = _case(world, 5)
        whole_ms = case.light_ms + 1e3 * case.pause.pause_s
        assert observe(world, 5).values["hitch_ms"] == pytest.approx(whole_ms, rel=0.03)


def test_the_engines_own_gaps_are_even_where_the_reader_stands_still():
    assert observe("reader", 3).values["engine_p99_ms"] < 1.2 * _case("reader", 3).light_ms

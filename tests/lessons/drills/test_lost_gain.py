"""Drill 6.1's evidence against Amdahl's law and the closed loop."""

import pytest

from lessons.drills.evidence.lost_gain import _case, _mended, observe
from lessons.exact.comparisons import amdahl

WORLDS = ("mix", "sizes", "cached", "callers", "demand")


def test_the_symptoms_two_numbers_follow_from_f_and_s():
    assert amdahl(0.9, 2) == pytest.approx(1.82, abs=0.005)
    assert amdahl(0.45, 1.25) == pytest.approx(1.10, abs=0.005)
    assert amdahl(0.18, 2) == pytest.approx(1.10, abs=0.005)
    assert amdahl(0.9, 1 / 0.9) == pytest.approx(1.10, abs=0.005)


def test_both_numbers_are_the_same_in_every_world():
    for seed in range(5):
        cases = [_case(world, seed) for world in WORLDS]
        for one in cases[1:]:
            assert one.bench_gain == pytest.approx(cases[0].bench_gain)
            assert one.gain == pytest.approx(cases[0].gain, rel=1e-6)


def test_once_mended_the_benchmark_and_production_agree():
    for world in WORLDS:
        mended = _mended(world, _case(world, 3))
        assert mended.bench_gain == pytest.approx(mended.gain, rel=1e-6)


def test_where_production_is_not_limited_by_the_engine_the_engine_stands_idle():
    for world in WORLDS:
        idle = observe(world, 2).values["idle_share"]
        assert (idle > 0.3) == (world in {"callers", "demand"})


def test_callers_who_wait_leave_the_engine_idle_as_long_as_they_think():
    case = _case("callers", 1)
    assert case.think_s > 0
    assert case.gain < case.capacity_gain

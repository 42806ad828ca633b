"""Drill 4.10's evidence: the fleet's sum, Little's law in a replica, and what a regression finds."""

import pytest

from lessons.drills.evidence.slow_replica import (
    CONSTANT_MS,
    HEALTHY_MS,
    PREFILL_MS,
    SEQUENCES,
    Replica,
    _case,
    observe,
    regressed,
    steps,
)
from lessons.exact.percentiles import Fleet

WORLDS = ("clocks", "router", "eager", "cold", "mix")


def test_an_eighth_1_3_times_slower_moves_p99_by_a_tenth_and_owns_two_thirds_of_it():
    fleet = Fleet(slow_factor=1.3)
    assert fleet.quantile(0.99) / fleet.healthy_quantile(0.99) == pytest.approx(1.09, abs=0.005)
    assert fleet.quantile(0.5) == pytest.approx(1.03, abs=0.005)
    assert fleet.tail_from_slow(0.99) == pytest.approx(0.665, abs=0.01)


def test_the_fleets_numbers_are_the_same_in_every_world():
    for seed in range(5):
        seen = [observe(world, seed).values for world in WORLDS]
        for name in ("p99_rise", "p50_rise"):
            assert [each[name] for each in seen] == pytest.approx([seen[0][name]] * 5, rel=1e-6)


def test_a_healthy_replica_holds_the_sequences_that_its_answers_make():
    assert Replica().answer_ms == pytest.approx(HEALTHY_MS)
    assert Replica(length=1.5).sequences / SEQUENCES == pytest.approx(
        Replica(length=1.5).answer_ms / HEALTHY_MS
    )


def test_a_regression_finds_what_is_odd_about_the_steps_and_nothing_else():
    for world, constant, prefill in (("clocks", 1, 0), ("eager", 0, 1), ("cold", 1, 1)):
        case = _case(world, 3)
        found = regressed(*steps(case.odd, 3, case.name))
        assert (found[0] == pytest.approx(CONSTANT_MS, rel=0.08)) == bool(constant)
        assert (found[3] == pytest.approx(PREFILL_MS, rel=0.08)) == bool(prefill)


def test_more_run_on_the_odd_replica_whatever_ails_it():
    for world in ("clocks", "router", "eager", "cold"):
        assert observe(world, 2).values["running_ratio"] > 1.2

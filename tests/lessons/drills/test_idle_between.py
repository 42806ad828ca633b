"""Drill 4.5's evidence against the arithmetic of its symptom."""

import pytest

from lessons.drills.evidence.idle_between import HEALTHY, _case, observe, seen
from lessons.exact.timelines import timeline, union

WORLDS = ("sync", "launch", "host", "copy", "tracer")


def test_idle_by_cause_adds_up_to_the_step_less_the_union():
    for world in WORLDS:
        case = _case(world, 1)
        found = seen(case.scenario, case.node_us, case.drawn).found
        assert sum(found.idle_us.values()) == pytest.approx(found.step_us - found.busy_us)


def test_every_world_has_the_same_kernels():
    busy = [
        seen(case.scenario, case.node_us, case.drawn).found.busy_us
        for case in (_case(world, 2) for world in WORLDS)
    ]
    assert busy == pytest.approx([busy[0]] * len(WORLDS))


def test_a_tracer_holds_the_step_up_by_its_time_at_each_kernel():
    case = _case("tracer", 3)
    held = seen(HEALTHY, case.node_us, case.drawn)
    bare = seen(HEALTHY, 0.0, case.drawn)
    assert held.found.step_us - bare.found.step_us == pytest.approx(720 * case.node_us)
    assert held.gaps >= 719
    assert bare.gaps <= 2


def test_one_wait_is_one_gap_and_late_launches_are_hundreds():
    sync, launch = observe("sync", 4).values, observe("launch", 4).values
    assert sync["gaps"] <= 3
    assert launch["gaps"] > 150
    assert (sync["main_cause"], launch["main_cause"]) == ("sync", "launch")


def test_the_union_never_exceeds_the_step():
    found = timeline(HEALTHY, 1)
    assert sum(b - a for a, b in union(found.of("kernel"))) < found.step_us

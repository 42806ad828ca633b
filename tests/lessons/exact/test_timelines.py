import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessons.exact.timelines import (
    CAUSES,
    HEALTHY,
    LAYER,
    SCENARIOS,
    Interval,
    Scenario,
    Timeline,
    analyse,
    gaps,
    removed,
    timeline,
    trace,
    union,
)


def kernel(start_us, end_us, correlation=-1):
    return Interval("kernel", "k", start_us, end_us, correlation)


spans = st.lists(
    st.tuples(st.integers(0, 100), st.integers(1, 20)).map(lambda x: kernel(x[0], x[0] + x[1])),
    max_size=20,
)


@given(spans)
def test_a_union_covers_what_any_interval_covers_once(intervals):
    covered = {t for one in intervals for t in range(one.start_us, one.end_us)}
    found = union(intervals)
    assert sum(b - a for a, b in found) == len(covered)
    assert all(b < c for (_, b), (c, _) in pairwise(found))


@given(st.sampled_from(sorted(SCENARIOS)), st.integers(0, 50))
@settings(max_examples=30, deadline=None)
def test_busy_time_and_gaps_are_the_step(name, seed):
    found = analyse(timeline(SCENARIOS[name], seed))
    assert found.busy_us + sum(found.idle_us.values()) == pytest.approx(found.step_us)
    assert found.summed_us == pytest.approx(found.busy_us)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", ["launch", "sync", "copy", "host"])
def test_the_largest_gaps_are_those_of_the_cause_that_was_put_in(name, seed):
    found = analyse(timeline(SCENARIOS[name], seed))
    idle_us = {cause: us for cause, us in found.idle_us.items() if cause != "normal"}
    assert max(idle_us, key=idle_us.__getitem__) == name


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", ["launch", "sync", "copy", "host"])
def test_what_a_cause_is_worth_is_about_what_its_removal_brings(name, seed):
    before = analyse(timeline(Scenario(copy_us=700.0), seed))
    after = analyse(timeline(removed(Scenario(copy_us=700.0), name), seed))
    assert 1 - after.step_us / before.step_us == pytest.approx(before.worth(name), abs=0.01)
    assert after.busy_us == pytest.approx(before.busy_us)


def test_every_kernel_is_fast_and_three_tenths_of_the_step_are_idle():
    found = analyse(timeline(Scenario(), 0))
    assert len(timeline(Scenario(), 0).of("kernel")) == 720
    assert found.busy_us == pytest.approx(10_090, abs=20)
    assert found.step_us == pytest.approx(13_986, abs=20)
    assert found.longest.cause == "sync"
    assert found.worth("sync") == pytest.approx(0.101, abs=0.002)


def test_a_healthy_step_is_its_kernels():
    found = analyse(timeline(HEALTHY, 0))
    assert found.busy_us / found.step_us > 0.9
    assert found.idle_us["normal"] == pytest.approx(719)
    assert found.idle_us["sync"] == found.idle_us["launch"] == found.idle_us["copy"] == 0


@given(st.floats(0, 40), st.integers(0, 9))
@settings(max_examples=20, deadline=None)
def test_the_gpu_runs_in_order_and_never_before_a_launch(launch_us, seed):
    found = timeline(Scenario(layers=10, launch_us=launch_us, sync_after=5), seed)
    kernels = found.of("kernel")
    assert all(a.end_us <= b.start_us for a, b in pairwise(kernels))
    launched = {one.correlation: one.end_us for one in found.of("launch") if one.correlation >= 0}
    assert all(launched.get(one.correlation, 0.0) <= one.start_us for one in kernels)
    host = found.of("launch", "sync", "host")
    assert all(a.end_us <= b.start_us + 1e-9 for a, b in pairwise(host))
    assert found.step_us == max(one.end_us for one in found.intervals)


def test_a_host_that_keeps_ahead_leaves_no_gap_of_launches():
    assert analyse(timeline(Scenario(launch_us=8.0), 0)).idle_us["launch"] == 0
    slow = [analyse(timeline(Scenario(launch_us=us), 0)).idle_us["launch"] for us in (16, 20, 30)]
    assert slow == sorted(slow)
    assert slow[0] > 500


def test_causes_are_told_by_what_the_host_did():
    intervals = (
        Interval("launch", "cudaLaunchKernel", 0.0, 4.0, 0),
        kernel(4.0, 20.0, 0),
        Interval("sync", "cudaStreamSynchronize", 4.0, 25.0),
        Interval("launch", "cudaLaunchKernel", 50.0, 55.0, 1),
        kernel(55.0, 60.0, 1),
        Interval("launch", "cudaLaunchKernel", 55.0, 80.0, 2),
        kernel(80.0, 90.0, 2),
        kernel(91.0, 95.0, 3),
        Interval("copy", "Memcpy DtoH", 95.0, 105.0),
        Interval("host", "work", 105.0, 130.0),
        kernel(130.0, 131.0, 4),
    )
    found = gaps(Timeline(intervals, 131.0))
    assert [(gap.start_us, gap.end_us, gap.cause) for gap in found] == [
        (0.0, 4.0, "launch"),
        (20.0, 55.0, "sync"),
        (60.0, 80.0, "launch"),
        (90.0, 91.0, "normal"),
        (95.0, 105.0, "copy"),
        (105.0, 130.0, "host"),
    ]


def test_streams_that_overlap_are_busy_once():
    found = analyse(Timeline((kernel(0.0, 10.0), kernel(5.0, 15.0), kernel(20.0, 30.0)), 30.0))
    assert (found.busy_us, found.summed_us) == (25.0, 30.0)
    assert sum(found.idle_us.values()) == 5.0
    with pytest.raises(ValueError, match="gap"):
        analyse(Timeline((kernel(0.0, 1.0),), 1.0))


def test_a_trace_opens_as_chromes_events():
    found = timeline(Scenario(layers=2), 0)
    events = json.loads(json.dumps(trace(found)))["traceEvents"]
    drawn = [event for event in events if event["ph"] == "X"]
    assert len(drawn) == len(found.intervals)
    assert {event["tid"] for event in drawn if event["cat"] == "kernel"} == {7}
    joined = [event for event in drawn if event.get("args", {}).get("correlation") == 0]
    assert [event["cat"] for event in joined] == ["launch", "kernel"]


def test_one_seed_makes_one_step_and_the_classes_fill_a_layer():
    assert timeline(Scenario(), 1) == timeline(Scenario(), 1)
    assert timeline(Scenario(), 1) != timeline(Scenario(), 2)
    assert len(LAYER) * 80 == 720
    assert set(analyse(timeline(Scenario(), 1)).idle_us) == set(CAUSES)

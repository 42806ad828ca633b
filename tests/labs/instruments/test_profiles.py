"""Profiles: a step's time taken apart, and what looking at it costs."""

import json
import pickle
from dataclasses import replace

import pytest

from labs.instruments.profile_trace import CLASSES, PROFILERS, Rank, parts, table, totals, trace
from labs.instruments.profile_window import (
    iteration_log,
    profile_json,
    profile_table,
    steps_ahead,
)
from labs.simulator.cost_model import CostModel
from labs.simulator.telemetry import StepRecord

MS = 1_000_000_000
COST = CostModel(
    base_ps=14 * MS,
    weight_read_ps=10 * MS,
    per_kv_token_ps=100_000,
    per_prefill_token_ps=60_000_000,
    collectives=((0, 2 * MS), (1000, 4 * MS)),
    collectives_included=((0, 2 * MS), (1000, 4 * MS)),
)


def step(cost=COST, *, prefill=100, decoding=10, kv=20_000, number=1, start_ps=0, running=11):
    took_ps = cost.step_ps(
        kv_tokens=kv, prefill_tokens=prefill, sequences=running, tokens=prefill + decoding
    )
    return StepRecord(
        step=number, start_s=start_ps / 1e12, end_s=(start_ps + took_ps) / 1e12,
        scheduled_tokens=prefill + decoding, prefill_tokens=prefill, kv_tokens=kv, running=running,
        waiting=0, free_blocks=0, admitted=(), preempted=(), finished=(),
    )  # fmt: skip


def test_a_step_is_the_sum_of_its_classes():
    record = step()
    found = parts(record, Rank(0, COST))
    assert set(found) == set(CLASSES)
    assert sum(found.values()) == 22 * MS
    assert found["attention"] == 2 * MS
    assert found["all-reduce"] == COST.collectives_ps(110)
    # What the collectives take was in the launches and the prefill of the profile.
    assert found["gemm"] + found["gaps"] + found["other"] == 20 * MS - found["all-reduce"]


def test_the_slowest_rank_has_the_shortest_all_reduce():
    slow = replace(COST, per_prefill_token_ps=90_000_000)
    record = step(slow)
    quick, late = parts(record, Rank(0, COST)), parts(record, Rank(1, slow))
    assert sum(quick.values()) == sum(late.values()) == 25 * MS
    assert late["all-reduce"] == COST.collectives_ps(110)
    assert quick["all-reduce"] == late["all-reduce"] + 3 * MS


def test_quantizing_kernels_are_taken_out_of_the_gaps():
    bare, quant = parts(step(), Rank(0, COST)), parts(step(), Rank(0, COST, quant_ps=MS))
    assert quant["quant"] == MS
    assert quant["gaps"] == bare["gaps"] - MS


def test_a_pause_between_steps_is_a_gap():
    first = step()
    second = step(number=2, start_ps=round(first.end_s * 1e12) + 5 * MS)
    apart, together = totals([first, second], Rank(0, COST)), totals([first], Rank(0, COST))
    assert apart["gaps"] == 2 * together["gaps"] + 5 * MS


def test_a_trace_is_what_perfetto_opens_and_its_kernels_fill_the_steps():
    records = [step(), step(number=2, start_ps=30 * MS)]
    ranks = [Rank(0, COST), Rank(1, COST)]
    found = trace(records, ranks, PROFILERS["torch"])
    assert json.loads(json.dumps(found)) == found
    events = found["traceEvents"]
    assert {event["ph"] for event in events} == {"M", "X"}
    for pid in (0, 1):
        steps = [e for e in events if e["pid"] == pid and e.get("cat") == "step"]
        assert [(e["ts"], e["dur"]) for e in steps] == [(0.0, 22_000.0), (30_000.0, 22_000.0)]
        kernels = [e for e in events if e["pid"] == pid and e.get("cat") == "kernel"]
        gaps_us = totals([records[0]], ranks[0])["gaps"] / 1e6
        assert sum(e["dur"] for e in kernels) == pytest.approx(2 * (22_000.0 - gaps_us))
        ends = [e["ts"] + e["dur"] for e in kernels]
        assert all(b["ts"] >= end - 1e-6 for end, b in zip(ends, kernels[1:], strict=False))
    assert "30 % longer" in found["otherData"]["note"]
    with pytest.raises(ValueError, match="sees no kernel"):
        trace(records, ranks, PROFILERS["py-spy"])


def test_a_table_names_the_cost_and_each_class():
    text = table([step()], [Rank(0, COST), Rank(1, COST)], PROFILERS["nsys"])
    lines = text.splitlines()
    assert lines[0] == "nsys, 0.0 s: 1 steps, mean 22.0 ms; every step 4 % longer meanwhile"
    assert [line.split()[0] for line in lines[2:]] == list(CLASSES)
    assert "rank 1" in lines[1]
    stacks = table([step()], [Rank(0, COST)], PROFILERS["py-spy"]).splitlines()
    assert stacks[0].endswith("at no cost that shows")
    assert "waiting for the GPU" in stacks[1]
    assert "no step ran" in table([], [], PROFILERS["nsys"])


def test_a_profile_slows_the_engine_and_leaves_the_world_alone(at_page):
    view = at_page("metastable").view
    before = view.cluster.digest()
    bare, _ = steps_ahead(view, 10.0)
    slowed, ranks = steps_ahead(view, 10.0, slowdown=1.3)
    assert view.cluster.digest() == before
    assert len(slowed) < len(bare)
    for record in slowed:
        assert sum(parts(record, ranks[0]).values()) == round(
            (record.end_s - record.start_s) * 1e12
        )
    with pytest.raises(ValueError, match="up to 60 s"):
        steps_ahead(view, 0.0)


def test_a_profile_of_a_world_is_the_same_in_another_copy(at_page):
    view = at_page("metastable").view
    copy = replace(view, cluster=pickle.loads(pickle.dumps(view.cluster)))  # noqa: S301  (our own bytes)
    assert profile_table(view, 5.0) == profile_table(copy, 5.0)
    events = json.loads(profile_json(view, 1.0))["traceEvents"]
    assert len(events) > 50
    log = iteration_log(view, 2.0).splitlines()
    assert all("Iteration(" in line for line in log)
    assert len(log) > 10
    with pytest.raises(ValueError, match="no profiler 'perf'"):
        profile_table(view, 5.0, profiler="perf")

"""A lab on the real engine: its traffic, its readings, a change, and the record from which it is marked."""

import itertools

import pytest

from labs import console, incident
from labs.catalogue import lab
from labs.instruments.prometheus.families import FAMILIES
from labs.instruments.registry import signal_values
from labs.live import beginning, boxes, guard, records

KEY = "preemption-storm/live"
SEED = 2_000_000
SOON = {"starts_at_s": -45, "healthy_from_s": -40, "fault_at_s": -35}
"""A page three quarters of a minute after the start: the storm needs no longer."""


@pytest.fixture(scope="module")
def spec():
    whole = lab(KEY)
    return whole.model_copy(update={"timeline": whole.timeline.model_copy(update=SOON)})


@pytest.fixture(scope="module")
def world(spec, live_dir):
    """The storm at its page."""
    made = beginning.waking(
        spec,
        SEED,
        boxes.box("cpu"),
        folder=live_dir / "lab",
        marks=guard.marks("lab", live_dir),
        hypothesis="demand",
    )
    cluster = beginning.cluster_of(made)
    try:
        beginning.begin(made, lambda share, doing: None)
        incident.advance(made, 0)
        yield made
    finally:
        cluster.close()


@pytest.fixture(scope="module")
def read(world):
    """``read(line)``: what the console answers, at once: no price is waited out."""
    numbers = itertools.count(1)

    def reading(line):
        free = world.spec.model_copy(
            update={
                "instruments": {
                    key: each.model_copy(update={"cost_s": 0})
                    for key, each in world.spec.instruments.items()
                }
            }
        )
        whole, world.spec = world.spec, free
        try:
            return incident.perform(beginning.at_now(world), console.parse(line), next(numbers))
        finally:
            world.spec = whole

    return reading


def test_the_storm_fills_the_pool_of_a_real_engine(read):
    gauges = read("curl -s localhost:8000/metrics | grep -E 'num_requests|kv_cache_usage'")
    assert gauges.signals["kv_usage"] > 0.7
    assert gauges.signals["queue_depth"] > 0


def test_the_metrics_are_the_engines_own(read):
    text = read("curl -s localhost:8000/metrics").text
    assert [each.name for each in FAMILIES if f"# TYPE {each.name} " not in text] == []
    assert read("curl -s localhost:8000/version").text == '{"version":"0.32.0"}'
    assert read("curl -s localhost:8000/health").text == "HTTP 200, empty body"


def test_the_log_tells_of_each_step(read):
    steps = read("steps --last 10s")
    assert steps.signals["largest_prefill_tokens"] > 0
    assert "Iteration(" not in read("tail -n 20 /var/log/vllm/engine.log").text


def test_clients_know_what_they_waited_for(read):
    assert read("request-log --waiting").signals["queue_age_s"] > 0
    assert read("request-log --last 30s --gaps").signals["gap_p95_s"] > 0.1
    assert read("request-log --last 1m --summary").signals["offered_load_12m"] > 0.4


def test_what_a_box_without_a_gpu_cannot_measure_says_so(read):
    for line in ("nvidia-smi", "kv-ledger"):
        answer = read(line)
        assert answer.kind == "refused"
        assert answer.cost_s == 0


def test_a_restart_gives_the_engine_the_blocks_that_were_asked_for(world, read):
    before = beginning.cluster_of(world).replicas[0].samples[-1]
    done = incident.perform(
        beginning.at_now(world), console.parse("restart --num-gpu-blocks-override 480"), 90
    )
    assert done.kind == "change"
    engine = beginning.cluster_of(world).replicas[0]
    for _ in range(180):
        if not engine.is_down:
            break
        incident.advance(world, world.clock_s + 1)
    incident.advance(world, world.clock_s + 5)
    # The counter moves when a victim goes on: by now some have.
    assert before.preemptions_reported > 0
    assert 'num_gpu_blocks="480"' in read("curl -s localhost:8000/metrics").text
    # Counters go on from where the first process left them.
    assert engine.samples[-1].generation_tokens > before.generation_tokens
    assert len(engine.processes) == 2


def test_its_record_tells_the_same(world, spec):
    now = beginning.at_now(world)
    raw = records.bytes_of(records.dump(now, about={}))
    again = records.incident_of(spec, "demand", SEED, now.fleet, raw)
    names = sorted(spec.signals)
    assert signal_values(again.view, names) == pytest.approx(
        {**signal_values(again.view, names), **signal_values(now.view, ["kv_usage", "queue_depth"])}
    )
    assert len(again.world.cluster.requests) == len(now.world.cluster.requests)
    told, seen = (dict(incident.alarm_series(each, from_s=-40)) for each in (again, now))
    # Whoever still waits has waited a little longer by now.
    assert told == pytest.approx(seen, abs=2.0)


def test_nothing_is_left_of_it(world, processes):
    beginning.cluster_of(world).close()
    assert processes() == []

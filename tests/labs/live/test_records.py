"""What was seen of a world, as JSON and back: the same signals, promises and alarm, whoever ran it."""

import json
import pickle
import zlib
from dataclasses import replace

import pytest

from labs import incident, recorded
from labs.atoms import Timed
from labs.catalogue import lab
from labs.console import parse
from labs.instruments.registry import signal_values
from labs.instruments.take import take
from labs.live import beginning, records
from labs.simulator.telemetry import Process
from labs.twins import Twins, play

from .attempts_on_fakes import fast_clock, short  # noqa: F401  (fixtures)

SPEC = lab("preemption-storm/live")
SEED = 2_000_011
"""One whose demand is too high."""
CAP = Timed(0, 1, {"verb": "restart", "--num-gpu-blocks-override": "480"})
DONE_S = 40


def recorded_of(world):
    """The world as its record tells of it."""
    raw = records.bytes_of(records.dump(world, about={"box": "here"}))
    return records.incident_of(
        world.spec, world.world.hypothesis, world.world.seed, world.fleet, raw
    )


@pytest.fixture(scope="module")
def _simulated():
    world = incident.begin(SPEC, SEED)
    play(world, [CAP], DONE_S)
    plan = SPEC.mitigation
    incident.advance(world, DONE_S + plan.settle_s + plan.window_s + plan.follow_s)
    return pickle.dumps(world)


@pytest.fixture
def simulated(_simulated):
    """A simulated world at the scale of a real engine, changed and watched after "done"."""
    return pickle.loads(_simulated)  # noqa: S301  (our own bytes)


@pytest.mark.parametrize("at_s", [0, DONE_S, DONE_S + 100])
def test_a_record_gives_every_signal_of_the_world_at_any_time(simulated, at_s):
    told = recorded_of(simulated)
    names = list(SPEC.signals)
    live = signal_values(replace(simulated, clock_s=at_s).view, names)
    assert signal_values(replace(told, clock_s=at_s).view, names) == live
    assert any(value is not None for value in live.values())


def test_a_record_gives_the_promises_the_alarm_and_the_gauges_of_the_world(simulated):
    told = recorded_of(simulated)
    assert told.clock_s == simulated.clock_s
    assert incident.promises(told, 0.0) == incident.promises(simulated, 0.0)
    assert incident.gauges(told) == incident.gauges(simulated)
    series = incident.alarm_series(told, from_s=SPEC.timeline.healthy_from_s)
    assert series == incident.alarm_series(simulated, from_s=SPEC.timeline.healthy_from_s)
    assert len(series) > 50


@pytest.mark.parametrize(
    "line",
    [
        "request-log --last 30s --summary",
        "promql 'increase(vllm:num_preemptions_total[30s])'",
        "promql 'histogram_quantile(0.95, rate(vllm:time_to_first_token_seconds_bucket[30s]))'",
    ],
)
def test_an_instrument_reads_from_a_record_what_it_read_from_the_world(simulated, line):
    assert take(recorded_of(simulated).view, parse(line)) == take(simulated.view, parse(line))


def test_a_twin_that_is_told_from_a_record_is_the_twin_that_was_simulated(simulated):
    twin = Twins(SPEC, "demand", SEED, DONE_S).tell([CAP], since_s=0)
    told = recorded.told_twin(
        recorded_of(simulated),
        DONE_S,
        since_s=0,
        parameter=twin.parameter,
        in_force=twin.in_force,
        users_hurt=twin.users_hurt,
    )
    assert told.fared == twin.fared
    assert (told.cause_gone, told.lost_share) == (twin.cause_gone, twin.lost_share)
    assert told.users_hurt == twin.users_hurt
    assert told.alarm == twin.alarm
    assert told.passes == twin.passes


def test_a_record_alone_counts_who_was_hurt_with_hindsight(simulated):
    told = recorded.told_twin(
        recorded_of(simulated), DONE_S, since_s=0, parameter=None, in_force=()
    )
    at_done = incident.users_hurt(replace(simulated, clock_s=DONE_S), 0.0, DONE_S)
    assert told.users_hurt == at_done


def test_a_record_that_ends_before_the_window_was_not_watched(simulated):
    told = recorded_of(simulated)
    end_s = DONE_S + SPEC.mitigation.settle_s + SPEC.mitigation.window_s
    assert recorded.watched(replace(told, clock_s=end_s), DONE_S)
    assert not recorded.watched(replace(told, clock_s=end_s - 1), DONE_S)


def test_equal_worlds_have_one_digest_and_others_another(simulated):
    raw = records.bytes_of(records.dump(simulated, about={}))
    again = records.bytes_of(records.dump(simulated, about={}))
    assert records.digest_of(raw) == records.digest_of(again)
    assert (
        recorded_of(simulated).world.cluster.digest()
        == recorded_of(simulated).world.cluster.digest()
    )
    simulated.world.cluster.requests[0].num_output_tokens += 1
    other = records.bytes_of(records.dump(simulated, about={}))
    assert records.digest_of(other) != records.digest_of(raw)


def test_a_record_of_another_format_is_refused(simulated):
    data = records.dump(simulated, about={}) | {"format": 2}
    raw = json.dumps(data).encode()
    with pytest.raises(ValueError, match="a record of format 2 cannot be read; this is 1"):
        records.incident_of(SPEC, "demand", SEED, simulated.fleet, raw)


def test_a_live_world_and_its_record_show_the_same(fake, short, tmp_path, fast_clock):  # noqa: F811
    world = beginning.waking(short, 1, fake.box, folder=tmp_path)
    cluster = beginning.cluster_of(world)
    try:
        beginning.begin(world, lambda share, doing: None)
        incident.advance(world, 3)
        cluster.workload.set_rate(0.0, cluster.now_s)
        incident.advance(world, 8)
        for each in cluster.replicas:
            each.telling.hush()
        told = recorded_of(world)
        names = list(short.signals)
        assert signal_values(told.view, names) == signal_values(world.view, names)
        assert incident.promises(told, 0.0) == incident.promises(world, 0.0)
        assert len(told.world.cluster.requests) == len(cluster.requests) > 0
    finally:
        cluster.close()


def test_a_record_tells_how_replicas_were_stopped_and_would_be():
    world = incident.begin(lab("not-to-the-end/live"), SEED, hypothesis="late")
    told = recorded_of(world)
    front = world.world.cluster.front
    assert told.world.cluster.front == records.RecordedFront(front.turnover, tuple(front.stops))
    assert front.stops
    assert recorded_of(incident.waking(SPEC, SEED)).world.cluster.front == records.RecordedFront()


def test_a_replica_that_has_not_come_up_is_recorded_as_such():
    world = incident.begin(lab("late-in-turns/live"), SEED, hypothesis="healthy")
    engine = world.world.cluster.engines[0]
    engine.processes.append(Process(world.clock_s - 1.0, float("inf"), None))
    assert recorded_of(world).world.cluster.engines[0].processes[-1] == engine.processes[-1]


def test_a_record_of_many_requests_is_small_enough_for_a_row(simulated):
    cluster = simulated.world.cluster
    times = 20_000 // len(cluster.requests) + 1
    cluster.requests = [each for each in cluster.requests for _ in range(times)]
    raw = records.bytes_of(records.dump(simulated, about={}))
    assert len(raw) / len(cluster.requests) < 400
    assert len(zlib.compress(raw, level=6)) < 2_000_000

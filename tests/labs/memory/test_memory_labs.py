"""Labs whose worlds follow memory: what their specs make, what the console says of it, and what a redeploy does."""

from dataclasses import replace

import pytest
from pydantic import ValidationError

from labs import console, incident
from labs.catalogue import labs
from labs.instruments.registry import signal_values
from labs.simulator.memory.ledger import GIB, MIB
from labs.simulator.memory.messages import cuda_out_of_memory, stated_mib
from labs.specs.memory import MixedSizes
from labs.worlds.draws import Draws
from labs.worlds.memory import flags, mean_running, sick_replica


def world(slug, hypothesis, seed=1):
    return incident.begin(labs()[slug], seed, hypothesis=hypothesis)


def done(incident_, line):
    return incident.perform(incident_, console.parse(line), 1)


def read(incident_, name):
    return signal_values(incident_.view, [name])[name]


DEPLOY = "slow-since-the-deploy"
WAVES = "answers-fail-in-waves"
ENDS = "the-engine-that-ends"
NINETY = "memory-over-ninety"
BREAKS = "answers-break-off"


@pytest.mark.parametrize(
    ("hypothesis", "phase"),
    [
        ("taken", "memory check"),
        ("sharding", "kv sizing"),
        ("context", "kv sizing"),
        ("graphs", "graph capture"),
        ("demand", "none"),
    ],
)
def test_each_start_fails_at_its_own_phase(hypothesis, phase):
    assert read(world(DEPLOY, hypothesis), "startup_failed_phase") == phase


def test_worlds_of_a_seed_differ_only_in_what_ails_them():
    one, other = world(DEPLOY, "taken"), world(DEPLOY, "graphs")
    assert one.fleet == other.fleet
    arrivals = [
        [request.sent_s for request in each.world.cluster.requests] for each in (one, other)
    ]
    assert arrivals[0] == arrivals[1]


def test_a_start_up_log_shows_only_what_it_prints():
    shown = done(world(DEPLOY, "taken"), "cat /var/log/vllm/startup-1.log").signals
    assert shown["startup_failed_phase"] == "memory check"
    assert "weights_mib" not in shown
    shown = done(world(DEPLOY, "sharding"), "cat /var/log/vllm/startup-1.log").signals
    assert shown["weights_mib"] > 60_000
    assert shown["started_ranks"] == 2


def test_the_other_replicas_start_up_log_says_nothing_of_it():
    outcome = done(world(DEPLOY, "sharding"), "cat /var/log/vllm/startup.log")
    assert outcome.signals == {}


def test_a_redeploy_with_the_right_value_comes_up():
    handled = world(DEPLOY, "sharding")
    done(handled, "redeploy --replica 1 --tensor-parallel-size 4")
    incident.advance(handled, handled.clock_s + 120)
    assert read(handled, "ready_replicas") == 2
    assert read(handled, "startup_failed_phase") == "none"


def test_starting_again_with_the_same_values_does_not():
    handled = world(DEPLOY, "context")
    done(handled, "redeploy --replica 1")
    incident.advance(handled, handled.clock_s + 120)
    assert read(handled, "ready_replicas") == 1


def test_evicting_the_stranger_starts_what_it_kept_from_starting():
    handled = world(DEPLOY, "taken")
    done(handled, "evict")
    incident.advance(handled, handled.clock_s + 120)
    assert read(handled, "ready_replicas") == 2


def test_a_redeploy_says_what_it_cannot_do_before_it_stops_anything():
    handled = world(DEPLOY, "taken")
    assert done(handled, "redeploy --replica 0").kind == "refused"
    assert done(handled, "redeploy --replica 1 --tensor-parallel-size 8").kind == "refused"
    assert done(handled, "redeploy --replica 1 --tensor-parallel-size 3").kind == "refused"


@pytest.mark.parametrize(
    "line",
    [
        "redeploy --gpu-memory-utilization 1.5",
        "redeploy --max-model-len many",
        "redeploy --attention-backend none",
        "redeploy --no-such-flag",
        "redeploy | head",
        "memory-ledger --replica x",
        "memory-history 48",
    ],
)
def test_what_is_not_understood_is_refused(line):
    assert isinstance(console.parse(line), console.Refusal)


@pytest.mark.parametrize(
    ("hypothesis", "frame"),
    [
        ("logprobs", "prompt_logprobs"),
        ("attention", "attention_scores"),
        ("leak", "step"),
        ("probe", "none"),
    ],
)
def test_the_memory_log_names_what_was_being_allocated(hypothesis, frame):
    shown = done(world(WAVES, hypothesis), "memory-log")
    assert shown.signals["oom_frame"] == frame


def test_all_of_them_fail_at_the_same_frame_and_the_message_tells_them_apart():
    shown = {
        name: done(world(BREAKS, name), "memory-log").signals for name in labs()[BREAKS].hypotheses
    }
    assert {each["oom_frame"] for each in shown.values()} == {"encoder"}
    tried = {name: each["oom_tried_mib"] for name, each in shown.items()}
    gaps = {name: each["oom_unallocated_mib"] for name, each in shown.items()}
    assert tried["giants"] > 2 * max(tried[name] for name in tried if name != "giants")
    assert gaps["pieces"] > 1.3 * max(gaps[name] for name in gaps if name != "pieces")


@pytest.mark.parametrize(
    ("hypothesis", "line"),
    [("pieces", "redeploy --expandable-segments"), ("giants", "redeploy --max-model-len 8192")],
)
def test_each_of_two_changes_saves_from_one_of_two_worlds(hypothesis, line):
    for each in ("pieces", "giants"):
        handled = world(BREAKS, each)
        done(handled, line)
        incident.advance(handled, 1200)
        assert (read(handled, "ooms_15m") == 0) is (each == hypothesis)


def test_failures_are_counted_over_the_window_that_is_asked_for():
    five, fifteen = world(WAVES, "leak"), world(BREAKS, "pieces")
    assert set(done(five, "failures").signals) == {"lost_share_5m"}
    assert set(done(fifteen, "failures --last 15m").signals) == {"lost_share_15m"}
    assert done(fifteen, "failures").signals == {}
    for line in ("failures --last 7m", "failures --last", "failures --since 5m", "failures | head"):
        assert isinstance(console.parse(line), console.Refusal)


def test_a_message_states_its_sizes_in_any_unit():
    message = cuda_out_of_memory(
        tried=3 * GIB // 2, gpu=0, capacity=80 * GIB, free=GIB, in_use=79 * GIB, allocated=70 * GIB, reserved=70 * GIB + 700 * MIB
    )  # fmt: skip
    assert stated_mib(message, "tried") == 1536.0
    assert stated_mib(message, "unallocated") == 700.0
    assert stated_mib("Container atlas failed liveness probe", "tried") is None


@pytest.mark.parametrize("bounds", [{}, {"entries_kept": 4, "tokens_kept": 4000}])
def test_a_cache_of_mixed_sizes_has_one_bound(bounds):
    with pytest.raises(ValidationError, match="one of them"):
        MixedSizes(workspace_bytes_per_token=1, entry_bytes_per_token=1, **bounds)


def test_a_smaller_chunk_saves_from_log_probabilities_and_not_from_scores():
    for hypothesis, saved in (("logprobs", True), ("attention", False)):
        handled = world(WAVES, hypothesis)
        done(handled, "redeploy --max-num-batched-tokens 4096")
        incident.advance(handled, 1500)
        assert (read(handled, "ooms_15m") == 0) is saved


def test_late_graphs_are_reserved_and_a_leak_is_allocated():
    graphs, leak = world(ENDS, "graphs"), world(ENDS, "leak")
    assert read(graphs, "captures_15m") > 0
    assert read(leak, "captures_15m") == 0
    assert read(leak, "allocated_growth_mib_per_h") > 10_000


def test_a_leak_that_began_midway_left_no_trace_before():
    spec = labs()[NINETY]
    begun = world(NINETY, "leak")
    before = replace(begun.view, now_s=float(spec.timeline.fault_at_s - 60))
    calm = world(NINETY, "calm")
    assert signal_values(before, ["used_share_5m"]) == signal_values(
        replace(calm.view, now_s=before.now_s), ["used_share_5m"]
    )


def test_the_alarm_on_used_memory_rings_where_nothing_is_wrong():
    calm = world(NINETY, "calm")
    assert calm.spec.alarm.rings(read(calm, "used_share_5m"))
    assert read(calm, "growth_mib_per_h") == 0
    assert read(calm, "foreign_processes") == 0


def test_the_plan_and_the_pool_are_one_ledger():
    calm = world(NINETY, "calm")
    memory, engine = calm.world.cluster.memory[0], calm.world.cluster.engines[0]
    assert engine.config.num_gpu_blocks == memory.life.startup.ledger.num_gpu_blocks
    assert calm.fleet.pool_blocks == engine.config.usable_blocks


def test_fp8_keys_double_the_tokens_and_keep_the_bytes():
    calm = world(NINETY, "calm")
    before = calm.world.cluster.engines[0].config.usable_blocks
    done(calm, "redeploy --kv-cache-dtype fp8")
    assert calm.world.cluster.engines[0].config.usable_blocks == pytest.approx(2 * before, abs=2)
    assert calm.fleet.fp8_kv


def test_a_plain_restart_keeps_the_values_of_the_deploy():
    handled = world(DEPLOY, "context")
    done(handled, "restart")
    assert handled.world.cluster.memory[1].flags.max_model_len == 131_072
    assert handled.world.cluster.engines[0].config.max_model_len == 32_768


def test_a_lab_that_follows_no_memory_cannot_have_it_fail():
    with pytest.raises(ValueError, match=r"needs fleet\.memory"):
        sick_replica(labs()["preemption-storm"])


def test_what_runs_on_average_follows_from_the_rate():
    spec = labs()[ENDS]
    calm = incident.waking(spec, 1, hypothesis="probe")
    cluster = calm.world.cluster
    kind = cluster.workload.spec.classes[0]

    expected = mean_running(spec, kind, Draws(spec.slug, 1), calm.fleet)
    incident.advance(calm, spec.timeline.fault_at_s)
    samples = [s.running for s in cluster.engines[0].samples if s.t_s > -2200]
    assert sum(samples) / len(samples) == pytest.approx(expected, rel=0.3)
    assert flags(spec.fleet.memory, calm.fleet, Draws(spec.slug, 1)).lazy_capture

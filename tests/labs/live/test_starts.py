"""A replica whose starts the world follows: told otherwise, failed for real, started again; and what is read and kept of it."""

from dataclasses import replace

import pytest

from labs import incident
from labs.catalogue import lab
from labs.console import parse
from labs.instruments.registry import signal_values
from labs.instruments.signals import View
from labs.instruments.take import take
from labs.live import records, starts, startup_logs
from labs.live.beginning import kinds_of, real_of
from labs.live.launching import sharing
from labs.live.starts import RealStarts
from labs.simulator.memory.faults import Redeploy
from labs.simulator.memory.ledger import PROCESSOR, SMALL_LLAMA, MemoryFlags
from labs.worlds import Fleet, World

from .conftest import CONFIG
from .test_clusters import quiet, stopped, until

KEY = "slow-since-the-deploy"
FLAGS = MemoryFlags(
    tensor_parallel_size=1,
    max_num_batched_tokens=CONFIG.max_num_batched_tokens,
    max_num_seqs=CONFIG.max_num_seqs,
    max_model_len=CONFIG.max_model_len,
    block_size=CONFIG.block_size,
    enforce_eager=True,
    num_gpu_blocks_override=CONFIG.num_gpu_blocks,
)
SIGNALS = ["startup_failed_phase", "started_context_tokens", "started_pool_tokens", "ready_replicas", "restarts_1h"]  # fmt: skip


@pytest.fixture
def followed(live_cluster):
    """``followed(max_model_len=2048)``: two replicas, and a deploy of the second with these values a tenth of a second on."""

    def make(**values):
        cluster = live_cluster(replicas=2)
        cluster.memory[1] = cluster.memory_kind(
            SMALL_LLAMA, FLAGS, PROCESSOR, start_s=-3600.0, supervised=False
        )
        cluster.schedule(cluster.now_s + 0.1, Redeploy(1, replace(FLAGS, **values)))
        return cluster

    return make


def over(cluster):
    """Whether the deploy has come, and its start is over."""
    memory = cluster.memory[1]
    return len(memory.lives) > 1 and not memory.is_under_way


def incident_of(cluster):
    """An incident of the lab whose world is this cluster."""
    spec = lab(KEY)
    fleet = Fleet("small-llama-cpu", 100, CONFIG, tensor_parallel_size=1)
    world = World("context", 1, fleet, cluster, fleet.full_pool_step_s, 1.0, 0.0)
    made = incident.Incident(spec, world, fleet, clock_s=0)
    made.world = replace(world, real=real_of(spec, cluster))
    made.kinds = kinds_of(None)
    return made


def seen(cluster):
    view = View(cluster, None, cluster.now_s, 0.01)
    return signal_values(view, SIGNALS)


def test_a_start_that_fails_is_part_of_the_incident_and_the_other_replica_serves(followed):
    cluster = followed(max_model_len=2048)
    until(cluster, lambda: over(cluster))
    first, second = cluster.replicas
    assert (second.is_dead, second.is_lost, first.is_down) == (True, False, False)
    assert seen(cluster) == {
        "startup_failed_phase": "kv sizing",
        "started_context_tokens": 2048.0,
        "started_pool_tokens": 1024.0,
        "ready_replicas": 1.0,
        "restarts_1h": 1.0,
    }
    sent = len(cluster.requests)
    until(cluster, lambda: len(cluster.requests) > sent + 5)
    assert {each.replica for each in cluster.requests[sent + 1 :]} == {0}


def test_while_a_start_is_under_way_nothing_is_said_of_how_it_goes(followed, fake):
    fake.set(ready_after_s=0.4)
    cluster = followed(max_num_seqs=8)
    until(cluster, lambda: len(cluster.memory[1].lives) > 1)
    assert seen(cluster)["startup_failed_phase"] == "none"
    until(cluster, lambda: seen(cluster)["ready_replicas"] == 1.0)
    assert not over(cluster)
    until(cluster, lambda: over(cluster))
    until(cluster, lambda: seen(cluster)["ready_replicas"] == 2.0)
    assert cluster.memory[1].life.ready_s > cluster.memory[1].life.start_s + 0.4
    assert cluster.replicas[1].config.max_num_seqs == 8
    assert cluster.replicas[0].config.max_num_seqs == CONFIG.max_num_seqs


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"max_model_len": 2048}, "redeploy --replica 1 --max-model-len 1024"),
        ({"num_gpu_blocks_override": 12}, "redeploy --replica 1 --num-gpu-blocks-override 40"),
    ],
)
def test_the_values_that_fit_bring_it_back_and_the_same_ones_do_not(followed, values, line):
    cluster = followed(**values)
    until(cluster, lambda: over(cluster))
    made = incident_of(cluster)
    for again, phase in (("redeploy --replica 1", "kv sizing"), (line, "none")):
        assert incident.why_not(made, said(again)) == ""
        incident.apply(made, said(again))
        assert "still starting" in incident.why_not(made, said(again))
        until(cluster, lambda: over(cluster))
        assert seen(cluster)["startup_failed_phase"] == phase
    stopped(cluster)
    until(cluster, lambda: quiet(cluster))
    assert {each.http_status for each in cluster.requests} == {200}


def said(line):
    command = parse(line)
    return {"verb": command.verb, **command.options}


def test_its_log_is_what_the_engine_wrote_and_its_lines_show_what_they_say(followed):
    cluster = followed(max_model_len=2048)
    until(cluster, lambda: over(cluster))
    view = incident_of(cluster).view
    view = replace(view, now_s=cluster.now_s)
    whole = take(view, parse("cat /var/log/vllm/startup-1.log"))
    assert "estimated maximum model length is 1024." in whole.text
    assert whole.text.endswith("the engine is down; its log ends here")
    told = {"startup_failed_phase": "kv sizing", "started_context_tokens": 2048.0, "started_pool_tokens": 1024.0}  # fmt: skip
    assert told.items() <= whole.signals.items()
    one = take(view, parse("cat /var/log/vllm/startup-1.log | grep Initializing"))
    assert "started_pool_tokens" not in one.signals
    error = take(view, parse("cat /var/log/vllm/startup-1.log | grep ValueError"))
    assert told.items() <= error.signals.items()
    up = take(view, parse("cat /var/log/vllm/startup-0.log"))
    assert "CPU KV cache size" in up.text
    assert "is down" not in up.text


def test_a_record_keeps_the_starts(followed):
    cluster = followed(max_model_len=2048)
    until(cluster, lambda: over(cluster))
    made = incident_of(cluster)
    raw = records.bytes_of(records.dump(made, about={}))
    told = records.incident_of(made.spec, "context", 1, made.fleet, raw)
    assert signal_values(replace(told.view, now_s=cluster.now_s), SIGNALS) == seen(cluster)


def test_a_start_that_is_not_over_is_kept_as_that():
    memory = RealStarts(SMALL_LLAMA, FLAGS, PROCESSOR, start_s=-60.0)
    memory.begin(-5.0)
    row = starts.dump(memory)
    assert row["lives"][1]["took_s"] is None
    assert starts.of_record(row).is_under_way


@pytest.mark.parametrize(
    ("log", "phase"),
    [
        ("vllm: error: argument --x: invalid value", "arguments"),
        ("Initializing a V1 LLM engine (v0.32.0)\nRuntimeError: no", "device init"),
        ("Initializing a V1 LLM engine\nStarting to load model x...\nOSError: no", "weight load"),
        ("ValueError: To serve at least one request with the model's max seq len (4096)", "kv sizing"),
        ("ValueError: No available memory for the cache blocks.", "kv sizing"),
        ("ValueError: Free memory on device cuda:0 (60/79.2 GiB) on startup is less", "memory check"),
        ("CPU KV cache size: 1,024 tokens\nRuntimeError: no", "warm-up"),
    ],
)  # fmt: skip
def test_the_phase_is_that_of_the_last_line_that_was_reached(log, phase):
    assert startup_logs.phase_of(log) == phase


def test_the_pool_is_the_one_that_the_log_names():
    memory = RealStarts(SMALL_LLAMA, FLAGS, PROCESSOR, start_s=-60.0)
    memory.begin(-5.0)
    memory.failed(10.0, "ValueError: … the estimated maximum model length is 768. Try", "why")
    assert memory.life.startup.ledger.kv_tokens == 768
    memory.begin(20.0)
    memory.came_up(45.0, "INFO CPU KV cache size: 3,232 tokens, Maximum concurrency for 1,024")
    again = starts.of_record(starts.dump(memory))
    assert [each.startup.ledger.kv_tokens for each in again.lives] == [1024, 768, 3232]
    assert [each.startup.took_s for each in again.lives[1:]] == pytest.approx([15.0, 25.0])


def test_what_one_replica_cannot_be_started_with_is_refused_and_costs_nothing(followed):
    cluster = followed(max_model_len=2048)
    until(cluster, lambda: over(cluster))
    made = incident_of(cluster)
    before = cluster.memory[1].flags
    for line, why in (
        ("redeploy --replica 0 --max-model-len 512", "replica 0 is not part of this rollout"),
        ("redeploy --replica 1 --gpu-memory-utilization 0.95", "no engine of it is started with"),
        ("redeploy --replica 1 --num-gpu-blocks-override 9000", "does not fit the memory"),
    ):
        assert why in incident.why_not(made, said(line))
    assert cluster.memory[1].flags == before


def test_engines_that_share_a_processor_have_one_thread_and_one_process_each(fake):
    flags, env = sharing(fake.box, 2)
    assert flags == ("--distributed-executor-backend", "uni")
    assert env["OMP_NUM_THREADS"] == "1"
    assert sharing(fake.box, 1) == ((), {})
    assert sharing(replace(fake.box, devices=(0, 1)), 2) == ((), {})


def test_where_no_starts_are_followed_no_replica_is_started_alone(live_cluster):
    made = incident_of(live_cluster())
    assert "is not followed; `restart` takes the flags" in incident.why_not(
        made, said("redeploy --replica 0")
    )

"""A live world before a fake engine: what its clients, its router and its engine do, and what is seen of it."""

import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from labs.live import servers
from labs.live.iterations import iterations
from labs.live.scraping import read
from labs.simulator.clients import Clients
from labs.simulator.cost_model import profile
from labs.simulator.request import Status

from .conftest import CONFIG

COST = profile("small-llama-cpu").cost_model()


def until(cluster, condition, within_s=60.0):
    """Let a world run until something is so."""
    end_s = cluster.now_s + within_s
    while not condition():
        assert cluster.now_s < end_s, "it never came"
        cluster.advance(cluster.now_s + 0.02)


def quiet(cluster):
    """Whether all that was sent has ended."""
    return bool(cluster.requests) and all(each.finish_ps is not None for each in cluster.requests)


def stopped(cluster):
    """Let no further request come."""
    cluster.workload.set_rate(0.0, cluster.now_s)


def engine_of(cluster):
    """The process of the engine itself, below its guard."""
    pid = cluster.engines[0].server.process.pid
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


# ------------------------------------------------------------------------------- requests


def test_requests_come_in_order_and_are_answered_token_by_token(live_cluster):
    cluster = live_cluster()
    cluster.advance(-0.6)
    stopped(cluster)
    until(cluster, lambda: quiet(cluster))
    sent = [each.client_arrival_s for each in cluster.requests]
    assert sent == sorted(sent)
    assert len(sent) > 5
    for each in cluster.requests:
        assert (each.status, each.num_output_tokens, each.http_status) == (Status.FINISHED, 6, 200)
        assert each.arrival_ps < each.first_token_ps < each.last_token_ps <= each.finish_ps
    assert [each.index for each in cluster.engines[0].requests] == list(range(len(sent)))


def test_samples_and_steps_are_those_of_the_engine(live_cluster):
    cluster = live_cluster()
    cluster.advance(-0.6)
    stopped(cluster)
    until(cluster, lambda: quiet(cluster))
    until(cluster, lambda: cluster.engines[0].samples[-1].finished == len(cluster.requests))
    engine = cluster.engines[0]
    last = engine.samples[-1]
    assert last.generation_tokens == 6 * len(cluster.requests)
    assert last.prompt_tokens == sum(each.prompt_tokens for each in cluster.requests)
    assert sum(last.ttft_counts) == len(cluster.requests)
    told = list(iterations(engine.log_path.read_text()))
    assert last.computed_tokens == sum(each.tokens for each in told)
    assert [each for _, each in engine.steps] == told
    times = [each.t_s for each in engine.samples]
    assert times == sorted(times)


def test_what_the_gateway_sheds_reaches_no_engine(live_cluster):
    cluster = live_cluster()
    cluster.shed(1.0)
    until(cluster, lambda: len(cluster.requests) > 3)
    assert {(each.http_status, each.refusal) for each in cluster.requests} == {(429, "shed")}
    assert cluster.engines[0].requests == []


def test_a_limit_cuts_answers(live_cluster):
    cluster = live_cluster()
    cluster.limit_max_tokens(2)
    until(cluster, lambda: len(cluster.requests) > 3)
    stopped(cluster)
    until(cluster, lambda: quiet(cluster))
    assert {(each.cut, each.num_output_tokens) for each in cluster.requests} == {(True, 2)}


def test_a_full_queue_is_answered_503_and_the_client_asks_again(live_cluster, fake):
    fake.set(pace_s=0.2)
    cluster = live_cluster(
        rate=60.0,
        config=replace(CONFIG, max_num_seqs=1, max_num_queued_reqs=1),
        clients=Clients(retries=1, backoff_s=0.05),
    )
    until(cluster, lambda: any(each.attempt for each in cluster.requests))
    refused = [each for each in cluster.requests if each.http_status == 503]
    again = [each for each in cluster.requests if each.attempt]
    assert "currently busy" in refused[0].refusal
    assert again[0].client_arrival_s > refused[0].client_arrival_s


def test_a_client_that_gives_up_a_hung_stream_frees_the_engine_and_the_world_goes_on(
    live_cluster, fake
):
    fake.set(streams="hang")
    cluster = live_cluster(clients=Clients(first_token_timeout_s=0.1))
    until(cluster, lambda: sum(each.timed_out for each in cluster.requests) > 3)
    stopped(cluster)
    until(cluster, lambda: quiet(cluster))
    left = [each for each in cluster.requests if each.timed_out]
    assert {each.finish_reason for each in left} == {"abort"}
    # Who left before the engine had taken it in is no abort of the engine's.
    samples = cluster.engines[0].samples
    until(cluster, lambda: samples[-1].running == samples[-1].waiting == 0 < samples[-1].aborted)
    fake.set(streams=None)
    cluster.front.set_clients(None)
    cluster.workload.set_rate(40.0, cluster.now_s)
    until(cluster, lambda: any(each.status == Status.FINISHED for each in cluster.requests))


@pytest.mark.parametrize("how", ["break", "garble"])
def test_a_stream_that_breaks_off_ends_its_request_and_says_so(live_cluster, fake, how):
    fake.set(streams=how)
    cluster = live_cluster()
    until(cluster, lambda: len(cluster.requests) > 2)
    stopped(cluster)
    until(cluster, lambda: quiet(cluster))
    assert {each.finish_reason for each in cluster.requests} == {"error"}
    assert all(each.refusal and each.num_output_tokens == 3 for each in cluster.requests)


# -------------------------------------------------------------------------------- restarts


def test_a_restart_holds_what_is_under_way_and_sends_the_rest_of_it_again(live_cluster, fake):
    fake.set(pace_s=0.03)
    cluster = live_cluster(outputs=30, rate=30.0)
    engine = cluster.engines[0]
    until(cluster, lambda: any(each.num_output_tokens > 3 for each in cluster.requests))
    had = {each.request_id: each.num_output_tokens for each in engine.running}
    fake.set(pace_s=0.002, ready_after_s=0.2)
    cluster.restart_engine(0, replace(CONFIG, max_num_seqs=8), COST, 9.0)
    assert engine.is_down
    assert not engine.is_dead
    until(cluster, lambda: not engine.is_down)
    assert engine.server.launch.argv[engine.server.launch.argv.index("--max-num-seqs") + 1] == "8"
    stopped(cluster)
    until(cluster, lambda: quiet(cluster))
    for each in cluster.requests:
        assert (each.status, each.num_output_tokens) == (Status.FINISHED, 30)
        assert (each.client_left_ps, each.refusal) == (None, "")
    assert any(had.values())
    first, second = engine.processes
    assert first.up_s < second.stopped_s < second.up_s


def test_counts_go_on_over_a_restart_and_never_fall(live_cluster):
    cluster = live_cluster()
    cluster.advance(-0.6)
    cluster.restart_engine(0, CONFIG, COST, 9.0)
    until(cluster, lambda: not cluster.engines[0].is_down)
    stopped(cluster)
    until(cluster, lambda: quiet(cluster))
    time.sleep(0.15)
    samples = cluster.engines[0].samples
    for name in ("generation_tokens", "prompt_tokens", "finished", "computed_tokens", "steps"):
        values = [getattr(each, name) for each in samples]
        assert values == sorted(values), name
    base = cluster.engines[0].processes[1].base
    assert base in samples
    assert samples[-1].finished > base.finished


def test_an_engine_that_refuses_its_new_settings_is_down_and_may_be_restarted_with_others(
    live_cluster, fake
):
    cluster = live_cluster(rate=20.0)
    engine = cluster.engines[0]
    until(cluster, lambda: len(cluster.requests) > 2)
    fake.set(refuses="--watermark")
    cluster.restart_engine(0, replace(CONFIG, watermark=0.9), COST, 9.0)
    until(cluster, lambda: engine.failure is not None)
    assert str(engine.failure) == (
        "The engine ended by itself (exit status 2): error: argument --watermark: invalid value"
    )
    assert (engine.is_lost, engine.is_dead) == (False, True)
    until(cluster, lambda: any(each.refusal == "no_replica" for each in cluster.requests))
    stopped(cluster)
    cluster.restart_engine(0, CONFIG, COST, 9.0)
    until(cluster, lambda: not engine.is_down)
    assert engine.failure is None
    until(cluster, lambda: quiet(cluster))
    assert len(engine.processes) == 2


def test_a_restart_that_cannot_even_be_tried_is_told(live_cluster, monkeypatch):
    cluster = live_cluster(rate=20.0)

    def broken(launch):
        raise ZeroDivisionError("a bug of ours")

    monkeypatch.setattr(servers, "start", broken)
    cluster.restart_engine(0, CONFIG, COST, 9.0)
    until(cluster, lambda: cluster.engines[0].is_dead)
    assert "a bug of ours" in str(cluster.engines[0].failure)


def test_a_world_is_closed_at_once_while_its_engine_restarts(live_cluster, fake):
    cluster = live_cluster()
    fake.set(never_ready=True)
    cluster.restart_engine(0, CONFIG, COST, 9.0)
    began = time.monotonic()
    cluster.close()
    assert time.monotonic() - began < 3.0
    assert cluster.engines[0].server is None
    cluster.close()


def test_a_second_restart_breaks_off_the_first_and_does_not_wait_for_it(live_cluster, fake):
    cluster = live_cluster(rate=20.0)
    engine = cluster.engines[0]
    until(cluster, lambda: len(cluster.requests) > 2)
    fake.set(never_ready=True)
    cluster.restart_engine(0, replace(CONFIG, max_num_seqs=2), COST, 9.0)
    time.sleep(0.2)
    fake.set(never_ready=False)
    began = time.monotonic()
    cluster.restart_engine(0, replace(CONFIG, max_num_seqs=3), COST, 9.0)
    assert time.monotonic() - began < 3.0
    until(cluster, lambda: not engine.is_down)
    stopped(cluster)
    until(cluster, lambda: quiet(cluster))
    assert (engine.config.max_num_seqs, engine.failure, len(engine.processes)) == (3, None, 2)


def test_a_world_that_cannot_be_made_leaves_no_thread(live_cluster):
    before = threading.active_count()
    with pytest.raises(ValueError, match="replicas"):
        live_cluster(replicas=0)
    assert threading.active_count() == before


def test_a_world_of_which_one_engine_does_not_start_leaves_none(live_cluster, fake):
    cluster = live_cluster(replicas=2, begin=False)
    cluster.engines[0].start()
    first = cluster.engines[0].server.process
    fake.set(dies="RuntimeError: no")
    with pytest.raises(servers.EngineDied, match="RuntimeError: no"):
        cluster.engines[1].start()
    cluster.close()
    assert first.poll() is not None


# ------------------------------------------------------------------------ what goes wrong by itself


def test_an_engine_that_is_killed_is_lost_and_says_by_what(live_cluster):
    cluster = live_cluster()
    os.kill(engine_of(cluster), signal.SIGKILL)
    until(cluster, lambda: cluster.engines[0].is_lost)
    assert str(cluster.engines[0].failure) == (
        "The engine ended by itself (killed by SIGKILL) and named no error."
    )
    stopped(cluster)
    until(cluster, lambda: quiet(cluster))


def test_an_engine_that_dies_under_load_says_why(live_cluster, fake):
    fake.set(dies_after=3)
    cluster = live_cluster()
    until(cluster, lambda: cluster.engines[0].is_lost)
    assert str(cluster.engines[0].failure).endswith(
        "OutOfMemoryError: a fake engine is out of memory"
    )


def test_a_restarted_engine_is_not_blamed_for_what_the_one_before_said(live_cluster, fake):
    cluster = live_cluster(rate=10.0)
    engine = cluster.engines[0]
    with engine.log_path.open("a") as log:
        log.write("RuntimeError: of the first engine\n")
    cluster.restart_engine(0, CONFIG, COST, 9.0)
    until(cluster, lambda: not engine.is_down)
    os.kill(engine_of(cluster), signal.SIGKILL)
    until(cluster, lambda: engine.is_lost)
    assert "of the first engine" not in str(engine.failure)


def test_a_page_without_our_families_is_no_engine_of_ours(live_cluster, fake):
    fake.set(lacks=["vllm:kv_cache_usage_perc", "vllm:num_preemptions"])
    cluster = live_cluster()
    until(cluster, lambda: cluster.engines[0].is_lost)
    assert str(cluster.engines[0].failure) == (
        "This engine's /metrics lacks vllm:kv_cache_usage_perc, vllm:num_preemptions: "
        "it is not the vLLM that this course knows (0.32)."
    )


def test_a_page_that_hangs_leaves_a_gap_and_stops_nothing(live_cluster, fake, monkeypatch):
    monkeypatch.setattr("labs.live.telling.SCRAPE_LIMIT_S", 0.1)
    cluster = live_cluster()
    until(cluster, lambda: cluster.engines[0].samples)
    fake.set(metrics="hangs")
    time.sleep(0.2)
    seen = len(cluster.engines[0].samples)
    cluster.advance(cluster.now_s + 0.3)
    assert len(cluster.engines[0].samples) == seen
    fake.set(metrics=None)
    until(cluster, lambda: len(cluster.engines[0].samples) > seen)
    stopped(cluster)
    until(cluster, lambda: quiet(cluster))
    assert {each.status for each in cluster.requests} == {Status.FINISHED}


def test_a_page_older_than_the_last_sample_is_not_noted(live_cluster):
    cluster = live_cluster()
    engine = cluster.engines[0]
    until(cluster, lambda: engine.samples and engine.samples[-1].generation_tokens)
    engine.telling.hush()
    old, seen = read(engine.page.text), len(engine.samples)
    engine.telling.note(old, asked_s=engine.samples[-1].t_s - 0.01)
    assert len(engine.samples) == seen
    engine.telling.note(old, asked_s=cluster.clock.now_s())
    assert len(engine.samples) == seen + 1

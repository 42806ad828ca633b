"""Engines that are told to stop, and engines that are sent to while they start: fake ones, which do as vLLM does."""

from dataclasses import replace

from labs.live import leaving
from labs.simulator.clients import Clients
from labs.simulator.cost_model import profile
from labs.simulator.lifetime import ColdRestart, StartUp, Undrain
from labs.simulator.request import Status
from labs.simulator.turnover import Terminate, Turnover

from .test_clusters import quiet, stopped, until

COST = profile("small-llama-cpu").cost_model()
START_UP = StartUp(1.0, 0.0, 0.0, 30.0, cold_steps=1)
TURNOVER = Turnover(START_UP, removal_s=0.0, pre_stop_s=0.0, shutdown_timeout_s=0.0)
LONG = 400
"""Tokens of an answer that is under way for seconds."""


def told(live_cluster, fake, *, starts_with, gets, **others):
    """A world whose engines were started with ``starts_with`` seconds, one of which is told to stop; its streams in flight, and its server."""
    fake.set(leaves=True, pace_s=0.01)
    cluster = live_cluster(begin=False, rate=20.0, **others)
    cluster.front.turnover = replace(TURNOVER, shutdown_timeout_s=starts_with)
    cluster.begin()
    until(cluster, lambda: len(cluster.engines[0].running) > 2)
    # Before it is told: one without time may be gone at once.
    was_open, server = list(cluster.engines[0].running), cluster.engines[0].server
    cluster.front.turnover = replace(TURNOVER, shutdown_timeout_s=gets)
    Terminate(0, cluster.now_s, cluster.now_s).strike(cluster, cluster.now_s)
    return cluster, was_open, server


def renewed(cluster):
    """Let the engine that went be started anew, and answer."""
    engine = cluster.engines[0]
    until(cluster, lambda: engine.is_dead)
    until(cluster, lambda: not engine.is_dead and not engine.is_down)


# ------------------------------------------------------------------------ told to stop


def test_a_server_without_time_leaves_its_streams_without_a_word(live_cluster, fake):
    cluster, was_open, _ = told(live_cluster, fake, starts_with=0, gets=0, outputs=LONG)
    engine = cluster.engines[0]
    until(cluster, lambda: engine.is_dead)
    stopped(cluster)
    assert not engine.is_lost
    assert {each.status for each in was_open} == {Status.STRANDED}
    assert all(each.finish_ps is None and each.num_output_tokens for each in was_open)


def test_who_was_left_goes_when_its_patience_ends_and_the_next_server_never_hears_of_it(
    live_cluster, fake
):
    cluster, was_open, old = told(
        live_cluster,
        fake,
        starts_with=0,
        gets=0,
        outputs=LONG,
        clients=Clients(timeout_s=3.0),
    )
    engine = cluster.engines[0]
    cluster.front.drained.add(0)
    renewed(cluster)
    fake.set(pace_s=0.001)
    until(cluster, lambda: all(each.finish_ps is not None for each in was_open))
    assert {each.finish_reason for each in was_open} == {"abort"}
    assert all(each.client_left_ps is not None for each in was_open)
    # Its last client has gone, and so does it.
    until(cluster, lambda: not old.is_alive)
    assert [each.stopped_s < each.up_s for each in engine.processes] == [True, True]


def test_a_server_with_time_ends_what_runs_and_gives_newcomers_no_token(live_cluster, fake):
    cluster, was_open, _ = told(live_cluster, fake, starts_with=20, gets=20, outputs=150)
    engine = cluster.engines[0]
    until(cluster, lambda: engine.is_dead)
    stopped(cluster)
    assert {each.status for each in was_open} == {Status.FINISHED}
    late = [each for each in cluster.requests if each.refusal == "shutting_down"]
    assert late
    assert {(each.http_status, each.num_output_tokens) for each in late} == {(500, 0)}


def test_a_server_that_was_started_with_less_gets_its_time_before_it_is_told(live_cluster, fake):
    cluster, was_open, _ = told(live_cluster, fake, starts_with=0, gets=20, outputs=100)
    engine = cluster.engines[0]
    stopped(cluster)
    until(cluster, lambda: engine.is_dead)
    assert {each.status for each in was_open} == {Status.FINISHED}


def test_a_server_is_started_with_the_time_that_stops_have_by_then(live_cluster, fake):
    cluster, _, old = told(live_cluster, fake, starts_with=0, gets=20, outputs=4)
    argv = old.launch.argv
    assert argv[argv.index(leaving.FLAG) + 1] == "0"
    cluster.front.drained.add(0)
    renewed(cluster)
    argv = cluster.engines[0].server.launch.argv
    assert argv[argv.index(leaving.FLAG) + 1] == "20"


def test_an_engine_that_meets_a_fault_of_its_stops_was_started_with_what_the_fault_says(
    live_cluster, fake
):
    cut = replace(TURNOVER, shutdown_timeout_s=0.0)
    cluster = live_cluster(begin=False, faults=((-0.5, cut),))
    cluster.front.turnover = replace(TURNOVER, shutdown_timeout_s=30.0)
    cluster.begin()
    argv = cluster.engines[0].server.launch.argv
    assert argv[argv.index(leaving.FLAG) + 1] == "0"


def test_a_world_that_is_closed_while_an_engine_leaves_leaves_nothing(live_cluster, fake):
    cluster, _, old = told(live_cluster, fake, starts_with=0, gets=0, outputs=LONG)
    engine = cluster.engines[0]
    until(cluster, lambda: engine.is_dead)
    cluster.close()
    assert not old.is_alive


# ------------------------------------------------------------------- sent to while it starts


def rolled(cluster, fake, start_up):
    """Replace the first of two engines by one that is half a second in starting."""
    fake.set(ready_after_s=1.0)
    ColdRestart(0, start_up).strike(cluster, cluster.now_s)
    Undrain(0).strike(cluster, cluster.now_s)


def test_an_engine_that_is_ready_before_its_warm_up_is_sent_to_while_it_starts(live_cluster, fake):
    cluster = live_cluster(replicas=2)
    rolled(cluster, fake, replace(START_UP, readiness="before_warm_up"))
    engine = cluster.engines[0]
    assert engine.is_down
    assert engine.ready_s <= cluster.clock.now_s()
    until(cluster, lambda: len(engine.waiting) > 3)
    until(cluster, lambda: not engine.is_down)
    stopped(cluster)
    until(cluster, lambda: quiet(cluster))
    held = [each for each in engine.requests if each.arrival_s < engine.processes[-1].up_s + 0.5]
    assert max(each.first_token_s - each.arrival_s for each in held) > 0.4


def test_an_engine_that_is_ready_when_it_answers_is_not(live_cluster, fake):
    cluster = live_cluster(replicas=2)
    rolled(cluster, fake, START_UP)
    engine = cluster.engines[0]
    before = len(engine.requests)
    assert engine.ready_s == float("inf")
    until(cluster, lambda: not engine.is_down)
    up_s = engine.processes[-1].up_s
    assert engine.ready_s == up_s <= cluster.clock.now_s()
    until(cluster, lambda: len(engine.requests) > before + 3)
    assert min(each.arrival_s for each in engine.requests[before:]) >= up_s

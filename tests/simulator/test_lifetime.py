import pytest

from labs.simulator.clients import Clients
from labs.simulator.lifetime import (
    AbortsIgnored,
    AbortsLoseBlocks,
    ColdRestart,
    Drain,
    ReadinessFlap,
    Scale,
    ShutDown,
    StartUp,
    Undrain,
)
from labs.simulator.pauses import Pause, Pauses
from labs.simulator.request import Status
from tests.simulator.reacting import START_UP, world


def test_the_phases_of_a_start_follow_each_other():
    assert START_UP.phases() == (
        ("process", 0.0, 5.0), ("weights", 5.0, 25.0), ("profile", 25.0, 30.0), ("warm_up", 30.0, 38.0),
    )  # fmt: skip
    assert START_UP.ready_after_s == 38.0
    assert StartUp(5.0, 20.0, 5.0, 8.0, "before_warm_up").ready_after_s == 30.0
    with pytest.raises(ValueError, match="no time"):
        StartUp(5.0, -1.0, 0.0, 0.0)


def test_a_replica_that_is_ready_before_its_warm_up_makes_its_first_requests_pay():
    ttft = {}
    for readiness in ("after_warm_up", "before_warm_up"):
        start_up = StartUp(5.0, 20.0, 5.0, 8.0, readiness)
        served = world(1.0, faults=((10.0, Scale(start_up)),))
        served.advance(120.0)
        theirs = [r for r in served.requests if r.replica == 1]
        assert theirs[0].sent_s >= 10.0 + start_up.ready_after_s
        ttft[readiness] = max(r.ttft_s for r in theirs[:4])
        lost_s = 8.0 if readiness == "before_warm_up" else 0.0
        assert served.engines[1].paused_s == pytest.approx(lost_s)
    assert ttft["before_warm_up"] > ttft["after_warm_up"] + 1.0


def test_a_cold_restart_keeps_the_replica_away_for_its_phases():
    served = world(1.0, replicas=2, faults=((50.0, ColdRestart(0, START_UP)),))
    served.advance(150.0)
    away = [r.replica for r in served.requests if 50.0 <= r.sent_s < 88.0]
    assert set(away) == {1}


def test_a_cold_restart_keeps_the_pauses_that_come_again():
    collector = Pause(0.01, every_steps=50)
    cold = StartUp(1.0, 1.0, 1.0, 4.0, "before_warm_up")
    served = world(
        1.0, faults=((0.0, Pauses(0, (collector,))), (20.0, ColdRestart(0, cold)), (60.0, ColdRestart(0, cold)))
    )  # fmt: skip
    served.advance(100.0)
    assert served.engines[0].pauses == (collector, *cold.cold)
    assert served.engines[0].paused_s > 2 * 4.0


def test_a_drained_replica_finishes_what_it_has_and_gets_nothing_more():
    served = world(2.0, replicas=2, faults=((50.0, Drain(0)), (100.0, Undrain(0))))
    served.advance(99.0)
    assert not served.engines[0].num_unfinished
    assert {r.replica for r in served.requests if r.sent_s > 50.0} == {1}
    served.advance(150.0)
    assert 0 in {r.replica for r in served.requests if r.sent_s > 100.0}
    assert all(r.status is not Status.ABORTED for r in served.requests)


def test_a_server_killed_at_once_leaves_its_streams_hanging():
    served = world(2.0, replicas=2, faults=((60.0, ShutDown(0)),))
    served.advance(59.9)
    streaming = list(served.engines[0].running)
    assert streaming
    served.advance(300.0)
    for request in streaming:
        if request.status is not Status.FINISHED:
            assert (request.status, request.finish_ps) == (Status.STRANDED, None)
    assert any(r.status is Status.STRANDED for r in streaming)
    assert {r.replica for r in served.requests if r.sent_s > 60.1} == {1}


def test_stranded_streams_end_when_their_clients_lose_patience():
    served = world(2.0, replicas=2, clients=Clients(timeout_s=30.0), faults=((60.0, ShutDown(0)),))
    served.advance(59.9)
    streaming = list(served.engines[0].running)
    served.advance(300.0)
    late = [r for r in streaming if r.timed_out]
    assert late
    assert all(r.client_left_ps == r.client_arrival_s * 1e12 + 30e12 for r in late) or all(
        abs(r.client_left_ps / 1e12 - r.client_arrival_s - 30.0) < 1e-9 for r in late
    )
    assert not any(r.status is Status.STRANDED for r in served.requests)


def test_a_server_given_time_finishes_what_runs_and_answers_500_to_what_comes():
    served = world(2.0, replicas=2, faults=((60.0, ShutDown(0, 30.0)),))
    served.advance(59.9)
    streaming = list(served.engines[0].running)
    served.advance(300.0)
    assert all(r.status is Status.FINISHED for r in streaming)
    refused = [r for r in served.requests if r.http_status == 500]
    # The router still sends to it: its health check answers 200.
    assert len(refused) > 4
    assert {(r.replica, r.refusal) for r in refused} == {(0, "shutting_down")}
    gone_s = max(r.sent_s for r in refused)
    assert 60.0 < gone_s < 90.0
    assert {r.replica for r in served.requests if r.sent_s > 91.0} == {1}


def test_a_restart_takes_back_an_order_to_stop_and_raises_the_dead():
    served = world(2.0, replicas=2, faults=((60.0, ShutDown(0, 30.0)), (61.0, ShutDown(1))))
    served.advance(62.0)
    for replica in (0, 1):
        served.restart_engine(replica, served.config, served.cost, 5.0)
    served.advance(200.0)
    assert not any(engine.is_dead for engine in served.engines)
    assert {r.replica for r in served.requests if r.sent_s > 100.0} == {0, 1}


def test_a_readiness_probe_that_flaps_takes_the_replica_out_and_in():
    served = world(4.0, replicas=2, faults=((20.0, ReadinessFlap(0, 5.0, 10.0, 40.0)),))
    served.advance(80.0)
    for from_s, to_s, seen in ((20.1, 25.0, {1}), (25.1, 30.0, {0, 1}), (40.1, 45.0, {1}), (50.1, 80.0, {0, 1})):  # fmt: skip
        assert {r.replica for r in served.requests if from_s < r.sent_s < to_s} == seen


def held_tokens(served):
    return served.engines[0].num_used_blocks * 16


def test_cancelled_requests_that_run_on_hold_the_pool():
    clients = Clients(cancel_share=0.6)
    held = {}
    for name, faults in (("fine", ()), ("ignored", ((0.0, AbortsIgnored(0)),))):
        served = world(1.2, clients=clients, faults=faults)
        served.advance(120.0)
        held[name] = held_tokens(served)
        ghosts = [r for r in served.engines[0].running if r.is_cancelled]
        assert bool(ghosts) is (name == "ignored")
    assert held["ignored"] > 1.3 * held["fine"]


def test_cancelled_requests_whose_blocks_never_return_eat_the_pool():
    served = world(1.0, clients=Clients(cancel_share=0.5), faults=((30.0, AbortsLoseBlocks(0)),))
    served.advance(30.0)
    assert served.engines[0].num_leaked_blocks == 0
    served.advance(120.0)
    first = served.engines[0].num_leaked_blocks
    served.advance(200.0)
    assert served.engines[0].num_leaked_blocks > first > 500

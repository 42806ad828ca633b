"""Replicas that are taken out, told to stop and replaced in turn, and whom each of the three clocks loses."""

from dataclasses import replace

import pytest

from labs.simulator.clients import Clients
from labs.simulator.request import Status
from labs.simulator.turnover import Turn, Turnover
from tests.simulator.reacting import START_UP, world

GENTLE = Turnover(START_UP, removal_s=1.0, pre_stop_s=2.0, shutdown_timeout_s=60.0)


def rolled(turnover, until_s=400.0, **fields):
    served = world(
        2.0,
        replicas=3,
        clients=Clients(timeout_s=120.0),
        faults=((0.0, turnover), (40.0, Turn(60.0, 3))),
        **fields,
    )
    served.advance(until_s)
    return served


def lost(served):
    return [r for r in served.requests if r.timed_out or r.http_status != 200]


def test_a_server_that_finishes_what_runs_and_gets_nothing_new_loses_nobody():
    served = rolled(GENTLE)
    assert [stop.replica for stop in served.front.stops] == [0, 1, 2, 0, 1, 2]
    assert any(stop.in_flight for stop in served.front.stops)
    assert lost(served) == []


def test_a_server_that_gets_no_time_leaves_its_streams_to_their_clients_patience():
    served = rolled(replace(GENTLE, shutdown_timeout_s=0.0))
    theirs = lost(served)
    assert theirs
    assert all(r.timed_out for r in theirs)
    early = [stop for stop in served.front.stops if stop.term_s < 270.0]
    assert len(theirs) == sum(stop.in_flight for stop in early)


def test_a_router_that_learns_late_sends_to_servers_that_refuse():
    served = rolled(replace(GENTLE, removal_s=20.0))
    refused = lost(served)
    assert refused
    assert {r.refusal for r in refused} == {"shutting_down"}
    stops = served.front.stops
    assert all(
        any(s.replica == r.replica and s.term_s <= r.arrival_s <= s.removed_s for s in stops)
        for r in refused
    )


def test_time_that_is_shorter_than_the_longest_answer_cuts_only_the_longest():
    none, some, enough = (
        len(lost(rolled(replace(GENTLE, shutdown_timeout_s=timeout_s))))
        for timeout_s in (0.0, 2.0, 60.0)
    )
    assert none > some > enough == 0


def test_what_is_changed_holds_from_the_next_stop_on():
    served = rolled(replace(GENTLE, shutdown_timeout_s=0.0), until_s=110.0)
    served.front.turnover = GENTLE
    served.advance(400.0)
    timeouts = [stop.shutdown_timeout_s for stop in served.front.stops]
    assert timeouts[0] == 0.0
    assert set(timeouts[2:]) == {60.0}
    late = [r for r in lost(served) if r.sent_s > 120.0]
    assert late == []


def test_while_machines_are_held_nobody_is_told_to_stop_and_the_turn_waits():
    served = rolled(GENTLE, until_s=110.0)
    served.front.turnover = replace(GENTLE, is_held=True)
    served.advance(300.0)
    assert len(served.front.stops) == 2
    served.front.turnover = GENTLE
    served.advance(400.0)
    assert served.front.stops[2].replica == 2


def test_a_replica_comes_back_after_its_phases_and_serves_again():
    served = rolled(GENTLE)
    first = served.front.stops[0]
    life = served.engines[first.replica].processes[-1]
    assert not any(engine.is_dead for engine in served.engines if engine.processes[-1] is life)
    again = [r for r in served.requests if r.replica == first.replica and r.sent_s > first.term_s]
    assert again
    assert any(r.status is Status.FINISHED for r in again)


def test_the_last_stream_has_the_pause_and_the_timeout():
    assert GENTLE.stream_allowance_s == 61.0
    assert GENTLE.late_s == 0.0
    late = replace(GENTLE, removal_s=20.0)
    assert (late.stream_allowance_s, late.late_s) == (60.0, 18.0)
    with pytest.raises(ValueError, match="negative"):
        replace(GENTLE, pre_stop_s=-1.0)


def test_a_fleet_without_a_turnover_has_no_turns():
    with pytest.raises(ValueError, match="turnover"):
        world(1.0, faults=((10.0, Turn(60.0, 1)),)).advance(20.0)

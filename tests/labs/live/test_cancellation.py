"""People who stop answers midway: what their gateway does with the engine's stream, and what a record knows of it."""

from dataclasses import replace

import pytest

from labs import incident, recorded
from labs.catalogue import lab
from labs.console import parse
from labs.instruments.front_signals import (
    closed_share_5m,
    ghost_share,
    ghosts,
    run_on_share_5m,
)
from labs.instruments.front_views import connections
from labs.instruments.signals import View
from labs.live import records
from labs.live.records import RecordedCluster, RecordedEngine
from labs.simulator.clients import Clients
from labs.simulator.lifetime import AbortsIgnored, AbortsLoseBlocks, AbortsMended
from labs.simulator.request import Request, Status

from .conftest import CONFIG
from .test_clusters import COST, quiet, stopped, until

KEY = "a-crowd-at-noon/live"
ALL_STOP = Clients(cancel_share=1.0)
RUNS_ON = ((-1.0, AbortsIgnored(0)),)
LONG = 60
"""Outputs of an answer."""


def closed(cluster):
    return [each for each in cluster.requests if each.closed_ps is not None]


def unread(cluster):
    """Requests that the engine computes though nobody reads them."""
    return [each for each in closed(cluster) if each.finish_ps is None]


def view_of(cluster):
    return View(cluster, None, cluster.now_s, 0.02)


@pytest.fixture
def ghost_world(live_cluster, fake):
    """A world in which all people stop their answers and the gateway reads on, once somebody has stopped one."""
    fake.set(pace_s=0.02)
    cluster = live_cluster(rate=15.0, outputs=LONG, clients=ALL_STOP, faults=RUNS_ON)
    until(cluster, lambda: len(unread(cluster)) > 2)
    return cluster


def test_a_gateway_that_closes_ends_the_engines_request_with_its_persons(live_cluster, fake):
    fake.set(pace_s=0.02)
    cluster = live_cluster(rate=15.0, outputs=LONG, clients=ALL_STOP)
    until(cluster, lambda: len(closed(cluster)) > 3)
    assert unread(cluster) == []
    assert ghost_share(view_of(cluster)) == 0.0
    stopped(cluster)
    until(cluster, lambda: quiet(cluster))
    for each in cluster.requests:
        assert (each.status, each.finish_reason) == (Status.ABORTED, "abort")
        assert each.num_output_tokens == each.cancel_tokens
    until(cluster, lambda: cluster.engines[0].samples[-1].running == 0)


def test_a_gateway_that_reads_on_lets_the_engine_run_to_the_end(ghost_world):
    stopped(ghost_world)
    until(ghost_world, lambda: quiet(ghost_world))
    for each in ghost_world.requests:
        assert (each.status, each.finish_reason) == (Status.FINISHED, "length")
        assert each.num_output_tokens == LONG > each.cancel_tokens
        assert each.first_token_ps <= each.closed_ps < each.finish_ps
    until(
        ghost_world,
        lambda: ghost_world.engines[0].samples[-1].finished == len(ghost_world.requests),
    )
    assert ghost_world.engines[0].samples[-1].aborted == 0


def test_the_gateway_knows_whose_client_has_gone(ghost_world, fake):
    fake.set(streams="hang")  # Nothing moves while it is looked at.
    ghost_world.advance(ghost_world.now_s + 0.2)
    view = view_of(ghost_world)
    assert ghosts(view) == unread(ghost_world)
    running = ghost_world.engines[0].running
    assert ghost_share(view) == len(unread(ghost_world)) / len(running)
    text = connections(view)
    assert f"running on the engines      {len(running):5}" in text
    assert f"  without                   {len(unread(ghost_world)):5}" in text
    assert closed_share_5m(view) > 0


def test_what_was_computed_for_nobody_shows_once_it_has_ended(live_cluster, fake):
    fake.set(pace_s=0.005)
    cluster = live_cluster(rate=15.0, outputs=12, clients=ALL_STOP, faults=RUNS_ON)
    assert run_on_share_5m(view_of(cluster)) is None
    until(cluster, lambda: sum(each.finish_ps is not None for each in closed(cluster)) > 2)
    assert run_on_share_5m(view_of(cluster)) == 1.0
    AbortsMended(0).strike(cluster, cluster.now_s)
    until(cluster, lambda: (run_on_share_5m(view_of(cluster)) or 1.0) < 0.7)


def test_closed_upstream_again_streams_end_with_their_people_and_ghosts_at_their_end(ghost_world):
    AbortsMended(0).strike(ghost_world, ghost_world.now_s)
    before = unread(ghost_world)
    until(ghost_world, lambda: not unread(ghost_world))
    stopped(ghost_world)
    until(ghost_world, lambda: quiet(ghost_world))
    assert {each.status for each in before} == {Status.FINISHED}
    later = [each for each in ghost_world.requests if each.closed_ps and each not in before]
    assert {each.status for each in later[-3:]} == {Status.ABORTED}


def test_a_restart_sends_what_nobody_reads_again_and_forgets_nobody(ghost_world, fake):
    fake.set(pace_s=0.002)
    gone = {each.request_id: each.closed_ps for each in unread(ghost_world)}
    ghost_world.restart_engine(0, replace(CONFIG, max_num_seqs=8), COST, 9.0)
    until(ghost_world, lambda: not ghost_world.engines[0].is_down)
    stopped(ghost_world)
    until(ghost_world, lambda: quiet(ghost_world))
    again = [each for each in ghost_world.requests if each.request_id in gone]
    assert {each.request_id: each.closed_ps for each in again} == gone
    assert {(each.status, each.num_output_tokens) for each in again} == {(Status.FINISHED, LONG)}


def test_who_gave_up_waiting_stays_gone_over_a_restart_while_the_gateway_reads_on(
    live_cluster, fake
):
    fake.set(pace_s=0.03)
    cluster = live_cluster(rate=15.0, outputs=LONG, clients=Clients(timeout_s=0.3), faults=RUNS_ON)
    until(cluster, lambda: sum(each.timed_out for each in cluster.requests) > 3)
    left = {each.request_id: each.client_left_ps for each in cluster.requests if each.timed_out}
    assert all(each.finish_ps is None for each in cluster.requests if each.timed_out)
    cluster.front.set_clients(None)
    fake.set(pace_s=0.002)
    cluster.restart_engine(0, CONFIG, COST, 9.0)
    stopped(cluster)
    until(cluster, lambda: quiet(cluster))
    again = [each for each in cluster.requests if each.request_id in left]
    assert {each.request_id: each.client_left_ps for each in again} == left
    assert {each.num_output_tokens for each in again} == {LONG}


def test_a_stream_that_breaks_after_its_user_closed_it_fails_nobody(live_cluster, fake):
    fake.set(streams="break")
    cluster = live_cluster(outputs=4, clients=ALL_STOP, faults=RUNS_ON)
    until(cluster, lambda: len(cluster.requests) > 5)
    stopped(cluster)
    until(cluster, lambda: quiet(cluster))
    # Three tokens come, and everybody has gone by then.
    assert {(each.finish_reason, each.refusal) for each in cluster.requests} == {("abort", "")}


def test_no_real_engine_loses_blocks(live_cluster):
    with pytest.raises(ValueError, match="no real engine loses"):
        AbortsLoseBlocks(0).strike(live_cluster(begin=False), -1.0)


# --------------------------------------------------------------------------------- the record


def told(sent_s, first_s, closed_s, end_s, name):
    """A request whose user closed its stream, as it is noted."""
    found = Request(
        name, sent_s, 20, 40, client_arrival_s=sent_s, cancel_tokens=5, num_output_tokens=40
    )
    found.first_token_ps, found.closed_ps, found.finish_ps = (
        round(each * 1e12) for each in (first_s, closed_s, end_s)
    )
    found.index = int(name)
    return found


def again_of(request):
    """The request as a record tells it."""
    return records._requested(records._request(request))


def test_a_record_tells_who_was_gone_at_any_time():
    requests = [
        again_of(each) for each in (told(0.0, 1.0, 2.0, 6.0, "0"), told(0.5, 3.0, 5.0, 7.0, "1"))
    ]
    assert [each.closed_ps for each in requests] == [2 * 10**12, 5 * 10**12]
    engine = RecordedEngine(CONFIG, [], [], requests)
    cluster = RecordedCluster(CONFIG, requests, [engine], "", 9.0)
    shares = [
        ghost_share(View(cluster, None, at_s, 0.02)) for at_s in (0.9, 1.5, 2.5, 4.0, 5.5, 6.5, 8.0)
    ]
    assert shares == [0.0, 0.0, 1.0, 0.5, 1.0, 1.0, 0.0]
    assert [closed_share_5m(View(cluster, None, at_s, 0.02)) for at_s in (1.5, 4.0, 6.0)] == [
        0.0,
        0.5,
        1.0,
    ]


def test_a_record_made_before_closings_were_noted_is_read_as_ever():
    request = told(0.0, 1.0, 2.0, 6.0, "0")
    row = records._request(request)
    assert records._requested(row[:-1]).closed_ps is None
    request.closed_ps = None
    assert records._request(request) == row[:-1]


@pytest.mark.parametrize(
    ("line", "is_gone"),
    [("close-upstream", True), ("restart --max-num-seqs 8", False), ("wait 30s", False)],
)
def test_what_was_watched_after_done_tells_whether_stopped_answers_still_run_on(line, is_gone):
    world = incident.begin(lab(KEY), 2_000_017, hypothesis="ghosts")
    incident.perform(world, parse(line), 1)
    done_s, plan = world.clock_s, world.spec.mitigation
    incident.advance(world, done_s + plan.settle_s + plan.window_s + plan.follow_s)
    raw = records.bytes_of(records.dump(world, about={}))
    left = records.incident_of(world.spec, "ghosts", 2_000_017, world.fleet, raw)
    twin = recorded.told_twin(left, done_s, since_s=0, parameter=None, in_force=())
    assert twin.cause_gone is is_gone
    assert twin.passes is is_gone

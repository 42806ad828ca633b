"""How calls end where replicas are stopped in turn: what a console reads of it, and what it can change."""

import pickle

import pytest

from labs import incident
from labs.catalogue import lab, labs
from labs.console import parse
from labs.incident import perform
from labs.instruments.registry import signal_values
from labs.worlds import turnover
from labs.worlds.draws import Draws

SEED = 7


def world(hypothesis):
    return incident.begin(labs()["not-to-the-end"], SEED, hypothesis=hypothesis)


def read(found, *names):
    values = signal_values(found.view, names)
    return [values[name] for name in names]


def run(found, line, number=1):
    return perform(found, parse(line), number)


def test_nobody_is_lost_while_servers_finish_and_the_router_knows_in_time():
    names = ("unfinished_share_5m", "silent_share_5m", "left_at_stop_10m", "late_at_stop_10m")
    assert read(world("healthy"), *names) == [0.0, 0.0, 0.0, 0.0]
    assert read(world("healthy"), "give_up_age_s") == [None]


def test_streams_that_are_cut_off_are_silent_and_answered_with_200():
    silent, refused, left = read(
        world("cut"), "silent_share_5m", "share_5xx_5m", "left_at_stop_10m"
    )
    assert silent > 0.02
    assert refused == 0.0
    assert left > 3


def test_calls_that_come_too_late_are_refused_and_nobody_waits():
    silent, refused, late = read(
        world("late"), "silent_share_5m", "share_5xx_5m", "late_at_stop_10m"
    )
    assert silent == 0.0
    assert refused > 0.02
    assert late > 3


def test_clients_that_give_up_early_leave_streams_that_were_not_silent():
    silent, age_s = read(world("impatient"), "silent_share_5m", "give_up_age_s")
    assert silent == 0.0
    assert age_s < 120


def test_the_history_says_when_each_server_was_told_and_whom_it_left():
    text = run(world("cut"), "stops --last 10m").text
    assert text.count("replica-") >= 4
    assert "left without an end" in text
    assert "came after SIGTERM    0.0 a stop" in text


def test_the_engines_log_says_how_much_time_it_was_given():
    assert (
        "stopping engine client mode=abort timeout=0s"
        in run(world("cut"), "grep shutdown /var/log/vllm/engine-1.log").text
    )
    drained = run(world("late"), "grep shutdown /var/log/vllm/engine-1.log").text
    assert "EngineCore: start mode=drain timeout=180s" in drained
    assert "request processing complete" in drained


def test_ages_tell_a_server_that_is_gone_from_one_that_starts():
    assert "starting, 4" not in run(world("cut"), "ages").text


@pytest.mark.parametrize(
    ("hypothesis", "line", "name"),
    [
        ("cut", "shutdown-timeout 180", "left_at_stop_10m"),
        ("late", "pre-stop 90", "late_at_stop_10m"),
        ("late", "router-refresh 5", "late_at_stop_10m"),
    ],
)
def test_each_world_has_its_remedy(hypothesis, line, name):
    found = world(hypothesis)
    assert run(found, line).kind == "change"
    incident.advance(found, 1000)
    assert read(found, name) == [0.0]


def test_thirty_seconds_are_not_enough_for_the_longest():
    found = world("cut")
    run(found, "shutdown-timeout 30")
    incident.advance(found, 1000)
    assert 0 < read(found, "left_at_stop_10m")[0] < 8


def test_machines_are_kept_until_that_is_taken_back():
    found = world("cut")
    run(found, "hold-replicas", 1)
    incident.advance(found, 900)
    assert read(found, "left_at_stop_10m") == [None]
    assert "nothing was stopped" in run(found, "stops").text
    assert run(found, "undo 1", 2).kind == "change"
    incident.advance(found, 1500)
    assert read(found, "left_at_stop_10m")[0] > 0


def test_clients_wait_as_long_as_they_are_told_from_their_next_call_on():
    found = world("cut")
    run(found, "client-timeout 600")
    assert found.world.cluster.front.clients.timeout_s == 600.0


@pytest.mark.parametrize(
    "line", ["pre-stop", "shutdown-timeout 601", "router-refresh soon", "stops --last 1h"]
)
def test_a_line_that_is_not_understood_says_what_would_be(line):
    assert "`" in parse(line).message


def test_where_nobody_replaces_replicas_nothing_of_it_can_be_set():
    spec = labs()["calls-that-fail"]
    with pytest.raises(ValueError, match="turnover"):
        turnover.worse(spec, labs()["not-to-the-end"].hypotheses["cut"].world.front, Draws("x", 1))


def test_a_world_goes_on_after_a_pickle_as_it_would_have():
    one = world("late")
    other = pickle.loads(pickle.dumps(one))  # noqa: S301
    for each in (one, other):
        incident.advance(each, 400)
    assert one.world.cluster.digest() == other.world.cluster.digest()


def test_what_is_young_and_what_stands_still_is_the_labs_to_say():
    found = incident.begin(lab("not-to-the-end/live"), SEED, hypothesis="cut")
    assert "silent for over 8 s" in run(found, "endings --last 150s").text
    assert "asked while younger than 45 s" in run(found, "ages --last 150s").text
    assert "silent for over 30 s" in run(world("cut"), "endings").text


def test_the_first_stop_comes_when_the_lab_says():
    spec = lab("not-to-the-end/live")
    for seed in range(8):
        found = incident.begin(spec, seed, hypothesis="healthy")
        first, *_ = found.world.cluster.front.stops
        assert 40 <= first.chosen_s - spec.timeline.starts_at_s <= 60

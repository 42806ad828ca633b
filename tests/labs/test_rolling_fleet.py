"""Replicas that are replaced in turn, and what readiness before the warm-up does to those who come first."""

import pickle

import pytest

from labs import incident
from labs.catalogue import labs
from labs.console import parse
from labs.incident import perform
from labs.instruments.registry import signal_values

SEED = 7


def world(hypothesis):
    return incident.begin(labs()["late-in-turns"], SEED, hypothesis=hypothesis)


def read(found, *names):
    values = signal_values(found.view, names)
    return [values[name] for name in names]


def test_one_replica_is_replaced_every_turn_and_nobody_notices_while_they_warm_up_first():
    healthy = world("healthy")
    lives = [len(engine.processes) for engine in healthy.world.cluster.engines]
    assert max(lives) - min(lives) <= 1
    assert sum(lives) == pytest.approx(4 + 1500 / 240, abs=1)
    young, settled = read(healthy, "young_ttft_p95_s", "settled_ttft_p95_s")
    assert max(young, settled) < 1


def test_who_comes_to_a_replica_before_it_is_warm_pays_for_the_warm_up():
    young, settled = read(world("cold"), "young_ttft_p95_s", "settled_ttft_p95_s")
    assert young > 10
    assert settled < 1


def test_a_probe_that_waits_for_the_warm_up_holds_from_the_next_start_on():
    cold = world("cold")
    perform(cold, parse("ready-after-warm-up"), 1)
    incident.advance(cold, 900)
    assert read(cold, "young_ttft_p95_s")[0] < 1


def test_the_ages_of_replicas_are_printed_with_what_people_waited_there():
    text = perform(world("cold"), parse("ages --last 5m"), 1).text
    assert text.count("replica-") == 4
    assert "asked while younger than 100 s" in text


def test_a_fleet_that_rolls_goes_on_after_a_pickle_as_it_would_have():
    one = world("cold")
    other = pickle.loads(pickle.dumps(one))  # noqa: S301
    for each in (one, other):
        incident.advance(each, 400)
    assert one.world.cluster.digest() == other.world.cluster.digest()

"""Answers by status and length, attempts and connections, in worlds of the labs that turn on them."""

import pytest

from labs import incident
from labs.catalogue import labs
from labs.console import parse
from labs.incident import perform
from labs.instruments.registry import signal_values

SEED = 7


def world(slug, hypothesis):
    return incident.begin(labs()[slug], SEED, hypothesis=hypothesis)


def read(incident_, *names):
    values = signal_values(incident_.view, names)
    return [values[name] for name in names]


def test_what_was_wrong_and_told_so_is_no_failure():
    failed, told = read(world("calls-that-fail", "healthy"), "failed_share_5m", "share_4xx_5m")
    assert failed == 0
    assert told > 0.05


def test_a_hidden_refusal_is_a_500_for_which_the_engine_was_asked():
    hidden = world("calls-that-fail", "hidden")
    turned, all_of_them, cut = read(hidden, "turned_share_5m", "share_5xx_5m", "short_share_5m")
    assert turned == all_of_them > 0.02
    assert cut == 0


def test_a_gateway_that_falls_over_asks_no_engine():
    turned, all_of_them = read(world("calls-that-fail", "crash"), "turned_share_5m", "share_5xx_5m")
    assert turned == 0
    assert all_of_them > 0.02


def test_a_cut_answer_is_a_200_and_a_failure_all_the_same():
    cut = world("calls-that-fail", "cut")
    short, failed, errors = read(cut, "short_share_5m", "failed_share_5m", "share_5xx_5m")
    assert short == failed > 0.02
    assert errors == 0


@pytest.mark.parametrize(
    ("hypothesis", "both_long", "no_role"),
    [("healthy", "400", "400"), ("hidden", "400", "500"), ("cut", "200 short", "400")],
)
def test_a_probe_shows_what_people_are_told(hypothesis, both_long, no_role):
    probes = read(world("calls-that-fail", hypothesis), "probe_both_long", "probe_no_role")
    assert probes == [both_long, no_role]


def test_the_gateways_400_states_three_counts():
    healthy = world("calls-that-fail", "healthy")
    text = perform(healthy, parse("probe both-long"), 1).text
    assert "8000 prompt tokens and 500 max_tokens are 8500 tokens; the context holds 8192." in text


def test_stopped_answers_that_run_on_have_no_client():
    ghosts, healthy = world("a-crowd-at-noon", "ghosts"), world("a-crowd-at-noon", "healthy")
    assert read(ghosts, "ghost_share")[0] > 0.2
    assert read(healthy, "ghost_share") == [0.0]
    assert read(ghosts, "run_on_share_5m") == [1.0]
    assert read(healthy, "run_on_share_5m") == [0.0]


def test_a_storm_has_the_first_attempts_of_any_day():
    storm, healthy = world("calls-given-up", "storm"), world("calls-given-up", "healthy")
    names = ("first_rate_5m", "retry_share_5m")
    (first, again), (usual, seldom) = read(storm, *names), read(healthy, *names)
    assert first == pytest.approx(usual, rel=0.25)
    assert again > 0.5
    assert seldom < 0.05

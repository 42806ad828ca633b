"""Panels over incident time: what they draw is what the other instruments read."""

from dataclasses import replace
from itertools import pairwise

import pytest

from labs.console import parse
from labs.console.readings import PANELS as TYPED
from labs.incident import perform
from labs.instruments import dashboards
from labs.instruments.registry import SIGNALS
from labs.instruments.take import take
from labs.specs.panels import GPUS, SERVING, SHOWS

SHOWS_OF_AN_ENGINE = [(name, SHOWS[name]) for name in SERVING if name in SHOWS]


@pytest.fixture(scope="module")
def world(spec, seeds):
    from labs import incident

    return incident.begin(spec, seeds["demand"], hypothesis="demand")


def test_every_panel_that_can_be_typed_is_drawn():
    assert set(TYPED) == set(dashboards.PANELS) == {*SERVING, *GPUS}
    assert set(SHOWS.values()) <= set(SIGNALS)


@pytest.mark.parametrize(("name", "signal"), sorted(SHOWS_OF_AN_ENGINE))
def test_the_latest_point_of_a_panel_is_the_signal_that_it_shows(world, name, signal):
    shown = take(world.view, parse(f"dashboard {name}"))
    assert shown.signals == {signal: SIGNALS[signal](world.view)}
    (series,) = shown.panel.series
    assert series.points[-1] == (0, shown.signals[signal])


def test_a_panel_begins_with_the_healthy_window_and_ends_now(world):
    drawn = dashboards.panel(world.view, "queue", from_s=-1800)
    times = [t_s for t_s, _ in drawn.series[0].points]
    assert (times[0], times[-1]) == (-1800, 0)
    assert all(b - a == 30 for a, b in pairwise(times))
    later = dashboards.panel(replace(world.view, now_s=0.0), "queue", from_s=-45)
    assert [t_s for t_s, _ in later.series[0].points] == [-30, 0]


def test_a_panel_ends_now_even_between_two_of_its_points(world):
    at = replace(world.view, now_s=-10.0)
    points = dashboards.panel(at, "ttft", from_s=-60).series[0].points
    assert [t_s for t_s, _ in points] == [-60, -30, -10]
    assert points[-1][1] == SIGNALS["ttft_p95_s"](at)


def test_a_panel_of_what_nobody_measures_says_so(world):
    assert "nothing here measures it" in take(world.view, parse("dashboard gpu-power")).text


def test_a_panel_that_is_not_there_is_refused_with_the_nearest():
    assert "Did you mean `queue`?" in parse("dashboard queu").message


def test_a_lab_without_a_price_for_a_panel_charges_nothing_and_says_so(world):
    outcome = perform(world, parse("dashboard gpu-clock"), 1)
    assert outcome.kind == "refused"
    assert outcome.cost_s == 0

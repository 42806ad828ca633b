"""The request log against the requests themselves."""

import re

import pytest

from labs.instruments import requests
from labs.instruments.signals import SIGNALS, histogram_quantile, quantile


def test_tokens_wanted_are_littles_law_over_the_window(at_page):
    world = at_page("demand")
    view = world.view
    sent = [r for r in world.world.cluster.requests if -720 < r.sent_s <= 0]
    wanted = (
        sum(r.max_tokens * view.step_s * (r.prompt_tokens + r.max_tokens / 2) for r in sent) / 720
    )
    load = wanted / (world.fleet.pool_blocks * 16)
    assert SIGNALS["offered_load_12m"](view) == pytest.approx(load)
    text = requests.summary(view, 720.0)
    assert f"{len(sent)} in 12 min" in text
    assert text.splitlines()[-1].endswith(f": {load:.2f}")


def test_demand_and_a_storm_differ_in_offered_load_and_not_in_kv_usage(at_page):
    storm, demand = at_page("metastable").view, at_page("demand").view
    assert SIGNALS["offered_load_12m"](storm) < 0.85 < SIGNALS["offered_load_12m"](demand)
    assert SIGNALS["kv_usage"](storm) == pytest.approx(SIGNALS["kv_usage"](demand), abs=0.06)


def test_gaps_are_the_longest_silence_of_each_stream(at_page):
    view = at_page("metastable").view
    p95 = float(re.search(r"p95 ([\d.]+) s", requests.gaps(view))[1])
    assert p95 == pytest.approx(SIGNALS["gap_p95_s"](view), abs=0.006)
    assert p95 > 1


def test_waiting_says_how_many_and_shows_the_head_of_the_queue(at_page):
    world = at_page("demand")
    head, *rows = requests.waiting(world.view).splitlines()
    assert head.startswith(f"waiting {SIGNALS['queue_depth'](world.view):.0f} ")
    first = list(world.world.cluster.engines[0].waiting)[:5]
    assert [row.split()[0] for row in rows] == [request.request_id for request in first]


@pytest.mark.parametrize(
    ("values", "share", "rank"),
    [
        ([], 0.95, None),
        ([3.0], 0.95, 3.0),
        ([4.0, 1.0, 3.0, 2.0], 0.5, 2.0),
        ([1.0, 2.0], 1.0, 2.0),
    ],
)
def test_a_quantile_is_the_nearest_rank(values, share, rank):
    assert quantile(values, share) == rank


def test_a_histograms_quantile_is_prometheus_own():
    assert histogram_quantile(0.5, (1.0, 2.0, 4.0), (2, 2, 0, 0)) == 1.0
    assert histogram_quantile(0.75, (1.0, 2.0, 4.0), (2, 2, 0, 0)) == 1.5
    assert histogram_quantile(0.99, (1.0, 2.0, 4.0), (0, 0, 0, 3)) == 4.0
    assert histogram_quantile(0.5, (1.0,), (0, 0)) is None

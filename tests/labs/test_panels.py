"""The dashboard of every lab: no bargain, and nothing that the lab does not know."""

import pytest

from labs.catalogue import labs
from labs.specs.panels import COST_S, SERVING, with_panels

EVERY = [
    (slug, key, each) for slug, spec in labs().items() for key, each in spec.instruments.items()
]
PANELS = [
    pytest.param(slug, each, id=f"{slug}-{key}") for slug, key, each in EVERY if each.is_panel
]


def test_every_lab_has_the_panels_of_serving():
    for spec in labs().values():
        shown = {each.command for each in spec.instruments.values() if each.is_panel}
        assert shown >= {f"dashboard {name}" for name in SERVING}


def test_only_a_lab_with_hardware_has_panels_of_gpus():
    for spec in labs().values():
        has = "dashboard_gpu-clock" in spec.instruments
        assert has is (spec.fleet.hardware is not None), spec.slug


@pytest.mark.parametrize(("slug", "panel"), PANELS)
def test_a_panel_is_no_cheaper_than_the_instrument_that_shows_the_same(slug, panel):
    rivals = [
        each.cost_s
        for each in labs()[slug].instruments.values()
        if not each.is_panel and set(panel.signals) & set(each.signals)
    ]
    assert panel.cost_s >= max([COST_S, *([min(rivals)] if panel.signals else [])])


def test_what_a_file_says_of_a_panel_stands():
    mine = {"title": "Mine", "command": "dashboard kv", "cost_s": 90}
    data = {"instruments": {"dashboard_kv": mine}, "signals": {}, "fleet": {}}
    assert with_panels(data)["instruments"]["dashboard_kv"] == mine


@pytest.mark.parametrize("data", [{}, {"instruments": 3, "signals": {}, "fleet": {}}])
def test_a_file_that_is_not_a_lab_is_left_for_validation(data):
    assert with_panels(data) is data


@pytest.mark.parametrize("signals", [0, True, "text", {}, None])
def test_what_is_no_list_of_signals_is_left_for_validation(signals):
    odd = {"title": "Odd", "command": "x", "cost_s": 5, "signals": signals}
    data = {"instruments": {"odd": odd}, "signals": {"ttft_p95_s": {}}, "fleet": {}}
    assert with_panels(data)["instruments"]["odd"] == odd


def test_the_panel_of_what_rang_is_the_alarms(spec):
    assert spec.alarm.signal == "ttft_p95_s"
    assert spec.instruments["dashboard_ttft"].is_alarm
    assert not spec.instruments["dashboard_kv"].is_alarm

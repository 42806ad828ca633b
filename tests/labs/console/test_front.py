"""What the console makes of lines about gateway, clients and streams."""

import pytest

from labs.console import Command, Refusal, parse


@pytest.mark.parametrize(
    ("line", "verb"),
    [
        ("slots", "slots"),
        ("streams --last 5m", "streams"),
        ("streams", "streams"),
        ("connections", "connections"),
        ("access-log --last 5m", "access-log"),
        ("upstream-log --last 5m", "upstream-log"),
        ("answer-lengths --last 5m", "answer-lengths"),
        ("attempts --last 5m", "attempts"),
    ],
)
def test_a_reading_is_typed_as_its_button_says(line, verb):
    assert parse(line) == Command(verb)


def test_a_panel_is_named():
    assert parse("panel failed") == Command("panel", target="failed")
    assert isinstance(parse("panel"), Refusal)
    assert isinstance(parse("panel ttft"), Refusal)


def test_a_probe_is_one_of_those_that_are_kept_ready():
    assert parse("probe no-role") == Command("probe", target="no-role")
    assert isinstance(parse("probe drop-tables"), Refusal)


def test_a_check_of_the_gateway_is_named():
    assert parse("gateway-check role") == Command("gateway-check", options={"check": "role"})
    assert isinstance(parse("gateway-check everything"), Refusal)


def test_retries_are_a_number_from_0_to_3():
    assert parse("client-retries 0") == Command("client-retries", options={"retries": "0"})
    assert isinstance(parse("client-retries 9"), Refusal)
    assert isinstance(parse("client-retries 0 | head"), Refusal)


def test_a_window_that_is_not_kept_is_refused():
    assert isinstance(parse("streams --last 1h"), Refusal)


def test_real_engines_of_ours_keep_windows_of_their_own():
    for window in ("30s", "90s", "150s"):
        assert parse(f"ages --last {window}") == Command("ages", options={"last": window})
    assert isinstance(parse("ages --last 60s"), Refusal)
    assert isinstance(parse("connections --last 30s"), Refusal)

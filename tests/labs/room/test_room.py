"""Where an attempt stands, and what its page has seen."""

import pytest

from tests.labs.room.logs import begun, entry, reading, room


@pytest.mark.parametrize(
    ("found", "state"),
    [
        (room(), "preparing"),
        (room(entry("begin", status="failed")), "preparing"),
        (room(entry("begin")), "predict"),
        (begun(), "open"),
        (begun(status="marking"), "marking"),
        (begun(status="given_up"), "given_up"),
    ],
)
def test_the_log_says_where_the_attempt_stands(found, state):
    assert found.state == state


def test_a_new_entry_and_an_entry_that_ends_make_another_version():
    running = reading()
    running.status = "running"
    versions = {begun().version, begun(running).version, begun(reading()).version}
    assert len(versions) == 3

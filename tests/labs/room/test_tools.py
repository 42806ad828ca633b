"""Tools and their prices."""

import pytest

from labs.room import price
from tests.labs.room.logs import SPEC, begun, reading


def test_an_instrument_says_which_readings_it_gave():
    tools = begun(reading(number=1), reading(number=3)).tools
    assert {tool.key: tool.numbers for tool in tools.instruments if tool.numbers} == {
        "ledger": "1, 3"
    }


def test_one_waits_no_longer_than_the_clock_has():
    left_s = SPEC.timeline.budget_s
    assert [each.key for each in begun(clock_s=left_s - 300).tools.waits] == ["1m", "5m"]
    assert begun(clock_s=left_s).tools.waits == []


@pytest.mark.parametrize(
    ("line", "cost"),
    [("kv-ledger", "0:30"), ("flags", "free"), ("kubectl", ""), ("promql 'no_such_metric'", "")],
)
def test_a_typed_line_has_its_price(line, cost):
    assert price(SPEC, line) == cost

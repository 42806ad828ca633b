"""The debrief as a whole."""

from tests.labs.debrief.marked import shown


def test_the_world_is_named_by_its_title():
    assert shown().world == "Requests want more KV than the pool holds"

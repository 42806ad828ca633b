"""Beliefs: each is set by itself, and what was never set is open."""

from tests.labs.room.logs import begun, entry


def held(*payloads):
    found = begun(*(entry("beliefs", payload=each) for each in payloads)).beliefs
    return {each.key: each.percent for each in found if each.percent is not None}


def test_what_was_never_set_is_open_and_stands_at_an_even_share():
    found = begun().beliefs
    assert {each.percent for each in found} == {None}
    assert {each.slider for each in found} == {20}
    assert [each.letter for each in found] == ["A", "B", "C", "D", "E"]


def test_one_belief_does_not_overwrite_another():
    assert held({"demand": 75}, {"router": 0}) == {"demand": 75, "router": 0}
    assert held({"demand": 75}, {"router": 0}, {"demand": 40}) == {"demand": 40, "router": 0}


def test_zero_rules_out():
    (router,) = [
        each for each in begun(entry("beliefs", payload={"router": 0})).beliefs if each.percent == 0
    ]
    assert router.ruled_out

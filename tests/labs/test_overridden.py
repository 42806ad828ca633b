"""Points that people give: the sum follows, the rule's own points stay beside them."""

import pytest

from labs.marking.constants import WEIGHTS
from labs.overridden import Given, by_rule, overridden

PARTS = [
    {
        "name": name,
        "earned": weight / 2,
        "weight": weight,
        "reason": f"half of {name}",
        "details": {},
    }
    for name, weight in WEIGHTS.items()
]
MARK = {
    "graded": True,
    "total": 50.0,
    "passed": False,
    "reason": "50.0 of 100; a pass needs 70.",
    "parts": PARTS,
    "debrief": {"seed": 1},
}


def test_the_total_is_the_sum_with_the_points_that_were_given():
    found = overridden(MARK, {"mechanism": Given(25, "said in other words")})
    assert found["total"] == 62.5
    assert found["reason"] == "62.5 of 100; a pass needs 70."
    part = next(each for each in found["parts"] if each["name"] == "mechanism")
    assert (part["earned"], part["by_rule"], part["given_because"]) == (
        25,
        12.5,
        "said in other words",
    )


def test_a_mark_that_reaches_the_pass_passes():
    given = {name: Given(WEIGHTS[name], "right") for name in ("mechanism", "mitigation")}
    found = overridden(MARK, given)
    assert (found["total"], found["passed"]) == (72.5, True)


def test_taking_it_back_restores_the_mark_of_the_rules():
    assert overridden(overridden(MARK, {"scope": Given(0, "no")}), {}) == MARK


def test_given_again_the_rules_own_points_are_still_known():
    twice = overridden(overridden(MARK, {"scope": Given(0, "no")}), {"scope": Given(10, "yes")})
    assert by_rule(twice) == MARK


def test_a_part_that_could_not_be_graded_may_be_given_points():
    lost = {
        **MARK,
        "graded": False,
        "total": None,
        "reason": "The world was lost.",
        "parts": [part for part in PARTS if part["name"] != "mitigation"],
    }
    found = overridden(lost, {"mitigation": Given(20, "seen in the log")})
    assert (found["graded"], found["total"], found["passed"]) == (True, 60.0, False)
    assert [part["name"] for part in found["parts"]] == list(WEIGHTS)
    assert by_rule(found) == lost
    still = overridden(lost, {"scope": Given(10, "right")})
    assert (still["graded"], still["total"], still["reason"]) == (
        False,
        None,
        "The world was lost.",
    )


@pytest.mark.parametrize(
    ("part", "points", "says"),
    [
        ("scope", 11, "scope earns 0 to 10 points, not 11"),
        ("scope", -1, "not -1"),
        ("style", 1, "style"),
    ],
)
def test_points_stay_within_the_part(part, points, says):
    with pytest.raises(ValueError, match=says):
        overridden(MARK, {part: Given(points, "why")})

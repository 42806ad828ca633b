import pytest

from labs.marking.scope import jaccard, scope_part


def earned(says, truth, named=(), hurt=()):
    return scope_part(says_fault=says, is_fault=truth, named=named, hurt=hurt).earned


def test_fault_or_healthy_wrong_earns_nothing():
    assert earned(True, False, {"ttft"}) == 0
    assert earned(False, True, (), {"ttft"}) == 0


def test_healthy_said_rightly_earns_all():
    assert earned(False, False) == 10


@pytest.mark.parametrize(
    ("named", "points"),
    [
        ({"ttft", "gap"}, 10.0),
        ({"ttft"}, 8.0),
        ({"ttft", "gap", "errors"}, 8.7),
        ({"errors"}, 6.0),
        ((), 6.0),
    ],
)
def test_a_fault_said_rightly_earns_six_and_four_by_the_objectives_named(named, points):
    assert earned(True, True, named, {"ttft", "gap"}) == points


def test_two_empty_sets_agree():
    assert jaccard(frozenset(), frozenset()) == 1


def test_the_reason_says_what_is_hurt_and_what_was_named():
    part = scope_part(says_fault=True, is_fault=True, named={"gap"}, hurt={"ttft", "gap"})
    assert "It hurts gap and ttft; you named gap." in part.reason
    assert (
        "nothing is wrong" in scope_part(says_fault=True, is_fault=False, named=(), hurt=()).reason
    )

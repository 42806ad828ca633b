import pytest

from labs.marking.healthy import (
    changes_made,
    healthy_mitigation_part,
    looked_for,
    looked_share,
)
from labs.marking.scope import scope_part


def test_silence_pays_in_full_from_four_fifths_of_the_rivals_on():
    assert [looked_share(r) for r in (0, 0.4, 0.8, 1)] == [0, 0.5, 1, 1]


@pytest.mark.parametrize(
    ("distinct", "in_force", "points"), [(0, 0, 20), (1, 0, 10), (1, 1, 5), (2, 0, 0), (3, 2, 0)]
)
def test_a_change_where_nothing_was_wrong_costs(distinct, in_force, points):
    part = healthy_mitigation_part(1.0, changes_made(distinct, in_force), {})
    assert part.earned == points


def test_unread_silence_earns_no_mitigation_and_no_scope():
    scope = scope_part(says_fault=False, is_fault=False, named=(), hurt=())
    assert looked_for(scope, 0.0).earned == 0
    assert looked_for(scope, 0.5).earned == 5
    assert looked_for(scope, 1.0) == scope
    assert healthy_mitigation_part(0.0, "none", {}).earned == 0


def test_harm_done_to_a_healthy_system_counts():
    part = healthy_mitigation_part(0.5, "reverted", {"lost": 0.1})
    assert part.earned == 2.5
    assert "took it back" in part.reason
    assert "1 harm" in part.reason

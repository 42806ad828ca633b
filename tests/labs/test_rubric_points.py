"""Points by item: their total, and what becomes of them when the rubric changes."""

import pytest

from labs.rubric_points import Move, carried, changes, is_reordered, rescored, summary, total
from labs.rubrics import Item, Rubric


def rubric(**points: int) -> Rubric:
    return Rubric(tuple(Item(key, f"Says {key}", each) for key, each in points.items()))


def test_a_total_is_never_below_nothing():
    assert total({"why": 2, "how": None, "blame": -1}) == 1
    assert total({"why": 1, "blame": -3}) == 0


@pytest.mark.parametrize(
    ("given", "old", "new", "after"),
    [(1, 2, 4, 2), (1, 2, 3, 2), (1, 2, 1, 1), (1, 3, 1, 0), (1.5, 2, 2, 1.5), (1.5, 2, 3, 2), (0, 2, 5, 0), (-1, -2, -3, -2)],
)  # fmt: skip
def test_released_points_keep_their_share_half_up(given, old, new, after):
    assert rescored({"why": given}, rubric(why=old, x=1), rubric(why=new, x=1)) == {"why": after}


def test_an_item_that_is_gone_leaves_and_one_that_is_new_is_not_put_in():
    given = {"why": 2, "how": 1}
    assert rescored(given, rubric(why=2, how=1), rubric(why=2, cost=2)) == {"why": 2}


def test_a_drafts_points_are_kept_where_they_may_still_be_given():
    given = {"why": 2, "how": 2, "gone": 1}
    assert carried(given, rubric(why=3, how=1, new=1)) == {"why": 2, "how": None, "new": None}


def test_each_difference_is_told_once():
    old = Rubric((Item("a", "A", 1), Item("b", "B", 1), Item("c", "C", 1), Item("d", "D", 1)))
    new = Rubric(
        (Item("a", "A", 2), Item("c", "See", 1), Item("d", "D", 1, "n"), Item("e", "E", 1))
    )
    told = [(each.what, each.key) for each in changes(old, new)]
    assert told == [
        ("points", "a"),
        ("words", "c"),
        ("note", "d"),
        ("added", "e"),
        ("removed", "b"),
    ]
    assert not is_reordered(old, new)
    assert is_reordered(old, Rubric(old.items[::-1]))


def test_an_edit_is_summed_up_in_one_sentence():
    moves = [Move(4, 5), Move(4, 4), Move(5, 4.5)]
    assert summary(moves) == "moves 2 of 3 released marks, mean +0.2"
    assert summary([Move(3, 1)]) == "moves 1 of 1 released mark, mean −2.0"
    assert summary([]) == "moves none of 0 released marks"

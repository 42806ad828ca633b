"""Two readers' points: how far apart, their mean, and which attempts are read twice."""

from uuid import UUID

import pytest

from labs.moderation import difference, is_drawn, mean

IDS = [UUID(int=n) for n in range(2000)]


def test_too_many_here_and_too_few_there_do_not_cancel():
    assert difference({"a": 2, "b": 0}, {"a": 0, "b": 2}) == 4
    assert difference({"a": 2, "b": 1}, {"a": 2, "b": 1}) == 0


def test_the_mean_is_exact_and_whole_where_it_can_be():
    found = mean({"a": 1, "b": 2, "c": 0}, {"a": 2, "b": 2, "c": 2})
    assert found == {"a": 1.5, "b": 2, "c": 1}
    assert isinstance(found["c"], int)


def test_an_item_that_one_reader_did_not_have_is_the_others():
    assert mean({"a": 1}, {"a": None, "b": 2}) == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("percent", "least", "most"), [(0, 0, 0), (100, 2000, 2000), (20, 350, 450)]
)
def test_as_many_are_drawn_as_the_rules_say(percent, least, most):
    assert least <= sum(is_drawn(each, percent) for each in IDS) <= most


def test_who_is_drawn_at_a_small_share_is_drawn_at_every_larger_one():
    small = {each for each in IDS if is_drawn(each, 20)}
    assert small == {each for each in IDS if is_drawn(each, 20)}
    assert small < {each for each in IDS if is_drawn(each, 50)}

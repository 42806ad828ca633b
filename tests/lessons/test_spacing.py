from datetime import date, timedelta

import pytest

from lessons.spacing import (
    Item,
    Missed,
    Repeated,
    Scheduled,
    due_on,
    in_another_order,
    schedule,
)

DAY = date(2026, 3, 1)
CHECK = Item("check", "failure-modes", "flat-tpot")
OTHER = Item("prediction", "failure-modes", "cap-28")


def after(days: int) -> date:
    return DAY + timedelta(days=days)


def one(*answers: tuple[int, bool]) -> Scheduled:
    """The schedule of one item that was missed on day 0 and answered on these days."""
    repeats = [Repeated(CHECK, after(day), right) for day, right in answers]
    [found] = schedule([Missed(CHECK, DAY)], repeats)
    return found


def test_what_was_missed_comes_back_after_two_days():
    found = one()
    assert found.due == after(2)
    assert not found.is_due(after(1))
    assert found.is_due(after(2))


def test_what_was_due_waits_for_whoever_comes_late():
    assert one().is_due(after(50))


def test_right_answers_climb_to_seven_and_twenty_one_days_and_out():
    assert one((2, True)).due == after(2 + 7)
    assert one((2, True), (9, True)).due == after(9 + 21)
    assert one((2, True), (9, True), (30, True)).due is None


def test_the_gap_is_counted_from_the_answer_not_from_the_day_it_was_due():
    assert one((10, True)).due == after(17)


@pytest.mark.parametrize("before", [(), ((2, True),), ((2, True), (9, True))])
def test_a_wrong_answer_starts_again_at_two_days(before):
    found = one(*before, (40, False))
    assert (found.step, found.due) == (0, after(42))


def test_answers_are_read_in_the_order_of_their_days():
    assert one((9, True), (2, False)).step == 1


def test_the_earliest_stands_first_and_what_stays_away_last():
    third = Item("check", "failure-modes", "a")
    misses = [Missed(CHECK, after(5)), Missed(OTHER, DAY), Missed(third, DAY)]
    climbed = [Repeated(third, after(day), right=True) for day in (2, 9, 30)]
    assert [each.item for each in schedule(misses, climbed)] == [OTHER, CHECK, third]
    assert [each.item for each in due_on(after(2), schedule(misses, climbed))] == [OTHER]


def test_an_answer_to_what_was_never_missed_counts_nowhere():
    assert schedule([], [Repeated(CHECK, DAY, right=False)]) == ()


def test_of_two_misses_the_first_counts():
    [found] = schedule([Missed(CHECK, after(3)), Missed(CHECK, DAY)], [])
    assert found.missed_on == DAY


@pytest.mark.parametrize("count", [2, 3, 5])
def test_options_come_back_in_another_order_the_same_for_the_same_seed(count):
    things = list(range(count))
    for seed in map(str, range(50)):
        shuffled = in_another_order(things, seed)
        assert sorted(shuffled) == things
        assert list(shuffled) != things
        assert in_another_order(things, seed) == shuffled


def test_one_thing_has_no_other_order():
    assert in_another_order(["a"], "x") == ("a",)
    assert in_another_order([], "x") == ()

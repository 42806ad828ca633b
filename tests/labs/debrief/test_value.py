"""The doubt that one's readings left."""

from tests.labs.debrief.marked import shown


def test_the_posterior_is_sorted_and_names_the_true_world():
    rows = shown().posterior
    assert [row["percent"] for row in rows[:2]] == ["70 %", "29 %"]
    assert [row["true"] for row in rows] == [True, False, False, False, False]

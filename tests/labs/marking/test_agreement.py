import pytest

from labs.marking.agreement import band, weighted_kappa


def test_two_graders_agree_as_the_specification_computes():
    one = (0, 1, 2, 3, 4, 4, 3, 2, 1, 0)
    other = (0, 1, 2, 3, 3, 4, 2, 2, 2, 1)
    assert weighted_kappa(one, other) == pytest.approx(0.875)
    assert weighted_kappa(other, one) == pytest.approx(0.875)


def test_perfect_and_chance_agreement():
    assert weighted_kappa((0, 1, 2), (0, 1, 2)) == 1
    assert weighted_kappa((3, 3), (3, 3)) == 1
    assert weighted_kappa((0, 0, 4, 4), (0, 4, 0, 4)) == 0


def test_marks_are_banded_in_five():
    points = (0, 39.4, 39.5, 40, 54, 55, 69, 70, 84, 85, 100)
    assert [band(each) for each in points] == [0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4]
    with pytest.raises(ValueError, match="between 0 and 100"):
        band(101)


def test_lists_that_do_not_match_are_refused():
    with pytest.raises(ValueError, match="one length"):
        weighted_kappa((1,), (1, 2))

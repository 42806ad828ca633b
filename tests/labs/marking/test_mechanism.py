import pytest

from labs.marking.mechanism import (
    Parameter,
    mechanism_credit,
    mechanism_part,
    parameter_share,
)

LOAD = Parameter("offered load", "", 1.22, 0.10)


@pytest.mark.parametrize(
    ("answer", "share"), [(1.342, 1), (1.40, 0.556), (1.4763, 0), (1.11, 1), (1.00, 0), (1.22, 1)]
)
def test_a_number_earns_by_its_error_in_tolerances(answer, share):
    assert parameter_share(LOAD, answer) == pytest.approx(share, abs=5e-4)


@pytest.mark.parametrize(
    "answer", [None, 0, -1.22, float("inf"), float("-inf"), float("nan"), 1e300]
)
def test_what_is_no_number_above_nothing_earns_nothing(answer):
    assert parameter_share(LOAD, answer) == 0


def test_a_signed_quantity_has_an_absolute_tolerance():
    drift = Parameter("drift", "s", 0.0, 2.0, absolute=True)
    assert [parameter_share(drift, x) for x in (0, -2, 3, 4, -9)] == [1, 1, 0.5, 0, 0]
    with pytest.raises(ValueError, match="absolute tolerance"):
        Parameter("drift", "s", 0.0, 0.1)
    with pytest.raises(ValueError, match="tolerance must be above 0"):
        Parameter("load", "", 1.0, 0.0)


def test_the_statement_is_seven_tenths_where_a_number_is_asked():
    assert mechanism_part(1, parameter=LOAD).earned == 17.5
    assert mechanism_part(1, parameter=LOAD, answer=1.22).earned == 25
    assert mechanism_part(1, parameter=LOAD, answer=1.40).earned == 21.7


def test_the_right_number_adds_nothing_to_a_near_miss():
    assert mechanism_part(0.25, parameter=LOAD, answer=1.22).earned == 4.4
    assert mechanism_part(0, parameter=LOAD, answer=1.22).earned == 0


def test_without_a_number_the_statement_is_all():
    assert [mechanism_part(c).earned for c in (1, 0.5, 0.25, 0)] == [25, 12.5, 6.3, 0]


def test_a_statement_earns_what_its_author_gave_it():
    credit_of = {"storm": 1, "storm, other words": 1, "demand": 0.25}
    assert mechanism_credit(credit_of, "storm, other words") == 1
    assert mechanism_credit(credit_of, "demand") == 0.25
    assert mechanism_credit(credit_of, "cable") == 0
    assert mechanism_credit(credit_of, None) == 0


@pytest.mark.parametrize("credit", [0.7, -0.1, 2])
def test_a_credit_is_one_or_at_most_a_half(credit):
    with pytest.raises(ValueError, match="1 or at most"):
        mechanism_credit({"storm": credit}, "storm")


def test_the_reason_gives_both_numbers():
    part = mechanism_part(1, parameter=Parameter("drop", "ms", 12.0, 0.1), answer=13)
    assert "You gave 13 ms; drop is 12 ms, and yours earns 1.00 of 1." in part.reason
    assert "no number" in mechanism_part(1, parameter=LOAD).reason
    assert "near" in mechanism_part(0.25).reason

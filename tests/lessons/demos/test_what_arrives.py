import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons.demos.what_arrives import DEMO, computed, stages
from lessons.exact.comparisons import amdahl

SHARES = st.floats(0, 1)


@given(st.floats(1, 100), SHARES, SHARES, SHARES)
def test_three_stages_are_one_with_the_product_of_the_shares(factor, one, two, three):
    assert stages(factor, one, two, three)[-1] == pytest.approx(amdahl(one * two * three, factor))


def test_each_whole_gains_no_more_than_its_part():
    found = stages(2.0, 0.3, 0.7, 0.6)
    assert found == tuple(sorted(found, reverse=True))
    assert found[1] == pytest.approx(1 / 0.85)


def test_the_ceiling_is_what_a_kernel_of_no_time_leaves():
    shown = computed(**DEMO.start)
    assert shown.readouts[2].value == f"{1 / (1 - 0.3 * 0.7 * 0.6):.2f}"


def test_what_is_not_touched_gains_nothing():
    shown = computed(**{**DEMO.start, "traffic_percent": 0})
    assert "the fleet 1.00 times" in shown.says

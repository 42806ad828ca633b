"""Gaps and streams; the mean of percentiles."""

import pytest

from lessons.demos import averaged_percentiles, gaps_and_streams
from lessons.exact.percentiles import Fleet, share_that_meets


def test_a_percentile_over_gaps_sees_nothing_below_one_in_a_hundred():
    below, above = (
        gaps_and_streams.computed(slow_percent=q, slow_ms=800, tokens=300) for q in (0.99, 1.0)
    )
    assert [shown.readouts[0].value for shown in (below, above)] == ["25", "800"]
    assert [shown.readouts[1].value for shown in (below, above)] == ["800", "800"]


@pytest.mark.parametrize(
    ("rate", "gaps", "met"), [(0.0, 100, 0.0), (0.5, 2, 0.75), (0.001, 1_000, 0.6323)]
)
def test_the_share_of_streams_is_the_closed_form(rate, gaps, met):
    assert share_that_meets(rate, gaps) == pytest.approx(met, abs=1e-4)


def test_a_share_of_all_gaps_is_refused():
    with pytest.raises(ValueError, match="between 0 and 1"):
        share_that_meets(1.0, 5)


def test_equal_replicas_have_one_p99():
    fleet = Fleet(8, 0.25, 1.0)
    assert averaged_percentiles.averaged(fleet) == pytest.approx(fleet.quantile(0.99))
    shown = averaged_percentiles.computed(replicas=8, slow_factor=1.0, median_ms=400)
    assert "the same within half a per cent" in shown.says


def test_the_mean_is_too_low_while_the_slow_replica_holds_more_than_the_tail():
    shown = averaged_percentiles.computed(replicas=8, slow_factor=2.5, median_ms=400)
    assert "40 % too low" in shown.says


def test_the_mean_is_too_high_once_the_slow_one_is_less_than_the_tail():
    # One replica of 200 is half of the tail, however slow it is; the mean takes its p99 in full.
    fleet = Fleet(200, 0.25, 40.0)
    assert averaged_percentiles.averaged(fleet) > fleet.quantile(0.99)

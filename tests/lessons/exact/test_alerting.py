import pytest

from lessons.exact.alerting import budget_left_h, burn_rate, drain_s, fires_after_s, spent_share


def test_a_queue_drains_by_what_is_served_beyond_what_arrives():
    assert drain_s(waiting=60, served_rps=0.5, arriving_rps=0.3) == pytest.approx(300)


def test_a_queue_that_is_fed_as_fast_never_drains():
    with pytest.raises(ValueError, match="does not drain"):
        drain_s(waiting=1, served_rps=0.3, arriving_rps=0.3)


def test_a_burn_rate_of_one_spends_the_budget_in_its_period():
    assert burn_rate(0.05, target=0.95) == pytest.approx(1)
    assert budget_left_h(1.0) == pytest.approx(720)
    assert spent_share(14.4, over_h=1) == pytest.approx(0.02)


def test_nothing_bad_never_spends_a_budget():
    assert budget_left_h(burn_rate(0.0, target=0.95)) == float("inf")


def test_a_target_without_a_budget_is_refused():
    with pytest.raises(ValueError, match="no budget"):
        burn_rate(0.1, target=1.0)


def test_a_rule_fires_once_its_window_holds_enough():
    # 20 % bad crosses 10 % over five minutes after half of it, is seen at 180 s and holds for two minutes.
    assert fires_after_s(0.2, 0.1, window_s=300, for_s=120) == pytest.approx(300)
    assert fires_after_s(1.0, 0.1, window_s=300) == pytest.approx(60)


def test_a_rule_below_its_threshold_never_fires():
    assert fires_after_s(0.1, 0.1, window_s=300) is None

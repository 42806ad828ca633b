from datetime import UTC, datetime, timedelta

import pytest

from labs.marking.predictions import wilson
from lessons.calibration import COIN_BRIER, Told, calibration_of, told

START = datetime(2026, 1, 1, tzinfo=UTC)


def row(percent: int, *, hit: bool, day: int = 0) -> Told:
    return Told(START + timedelta(days=day), percent, hit)


def rows(*outcomes: tuple[int, bool]) -> list[Told]:
    return [row(percent, hit=hit, day=day) for day, (percent, hit) in enumerate(outcomes)]


def test_nothing_predicted_gives_nothing():
    assert calibration_of([]) is None


def test_a_hit_is_within_a_quarter():
    assert told(START, 70, said=100, computed=124).hit
    assert not told(START, 70, said=100, computed=126).hit
    assert told(START, 70, said=0, computed=0).hit


def test_hits_stand_against_the_mean_confidence():
    found = calibration_of(rows((90, True), (90, False), (60, False)))
    assert (found.whole.count, found.whole.hits) == (3, 1)
    assert found.whole.share == pytest.approx(1 / 3)
    assert found.whole.stated == pytest.approx(0.8)
    assert found.whole.brier == pytest.approx((0.01 + 0.81 + 0.36) / 3)


def test_whoever_says_fifty_to_everything_has_the_brier_score_of_a_coin():
    found = calibration_of(rows(*[(50, day % 3 == 0) for day in range(7)]))
    assert found.whole.brier == COIN_BRIER


def test_the_strip_begins_at_twenty():
    assert calibration_of(rows(*[(70, True)] * 19)).strip == ()
    assert calibration_of(rows(*[(70, True)] * 19)).missing == 1
    found = calibration_of(rows(*[(70, True)] * 14, *[(90, False)] * 6))
    assert found.missing == 0
    assert [(bin_.percent, bin_.hits, bin_.count) for bin_ in found.strip] == [
        (50, 0, 0),
        (60, 0, 0),
        (70, 14, 14),
        (80, 0, 0),
        (90, 0, 6),
    ]
    assert found.strip[2].interval == wilson(14, 14)
    assert found.strip[0].interval is None


def test_a_word_needs_a_surplus_beyond_chance():
    assert calibration_of(rows(*[(90, False)] * 19)).word is None
    assert calibration_of(rows(*[(90, False)] * 20)).word == "over-confident"
    assert calibration_of(rows(*[(50, True)] * 20)).word == "under-confident"
    assert calibration_of(rows(*[(50, day % 2 == 0) for day in range(20)])).word is None


def test_the_last_ten_stand_beside_all_before_whatever_their_order():
    told_ = rows(*[(90, False)] * 12, *[(60, True)] * 10)
    moved = calibration_of(told_[::-1]).moved
    assert (moved.before.count, moved.before.brier) == (12, pytest.approx(0.81))
    assert (moved.last.count, moved.last.brier) == (10, pytest.approx(0.16))
    assert calibration_of(told_[:19]).moved is None


def test_a_confidence_that_nobody_can_choose_is_refused():
    with pytest.raises(ValueError, match="75"):
        calibration_of(rows((75, True)))

"""What counts of several attempts: four statements that hold of every list."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from courseware.cohorts.credit import Scored, credit
from courseware.cohorts.policy import Policy, Terms
from labs.marking.total import kept_score

START = datetime(2027, 3, 1, tzinfo=UTC)
SCORES = st.lists(st.integers(0, 1000).map(lambda tenths: tenths / 10), max_size=8)
WORTH = st.integers(1, 100)


def policy(**terms):
    return Policy(Terms(**terms), {})


def late(percent):
    """Every attempt ends while late work is worth so much."""
    return policy(
        due_at=START - timedelta(days=1),
        late_until=START + timedelta(days=99),
        late_credit_percent=percent,
    )


def attempts(scores):
    return [Scored(START + timedelta(hours=n), score) for n, score in enumerate(scores)]


def exact(found):
    return sum(line.counted for line in found.lines)


@given(SCORES, st.floats(0, 100), WORTH)
def test_trying_again_never_takes_points_away(scores, another, worth):
    before, after = (
        credit(late(worth), attempts(scores)),
        credit(late(worth), attempts([*scores, another])),
    )
    assert after.total >= before.total


@given(SCORES, st.integers(1, 1000).map(lambda tenths: tenths / 10), WORTH)
def test_beating_the_best_score_always_gains(scores, by, worth):
    better = max(scores, default=0) + by
    before, after = (
        credit(late(worth), attempts(scores)),
        credit(late(worth), attempts([*scores, better])),
    )
    assert exact(after) > exact(before)


@given(SCORES, st.integers(0, 7), st.floats(0, 100), WORTH)
def test_a_gain_never_counts_more_after_one_more_attempt(scores, place, detour, worth):
    detour = min(detour, max(scores[:place], default=0))
    longer = [*scores[:place], detour, *scores[place:]]
    direct, round_about = (
        credit(late(worth), attempts(scores)),
        credit(late(worth), attempts(longer)),
    )
    assert exact(round_about) <= exact(direct) + 1e-9


@given(st.integers(0, 2), st.integers(1, 1000).map(lambda tenths: tenths / 10))
def test_up_to_the_fourth_attempt_a_failure_first_costs_something(failures, score):
    sooner = credit(policy(), attempts([*[0.0] * failures, score]))
    later = credit(policy(), attempts([*[0.0] * (failures + 1), score]))
    assert exact(later) < exact(sooner)


@given(SCORES, st.integers(1, 8))
def test_no_attempt_beyond_the_allowed_number_counts(scores, most):
    limited = credit(policy(most_attempts=most), attempts(scores))
    assert len(limited.lines) <= most
    assert limited == credit(policy(), attempts(scores[:most]))


@given(SCORES)
def test_without_dates_it_is_the_score_that_a_lab_keeps(scores):
    assert credit(policy(), attempts(scores)).total == kept_score(scores)


def test_a_late_gain_counts_at_its_worth_and_one_after_late_work_not_at_all():
    dated = policy(due_at=START, late_until=START + timedelta(hours=1), late_credit_percent=50)
    found = credit(dated, attempts([40.0, 80.0, 100.0]))
    assert [line.worth_percent for line in found.lines] == [100, 50, 0]
    # 40 in full, then 40 more at 0.9 and half.
    assert found.total == 58.0

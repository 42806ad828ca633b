"""What holds for one person, field by field, and whether they may start."""

from datetime import UTC, datetime, timedelta

import pytest

from courseware.cohorts.policy import (
    Source,
    Terms,
    credit_percent,
    effective,
    in_words,
    standing,
    stretch_in_words,
)

DAY = timedelta(days=1)
MONDAY = datetime(2027, 3, 1, tzinfo=UTC)


def policy(*sources, begins_at=MONDAY, **terms):
    return effective([*sources, Source("the assignment", Terms(**terms))], begins_at=begins_at)


def test_each_field_comes_from_the_first_source_that_says_something_of_it():
    found = policy(
        Source("hers", Terms(most_attempts=5), is_personal=True),
        Source("label", Terms(most_attempts=3, wait_min=0)),
        most_attempts=2,
        wait_min=60,
        due_at=MONDAY + DAY,
    )
    assert found.terms == Terms(most_attempts=5, wait_min=0, due_at=MONDAY + DAY)
    assert found.origins == {
        "most_attempts": "hers",
        "wait_min": "label",
        "due_at": "the assignment",
    }


def test_extra_time_stretches_the_time_from_open_to_due_and_moves_late_work_by_as_much():
    found = policy(
        opens_at=MONDAY + DAY,
        due_at=MONDAY + 5 * DAY,
        late_until=MONDAY + 6 * DAY,
        extra_time_percent=50,
    )
    assert found.terms.due_at == MONDAY + 7 * DAY
    assert found.terms.late_until == MONDAY + 8 * DAY
    assert found.stretched_by == 2 * DAY


def test_without_an_opening_the_time_is_stretched_from_the_cohorts_first_day():
    assert policy(due_at=MONDAY + 4 * DAY, extra_time_percent=25).stretched_by == DAY


def test_a_due_date_for_this_very_person_is_not_stretched():
    hers = Source("hers", Terms(due_at=MONDAY + 9 * DAY), is_personal=True)
    found = policy(hers, due_at=MONDAY + 4 * DAY, extra_time_percent=50)
    assert (found.terms.due_at, found.stretched_by) == (MONDAY + 9 * DAY, timedelta(0))


@pytest.mark.parametrize(
    ("days", "percent"), [(-1, 100), (0, 100), (1, 50), (2, 50), (2.1, 0)], ids=str
)
def test_an_attempt_is_worth_what_the_moment_it_ended_is_worth(days, percent):
    found = policy(due_at=MONDAY, late_until=MONDAY + 2 * DAY, late_credit_percent=50)
    assert credit_percent(found, MONDAY + days * DAY) == percent


def test_without_dates_everything_counts_in_full():
    assert credit_percent(policy(), MONDAY) == 100
    assert credit_percent(policy(due_at=MONDAY), MONDAY + DAY) == 0


@pytest.mark.parametrize(
    ("terms", "begun", "why"),
    [
        (
            {"opens_at": MONDAY + DAY},
            (),
            "This lab is not open yet: it opens on 2 March 2027, 00:00 UTC.",
        ),
        (
            {"due_at": MONDAY - DAY},
            (),
            "This lab is closed: it took attempts until 28 February 2027, 00:00 UTC.",
        ),
        (
            {"most_attempts": 1},
            (-5,),
            "Your one attempt is used up; the last began on 24 February 2027, 00:00 UTC.",
        ),
        (
            {"most_attempts": 2},
            (-5, -1),
            "All 2 of your attempts are used up; the last began on 28 February 2027, 00:00 UTC.",
        ),
        (
            {"wait_min": 2880},
            (-1,),
            "Between two attempts lie 2 days: you can start again on 2 March 2027, 00:00 UTC.",
        ),
    ],
)
def test_each_refusal_is_a_sentence_with_its_date(terms, begun, why):
    found = standing(policy(**terms), [MONDAY + d * DAY for d in begun], now=MONDAY, what="lab")
    assert (found.may_start, found.why_not) == (False, why)


def test_late_work_keeps_an_assignment_open_after_it_is_due():
    found = policy(due_at=MONDAY - DAY, late_until=MONDAY + DAY)
    assert standing(found, [], now=MONDAY, what="lab").may_start


def test_attempts_from_before_the_opening_are_not_counted():
    found = policy(opens_at=MONDAY - DAY, most_attempts=1)
    assert standing(found, [MONDAY - 2 * DAY], now=MONDAY, what="lab").left == 1


def test_extra_time_reads_in_days_and_hours():
    spans = [timedelta(minutes=30), timedelta(hours=1), timedelta(days=3, hours=20, minutes=3)]
    assert [stretch_in_words(each) for each in spans] == [
        "30 minutes",
        "1 hour",
        "3 days 20 hours",
    ]


def test_a_wait_reads_in_its_largest_whole_unit():
    waits = [in_words(minutes) for minutes in (1, 90, 120, 1440, 2880)]
    assert waits == ["1 minute", "90 minutes", "2 hours", "24 hours", "2 days"]

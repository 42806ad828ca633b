"""Assignments on an axis of days."""

from datetime import UTC, datetime, timedelta

from courseware.cohorts.timeline import Span, timeline

BEGINS = datetime(2027, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def drawn(*spans, now=BEGINS):
    return timeline(spans, begins=BEGINS, ends=BEGINS + 100 * DAY, now=now)


def test_a_bar_runs_from_its_opening_until_it_is_due_and_late_work_follows():
    (bar,) = drawn(Span(BEGINS + 10 * DAY, BEGINS + 30 * DAY, BEGINS + 35 * DAY)).bars
    assert (bar.left, bar.width, bar.late_left, bar.late_width) == (10, 20, 30, 5)


def test_what_is_never_due_runs_from_the_first_day_to_the_last():
    (bar,) = drawn(Span(None, None, None)).bars
    assert (bar.left, bar.width, bar.is_dated) == (0, 100, False)


def test_the_axis_grows_with_a_date_beyond_the_cohorts_days():
    picture = drawn(Span(None, BEGINS + 200 * DAY, None), now=BEGINS + 50 * DAY)
    assert (picture.bars[0].width, picture.now) == (100, 25)


def test_ticks_are_the_ends_and_the_months_between_that_have_room():
    labels = [tick.label for tick in drawn().ticks]
    assert labels == ["1 Mar", "1 Apr", "1 May", "8 Jun"]


def test_before_and_after_the_axis_there_is_no_today():
    assert drawn(now=BEGINS - DAY).now is None

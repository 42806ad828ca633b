"""What waits for a worker or runs, in words."""

import pytest

from labs.models import Action, Attempt
from labs.room.under_way import under_way_of
from tests.factories import ActionFactory, AttemptFactory

pytestmark = pytest.mark.django_db


def queued(kind="command", **known):
    return ActionFactory(attempt=AttemptFactory(), kind=kind, status="queued", **known)


@pytest.mark.parametrize(
    ("in_front", "words"),
    [
        ([], "A worker takes it next."),
        (["command"], "One person is before you; a few seconds."),
        (["finish", "finish"], "Two people are before you; about 10 s."),
    ],
)
def test_the_wait_is_estimated_from_who_is_before(in_front, words):
    for kind in in_front:
        queued(kind)
    assert under_way_of(queued()).words == words


def test_what_a_lost_worker_left_says_so():
    assert "it is being done again" in under_way_of(queued(tries=1)).words


def test_marking_cannot_be_cancelled():
    marking = under_way_of(Action(attempt=Attempt(), seq=1, kind="finish", status="running"))
    assert (marking.what, marking.can_cancel) == ("your attempt is being marked", False)


@pytest.mark.parametrize("doing", ["", "Simulating −1:00 of 0:00"])
def test_judging_shows_no_clock_of_the_worlds_it_runs(doing):
    marking = Action(attempt=Attempt(), seq=1, kind="finish", status="running", doing=doing)
    assert under_way_of(marking).words == "Judging: the worlds run again"

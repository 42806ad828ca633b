"""What a person reads of their lease, in each of its states."""

from datetime import timedelta

import pytest
from django.utils import timezone

from labs import leases
from labs.room import card_of, room_of
from labs.room.under_way import under_way_of
from tests.factories import ActionFactory, AttemptFactory, UserFactory
from tests.labs.leasing import *  # noqa: F403
from tests.labs.leasing import Reason, box_is_up, changed, had, live_attempt, queued, running

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def moment(monkeypatch):
    """The clock stands still, so that what is left is exact."""
    at = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: at)
    return at


def words(lease):
    lease.refresh_from_db()
    return " ".join(card_of(lease.attempt).words)


def test_with_no_box_up_the_place_is_kept():
    assert words(queued()) == "You are next. No box is up now: your place is kept until one is."


def test_an_idle_box_takes_the_next_at_once():
    box_is_up()
    assert (
        words(queued()) == "You are next. A box is free, and takes the next lease within seconds."
    )


def test_before_a_lease_has_ended_only_the_longest_wait_is_told():
    box_is_up()
    running()
    queued(minutes_ago=2)
    assert words(queued(minutes_ago=1)) == (
        "One person is before you; one of one box is held. "
        "A box is free in 2 h 35 min at most. How long leases last is not known yet."
    )


def test_the_likely_wait_and_who_may_come_first_are_told():
    box_is_up("box-1")
    box_is_up("box-2")
    person = UserFactory()
    had(person, from_minutes_ago=60, minutes=20)
    running(box="box-1")
    running(box="box-2")
    queued(minutes_ago=2)
    queued(minutes_ago=1)
    assert words(queued(person)) == (
        "Two people are before you; two of two boxes are held. A box is free in about 40 min, as the last leases went; "
        "in 2 h 35 min at most, unless somebody asks who has had less engine time than you."
    )


def test_a_lease_that_was_lost_at_its_start_says_so():
    box_is_up()
    queued()
    lease = leases.claim_next("box-1")
    leases.put_back(lease)
    assert words(lease).startswith("The worker stopped while it started your engine.")


def test_a_start_shows_its_progress_and_its_clock():
    queued()
    lease = changed(leases.claim_next("box-1"), doing="Loading the weights", progress=0.4)
    card = card_of(lease.attempt)
    assert (card.heading, card.progress) == ("Your engine starts", 0.4)
    assert card.words == (
        "Loading the weights. It has 5 min more to be ready; else it is stopped, and you may ask again.",
    )


def test_a_running_engine_shows_both_clocks_and_what_more_there_is():
    card = card_of(running().attempt)
    assert [(each.name, each.left) for each in card.clocks] == [
        ("stops", "45 min"),
        ("stops unused", "10 min"),
    ]
    assert (card.extension, card.extensions_left, card.can_cancel) == ("15 min", 2, True)


def test_an_idle_clock_that_ends_later_than_the_deadline_is_not_shown(moment):
    card = card_of(running(deadline_at=moment + timedelta(minutes=3)).attempt)
    assert [each.name for each in card.clocks] == ["stops"]


def test_after_its_last_extension_there_is_none_to_press():
    card = card_of(running(extensions=2).attempt)
    assert (card.extension, card.extensions_left) == ("", 0)


def test_a_cancelled_one_waits_for_its_holder_and_has_no_button():
    lease = running()
    leases.cancel(lease)
    card = card_of(lease.attempt)
    assert (card.heading, card.can_cancel, card.look_every_s) == ("Stopping the engine", False, 2)


def test_an_ended_one_says_what_happened_and_looks_no_more():
    lease = running()
    leases.end(lease, Reason.IDLE)
    card = card_of(lease.attempt)
    assert card.heading == "Nobody used it"
    assert card.words[0].startswith("Nothing was asked of the engine for 10 min")
    assert (card.can_ask, card.look_every_s) == (False, 0)


def test_one_that_ended_before_the_page_may_be_asked_for_again():
    lease = queued()
    leases.cancel(lease)
    assert card_of(lease.attempt).can_ask


def test_an_attempt_without_a_lease_may_ask_for_one():
    card = card_of(live_attempt())
    assert (card.heading, card.status, card.can_ask) == ("No engine is asked for", "none", True)


def test_a_page_sees_each_move_of_the_lease():
    lease = queued()
    seen = [room_of(lease.attempt).version]
    claimed = leases.claim_next("box-1")
    seen.append(room_of(lease.attempt).version)
    leases.ready(claimed)
    seen.append(room_of(lease.attempt).version)
    leases.end(claimed, Reason.IDLE)
    seen.append(room_of(lease.attempt).version)
    assert len(set(seen)) == 4


def test_a_simulated_attempt_has_no_card():
    assert room_of(AttemptFactory(status="open")).lease is None


def test_who_waits_for_a_box_is_in_nobody_s_way():
    queued()
    action = ActionFactory(attempt=AttemptFactory(), kind="command", status="queued")
    assert under_way_of(action).words == "A worker takes it next."


def test_a_command_at_a_live_engine_waits_for_that():
    action = ActionFactory(attempt=running().attempt, kind="command", status="queued")
    assert under_way_of(action).words == "Your engine takes it next."


def test_a_closing_at_a_live_engine_says_how_long_that_is_watched():
    action = ActionFactory(attempt=running().attempt, kind="finish", status="queued")
    assert under_way_of(action).words.startswith("Your engine is watched for as long as the mark")

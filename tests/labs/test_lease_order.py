"""Who is next, and when: fair by person, an estimate that says what it rests on, and claims that race."""

import threading
from datetime import timedelta

import pytest
from django.db import connections
from django.utils import timezone

from labs import lease_order, leases
from labs.models import Lease
from tests.factories import UserFactory
from tests.labs.leasing import *  # noqa: F403
from tests.labs.leasing import Reason, box_is_up, had, queued, running
from tests.on_disk import on_disk

pytestmark = pytest.mark.django_db
MINUTE = 60


def order():
    return lease_order.in_order(timezone.now())


@pytest.fixture(autouse=True)
def clocks(settings):
    settings.LIVE_START_S, settings.LIVE_DEADLINE_S = 5 * MINUTE, 30 * MINUTE
    settings.LIVE_EXTENSIONS, settings.LIVE_EXTENSION_S = 1, 10 * MINUTE


# -------------------------------------------------------------------------------------- order


def test_who_asked_first_comes_first_among_those_who_had_nothing():
    later, first = queued(minutes_ago=1), queued(minutes_ago=5)
    assert order() == [first, later]


def test_who_had_less_comes_before_who_asked_earlier():
    much, little, nothing = UserFactory(), UserFactory(), UserFactory()
    had(much, from_minutes_ago=200, minutes=40)
    had(little, from_minutes_ago=100, minutes=5)
    a, b, c = queued(much, minutes_ago=9), queued(little, minutes_ago=5), queued(nothing)
    assert order() == [c, b, a]


def test_what_was_had_before_the_window_is_forgotten(settings):
    settings.LIVE_FAIR_WINDOW_S = 3600
    long_ago = UserFactory()
    had(long_ago, from_minutes_ago=120, minutes=50)
    first, second = queued(long_ago, minutes_ago=2), queued(minutes_ago=1)
    assert order() == [first, second]


def test_only_the_part_within_the_window_counts():
    person, now = UserFactory(), timezone.now()
    had(person, from_minutes_ago=70, minutes=20)
    found = lease_order.held_s([person.pk], now - timedelta(hours=1), now)
    assert found[person.pk] == pytest.approx(10 * MINUTE, abs=1)


def test_a_closed_attempt_waits_for_nothing():
    lease = queued()
    lease.attempt.status = "given_up"
    lease.attempt.save()
    assert order() == []
    assert lease_order.place_of(lease) is None
    assert leases.claim_next("box-1") is None


# ------------------------------------------------------------------------------------ the place


def test_with_no_box_nothing_is_estimated():
    place = lease_order.place_of(queued())
    assert (place.position, place.before, place.boxes) == (1, 0, 0)
    assert (place.likely_s, place.at_most_s) == (None, None)


def test_a_box_that_has_a_problem_or_was_not_heard_of_is_not_counted():
    box_is_up("box-1", problem="The model's folder is missing.")
    box_is_up("box-2", seen_at=timezone.now() - timedelta(minutes=5))
    assert lease_order.place_of(queued()).boxes == 0


def test_before_any_lease_has_ended_only_the_deadlines_speak():
    box_is_up()
    running()
    queued(minutes_ago=2)
    place = lease_order.place_of(queued(minutes_ago=1))
    # What the running one has left with its extension, then a whole lease.
    assert (place.position, place.before) == (2, 2)
    assert place.at_most_s == pytest.approx((40 + 45) * MINUTE, abs=5)
    assert place.likely_s is None


def test_likely_is_the_median_of_those_that_have_ended():
    box_is_up()
    for minutes in (5, 10, 30):
        had(UserFactory(), from_minutes_ago=400, minutes=minutes)
    now = timezone.now()
    running(claimed_at=now - timedelta(minutes=6))
    queued(minutes_ago=2)
    place = lease_order.place_of(queued(minutes_ago=1))
    # Of those that lasted longer than 6 min half end within 20: 14 more; then one of 10.
    assert place.likely_s == pytest.approx((14 + 10) * MINUTE, abs=5)


def test_only_the_last_twenty_leases_count():
    box_is_up()
    for number in range(25):
        had(UserFactory(), from_minutes_ago=500 - number, minutes=3 if number > 4 else 44)
    queued(minutes_ago=2)
    assert lease_order.place_of(queued(minutes_ago=1)).likely_s == pytest.approx(3 * MINUTE, abs=1)


def test_one_that_lasts_longer_than_any_before_is_given_all_that_it_can_have():
    box_is_up()
    had(UserFactory(), from_minutes_ago=400, minutes=2)
    running(claimed_at=timezone.now() - timedelta(minutes=9))
    place = lease_order.place_of(queued())
    assert place.likely_s == place.at_most_s == pytest.approx(40 * MINUTE, abs=5)


def test_an_idle_box_is_free_now_and_two_boxes_share_the_queue():
    box_is_up("box-1")
    box_is_up("box-2")
    running(box="box-1")
    assert lease_order.place_of(queued(minutes_ago=3)).at_most_s == 0
    assert lease_order.place_of(queued(minutes_ago=2)).at_most_s == pytest.approx(
        40 * MINUTE, abs=5
    )


def test_it_says_whether_somebody_may_come_first_who_asks_later():
    person = UserFactory()
    assert not lease_order.place_of(queued(minutes_ago=2)).may_be_passed
    had(person, from_minutes_ago=60, minutes=1)
    assert lease_order.place_of(queued(person)).may_be_passed


@pytest.mark.parametrize(
    ("left", "before", "free"),
    [((0,), (), 0), ((7,), (), 7), ((7,), (5, 5), 17), ((7, 3), (5,), 7), ((0, 0), (9, 4, 4), 8)],
)
def test_the_next_free_box(left, before, free):
    assert lease_order.free_in(left, before) == free


def test_a_lease_that_has_a_box_has_no_place():
    assert lease_order.place_of(running()) is None


# --------------------------------------------------------------------------------- at one time


def at_once(folder, *moves, then=None):
    """Let functions run in the same instant, a thread each; return what came of each, and what ``then`` reads."""
    gate, came = threading.Barrier(len(moves)), [None] * len(moves)

    def run(number, move):
        gate.wait()
        try:
            came[number] = move()
        except Exception as error:  # noqa: BLE001  what it was is what the test asks
            came[number] = error
        finally:
            connections.close_all()

    with on_disk(folder):
        threads = [threading.Thread(target=run, args=each) for each in enumerate(moves)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        if then is not None:
            read = []
            look = threading.Thread(target=lambda: (read.append(then()), connections.close_all()))
            look.start()
            look.join()
            return [*came, *read]
        return came


@pytest.mark.django_db(transaction=True)
def test_of_boxes_that_claim_at_once_each_gets_its_own_lease(tmp_path):
    made = {queued(minutes_ago=each).pk for each in range(3)}
    boxes = ["box-1", "box-2", "box-3", "box-4"]
    came = at_once(tmp_path, *(lambda box=each: leases.claim_next(box) for each in boxes))
    assert {each.pk for each in came if each is not None} == made
    assert came.count(None) == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_messages_for_one_box_at_once_one_claims(tmp_path):
    queued(minutes_ago=2)
    queued(minutes_ago=1)
    came = at_once(tmp_path, *[lambda: leases.claim_next("box-1")] * 4)
    assert sum(isinstance(each, Lease) for each in came) == 1
    assert came.count(None) == 3


@pytest.mark.django_db(transaction=True)
def test_of_a_claim_and_a_cancel_at_once_one_comes_second_and_knows(tmp_path):
    lease = queued()
    claimed, cancelled, lease = at_once(
        tmp_path,
        lambda: leases.claim_next("box-1"),
        lambda: leases.cancel(lease),
        then=Lease.objects.get,
    )
    assert cancelled is True
    assert (lease.status, lease.cancel_requested) == (
        ("starting", True) if claimed else ("ended", False)
    )


@pytest.mark.django_db(transaction=True)
def test_of_two_who_end_a_lease_at_once_one_did(tmp_path):
    lease = running()
    ends = [
        lambda reason=each: leases.end(lease, reason) for each in (Reason.IDLE, Reason.WORKER_LOST)
    ]
    *came, lease = at_once(tmp_path, *ends, then=Lease.objects.get)
    assert sorted(came) == [False, True]
    assert lease.end_reason == (Reason.IDLE if came[0] else Reason.WORKER_LOST)


@pytest.mark.django_db(transaction=True)
def test_two_clicks_that_ask_at_once_make_one_lease(tmp_path):
    from tests.labs.leasing import live_attempt

    attempt = live_attempt()
    *came, lease = at_once(tmp_path, *[lambda: leases.ask(attempt)] * 3, then=Lease.objects.get)
    assert came == [lease] * 3


# ------------------------------------------------------------------------------- boxes that fit


def test_a_lease_waits_for_a_box_of_a_profile_that_its_lab_names():
    lease = queued(minutes_ago=1)
    assert lease_order.profiles_of(lease) == {"cpu"}
    assert lease_order.fits(lease, "cpu")
    assert not lease_order.fits(lease, "h100-nvl-4")


def test_a_box_of_another_profile_is_not_counted_for_it():
    box_is_up("gpu-1", profile="h100-nvl-4")
    assert lease_order.place_of(queued(minutes_ago=1)).boxes == 0
    box_is_up("box-1")
    assert lease_order.place_of(queued()).boxes == 1


def test_a_lab_that_names_no_profile_is_taken_by_any_box():
    lease = queued(backend="simulated")
    assert lease_order.profiles_of(lease) == set()
    assert lease_order.fits(lease, "h100-nvl-4")


def test_every_box_is_rung_where_they_are_of_two_kinds():
    assert lease_order.rings(timezone.now()) == 1
    box_is_up("box-1")
    box_is_up("box-2")
    assert lease_order.rings(timezone.now()) == 1
    box_is_up("gpu-1", profile="h100-nvl-4")
    assert lease_order.rings(timezone.now()) == 3

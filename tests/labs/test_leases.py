"""A lease from the asking to the end: each move once, and only by whose turn it is."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from labs import attempts, leases, worker
from labs.models import Action, Attempt, Lease, Outbox
from tests.factories import CohortFactory, MembershipFactory, UserFactory
from tests.labs.leasing import *  # noqa: F403
from tests.labs.leasing import (
    Reason,
    Status,
    begun,
    changed,
    had,
    live_attempt,
    queued,
    running,
)

pytestmark = pytest.mark.django_db
NOW = timezone.now
KEPT = "The attempt and all its readings are kept. Commit your diagnosis from them, explain, and close the incident."
BEFORE = (
    "Your attempt is kept, and nothing was charged. Ask for an engine again when you are ready."
)


def messages(task=leases.HOLD):
    return list(Outbox.objects.filter(task=task).values_list("object_id", flat=True))


# ---------------------------------------------------------------------------------- asked for


def test_a_lease_is_asked_for_with_one_message(learner):
    lease = leases.ask(live_attempt(learner))
    assert (lease.status, lease.person, lease.box) == (Status.QUEUED, learner, "")
    assert messages() == [lease.pk]


def test_asking_again_returns_the_lease_that_waits(learner):
    attempt = live_attempt(learner)
    assert leases.ask(attempt) == leases.ask(attempt)
    assert len(messages()) == 1


def test_the_database_takes_no_second_unended_lease_of_an_attempt():
    lease = queued()
    with pytest.raises(IntegrityError), transaction.atomic():
        Lease.objects.create(attempt=lease.attempt, person=lease.person)


def test_a_beginning_that_was_cancelled_is_queued_with_the_next_lease(learner):
    lease = queued(learner)
    leases.cancel(lease)
    assert [each.status for each in lease.attempt.actions.all()] == ["cancelled"]
    again = leases.ask(lease.attempt)
    assert again != lease
    assert [each.status for each in lease.attempt.actions.all()] == ["cancelled", "queued"]


def test_an_attempt_that_had_its_engine_gets_no_second(learner):
    lease = running(learner)
    leases.end(lease, Reason.IDLE)
    with pytest.raises(leases.Refused, match="This attempt has had its engine"):
        leases.ask(lease.attempt)


def test_a_closed_attempt_gets_none(learner):
    with pytest.raises(attempts.Closed):
        leases.ask(live_attempt(learner, status="given_up"))


# -------------------------------------------------------------------------------------- quotas


def test_a_person_has_one_lease_at_once_and_is_told_where(learner):
    queued(learner)
    other = live_attempt(learner, lab_slug="summaries-start-late")
    with pytest.raises(leases.Refused) as refusal:
        leases.ask(other)
    assert str(refusal.value).startswith("You wait for an engine in “")
    assert str(refusal.value).endswith(
        "Close that attempt or cancel its engine first: one at a time."
    )


@pytest.fixture
def noon(monkeypatch):
    """A moment at which the clock stands still."""
    at = timezone.now().replace(hour=12, minute=0, second=0, microsecond=0)
    monkeypatch.setattr(timezone, "now", lambda: at)
    return at


def test_a_day_s_share_is_what_one_had_within_24_hours(learner, settings, noon):
    settings.LIVE_PER_PERSON_DAY_S = 3600
    had(learner, from_minutes_ago=24 * 60 + 30, minutes=40)  # 10 of its minutes are within the day
    had(learner, from_minutes_ago=120, minutes=49)
    lease = queued(learner)
    leases.cancel(lease)
    had(learner, from_minutes_ago=60, minutes=2)
    with pytest.raises(leases.Refused) as refusal:
        leases.ask(live_attempt(learner, lab_slug="answers-crawl"))
    assert (
        "an engine for 1 h 1 min within the last 24 hours, and 1 h is what one person gets"
        in str(refusal.value)
    )
    # A minute too much has dropped out in a minute; the one after that is said.
    assert f"from {noon:%-d %B}, 12:02 on" in str(refusal.value)


def test_who_had_far_too_much_is_told_when_enough_of_it_is_a_day_ago(learner, settings, noon):
    settings.LIVE_PER_PERSON_DAY_S = 600
    had(learner, from_minutes_ago=120, minutes=30)
    with pytest.raises(leases.Refused) as refusal:
        leases.ask(live_attempt(learner))
    assert f"from {noon + timedelta(days=1):%-d %B}, 10:21 on" in str(refusal.value)


def test_a_cohort_s_people_have_so_many_at_once(settings):
    settings.LIVE_PER_COHORT = 2
    cohort = CohortFactory(name="Night shift")
    people = [MembershipFactory(cohort=cohort).person for _ in range(3)]
    for each in people[:2]:
        queued(each)
    with pytest.raises(
        leases.Refused, match="2 people of Night shift have an engine or wait for one"
    ):
        queued(people[2])
    queued(UserFactory())


def test_who_teaches_has_no_quota(instructor, settings):
    settings.LIVE_PER_PERSON_DAY_S = 0
    assert queued(instructor).status == Status.QUEUED


def test_a_refusal_leaves_nothing_behind(learner, settings):
    settings.LIVE_PER_PERSON_DAY_S = 0
    with pytest.raises(leases.Refused):
        leases.ask(live_attempt(learner))
    assert not Lease.objects.exists()
    assert messages() == []


# ---------------------------------------------------------------------------- claimed and ready


def test_a_claim_starts_the_start_clock_and_names_its_holder(settings):
    settings.LIVE_START_S = 120
    lease = queued()
    claimed = leases.claim_next("box-1", host="here", pids={"holder": [1, 2]})
    assert claimed == lease
    assert (claimed.status, claimed.box, claimed.host, claimed.tries) == (
        "starting",
        "box-1",
        "here",
        1,
    )
    assert claimed.pids == {"holder": [1, 2]}
    assert claimed.deadline_at - claimed.claimed_at == timedelta(seconds=120)


def test_a_box_that_has_a_lease_claims_no_other():
    queued()
    queued()
    assert leases.claim_next("box-1")
    assert leases.claim_next("box-1") is None
    assert leases.claim_next("box-2")


def test_a_box_takes_what_fits_it():
    first, second = queued(minutes_ago=2), queued(minutes_ago=1)
    assert leases.claim_next("box-1", fits=lambda lease: lease != first) == second


def test_ready_starts_the_deadline(settings):
    settings.LIVE_DEADLINE_S = 600
    queued()
    lease = leases.claim_next("box-1")
    assert leases.ready(lease)
    assert (lease.status, lease.deadline_at - lease.ready_at) == ("running", timedelta(seconds=600))
    assert not leases.ready(lease)


def test_a_holder_whose_try_is_over_writes_nothing():
    queued()
    lost = leases.claim_next("box-1")
    assert leases.put_back(lost)
    again = leases.claim_next("box-1")
    assert again.tries == 2
    assert not leases.beat(lost, doing="I live")
    assert not leases.ready(lost)
    assert not leases.end(lost, Reason.START_FAILED, of_try=lost.tries)
    again.refresh_from_db()
    assert (again.status, again.doing) == ("starting", "Starting the engine")


def test_a_lease_that_is_put_back_keeps_its_place_and_rings_again():
    lease, later = queued(minutes_ago=5), queued(minutes_ago=1)
    leases.put_back(leases.claim_next("box-1"))
    lease.refresh_from_db()
    assert (lease.status, lease.box, lease.claimed_at) == ("queued", "", None)
    assert messages() == [lease.pk, later.pk, lease.pk]
    assert leases.claim_next("box-1") == lease


# -------------------------------------------------------------------------------------- clocks


def past(seconds):
    return NOW() - timedelta(seconds=seconds)


def test_nothing_is_over_while_a_lease_is_used():
    assert leases.over(running(), NOW()) is None


def test_an_engine_that_is_not_ready_in_time():
    queued()
    lease = leases.claim_next("box-1")
    assert leases.over(lease, lease.deadline_at - timedelta(seconds=1)) is None
    assert leases.over(lease, lease.deadline_at) == Reason.START_TIMEOUT


def test_the_deadline():
    lease = running()
    changed(lease, last_used_at=lease.deadline_at)
    assert leases.over(lease, lease.deadline_at) == Reason.DEADLINE


def test_the_idle_clock_runs_from_the_last_use(settings):
    lease = running(last_used_at=past(30))
    assert leases.over(lease, NOW() + timedelta(seconds=settings.LIVE_IDLE_S - 60)) is None
    assert leases.over(lease, NOW() + timedelta(seconds=settings.LIVE_IDLE_S + 1)) == Reason.IDLE
    leases.touch(lease)
    lease.refresh_from_db()
    assert leases.idle_at(lease) >= NOW() + timedelta(seconds=settings.LIVE_IDLE_S - 5)


def test_what_is_noted_in_the_log_counts_as_use(settings):
    long_ago = past(5000)
    lease = running(last_used_at=long_ago, ready_at=long_ago)
    Action.objects.update(created_at=long_ago, done_at=long_ago)
    assert leases.over(lease, NOW()) == Reason.IDLE
    attempts.record(lease.attempt, Action.Kind.BELIEFS, {})
    assert leases.over(lease, NOW()) is None


def test_nobody_is_idle_while_something_is_under_way(settings):
    lease = running()
    attempts.command(lease.attempt, "wait 10m")
    assert leases.idle_at(lease) is None
    assert leases.over(lease, NOW() + timedelta(seconds=settings.LIVE_IDLE_S + 1)) is None


def test_an_attempt_that_is_closed_ends_its_lease():
    lease = running()
    attempts.finish(lease.attempt)
    assert leases.over(lease, NOW()) == Reason.FINISHED


def test_an_extension_is_had_so_often(settings):
    settings.LIVE_EXTENSIONS, settings.LIVE_EXTENSION_S = 2, 300
    lease = running()
    before = lease.deadline_at
    stale = Lease.objects.get(pk=lease.pk)
    assert leases.extend(lease)
    assert not leases.extend(stale), "two clicks at once are one extension"
    lease.refresh_from_db()
    assert (lease.extensions, lease.deadline_at - before) == (1, timedelta(seconds=300))
    assert leases.extend(lease)
    lease.refresh_from_db()
    assert not leases.extend(lease)


def test_what_does_not_run_is_not_extended():
    lease = queued()
    assert not leases.extend(lease)
    assert not leases.extend(leases.claim_next("box-1"))


# ---------------------------------------------------------------------------------- cancelled


def test_a_lease_that_waits_is_cancelled_at_once():
    lease = queued()
    assert leases.cancel(lease)
    lease.refresh_from_db()
    assert (lease.status, lease.end_reason) == ("ended", "cancelled")
    assert lease.end_text == f"You left the queue before an engine was started. {BEFORE}"


def test_a_lease_with_a_box_is_cancelled_at_its_holder_s_next_breath():
    lease = running()
    assert leases.cancel(lease)
    lease.refresh_from_db()
    assert lease.status == "running"
    assert leases.over(lease, NOW()) == Reason.CANCELLED
    leases.end(lease, Reason.CANCELLED)
    lease.refresh_from_db()
    assert lease.end_text == f"You stopped the engine. {KEPT}"
    assert not leases.cancel(lease)


def test_a_lease_that_is_cancelled_waits_for_no_box():
    lease = queued()
    Lease.objects.filter(pk=lease.pk).update(cancel_requested=True)
    assert leases.claim_next("box-1") is None


# -------------------------------------------------------------------------------------- ended


@pytest.mark.parametrize(
    ("reason", "what"),
    [
        (
            Reason.IDLE,
            "Nothing was asked of the engine for 10 min, so it was stopped for whoever waits.",
        ),
        (
            Reason.DEADLINE,
            "The engine ran for 1 h, which is all that a lease has, and was stopped.",
        ),
        (
            Reason.WORKER_LOST,
            "The worker that held your engine was lost, and the engine is stopped.",
        ),
    ],
)
def test_an_end_says_what_happened_what_is_kept_and_what_to_do(reason, what):
    lease = running(extensions=1)
    assert leases.end(lease, reason)
    lease.refresh_from_db()
    assert lease.end_text == f"{what} {KEPT}"


def test_a_failed_start_keeps_the_attempt_to_be_tried_again():
    queued()
    lease = leases.claim_next("box-1")
    leases.end(lease, Reason.START_FAILED, "Port 8100 is taken by another process.")
    lease.refresh_from_db()
    assert lease.end_text == f"Port 8100 is taken by another process. {BEFORE}"
    assert lease.attempt.status == Attempt.Status.OPEN


def test_it_ends_once_and_the_first_reason_stands():
    lease = running()
    assert leases.end(lease, Reason.DEADLINE)
    assert not leases.end(lease, Reason.WORKER_LOST)
    lease.refresh_from_db()
    assert lease.end_reason == Reason.DEADLINE


def test_an_end_cancels_what_was_under_way_and_takes_no_more_commands():
    lease = running()
    action = attempts.command(lease.attempt, "wait 10m")
    leases.end(lease, Reason.ENGINE_DIED)
    action.refresh_from_db()
    assert (action.status, action.cost_s) == ("cancelled", 0)
    with pytest.raises(attempts.NotNow, match="has no engine any more"):
        attempts.command(lease.attempt, "wait 10m")
    attempts.record(lease.attempt, Action.Kind.EXPLAIN, {"text": "It died."})


def test_an_end_rings_for_who_waits():
    lease, waits = running(), queued()
    Outbox.objects.all().delete()
    leases.end(lease, Reason.FINISHED)
    assert messages() == [waits.pk]


# ------------------------------------------------------------------------------- other workers


def test_a_worker_leaves_the_actions_of_a_live_attempt_to_its_holder():
    lease = running()
    action = attempts.command(lease.attempt, "wait 10m")
    worker.execute_action(action.pk)
    Action.objects.filter(pk=action.pk).update(created_at=past(600))
    assert worker.tend() == 0
    action.refresh_from_db()
    assert (action.status, action.tries) == ("queued", 0)
    assert messages("labs.tasks.execute_action") == []


def test_a_live_attempt_is_marked_once_its_lease_has_ended(monkeypatch):
    marked = []
    monkeypatch.setattr(worker, "_perform", lambda action, *rest: marked.append(action.pk))
    lease = running()
    action = attempts.finish(lease.attempt)
    worker.execute_action(action.pk)
    assert marked == []
    Outbox.objects.all().delete()
    leases.end(lease, Reason.FINISHED)
    assert messages("labs.tasks.execute_action") == [action.pk]
    worker.execute_action(action.pk)
    assert marked == [action.pk]


def test_begun_is_what_the_page_says():
    lease = queued()
    assert not leases.at_page(lease.attempt_id)
    begun(lease)
    assert leases.at_page(lease.attempt_id)

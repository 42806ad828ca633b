"""The life of an attempt, as people move it."""

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from labs import attempts, worker
from labs.attempts import Busy, Closed
from labs.catalogue import labs
from labs.models import Action, Attempt, Outbox
from labs.models.attempts import AttemptQuerySet
from tests.labs.running import *  # noqa: F403
from tests.labs.running import Kind, Status, run

pytestmark = pytest.mark.django_db
SPEC = labs()["preemption-storm"]


def start(learner):
    return attempts.start_attempt(learner=learner, spec=SPEC)


# ---------------------------------------------------------------------------------------- start


def test_starting_twice_is_one_attempt(learner):
    first = start(learner)
    assert start(learner) == first
    assert Attempt.objects.count() == Action.objects.count() == Outbox.objects.count() == 1


def test_two_learners_have_two_attempts(learner, another_learner):
    assert start(learner) != start(another_learner)


def test_a_click_that_lost_the_race_gets_the_others_attempt(learner, monkeypatch):
    def first(found, real=AttemptQuerySet.first):
        monkeypatch.setattr(AttemptQuerySet, "first", real)
        assert real(found) is None  # Nothing yet; the other click comes now.
        start(learner)

    monkeypatch.setattr(AttemptQuerySet, "first", first)
    winner = start(learner)
    assert winner == Attempt.objects.get()
    assert Action.objects.count() == Outbox.objects.count() == 1


def test_each_attempt_has_a_seed_that_the_learner_has_not_met(learner, monkeypatch):
    monkeypatch.setattr("labs.pool.admitted", lambda slug: (11, 12, 13))
    met = []
    for _ in range(3):
        attempt = start(learner)
        met.append(attempt.seed)
        Attempt.objects.filter(pk=attempt.pk).update(status="given_up")
        attempt.actions.update(status="cancelled")
    assert sorted(met) == [11, 12, 13]
    assert start(learner).seed in {11, 12, 13}
    assert start(learner).number == 4


# -------------------------------------------------------------------------------------- outbox


def test_an_action_and_its_message_are_written_together_or_not_at_all(learner, published):
    with transaction.atomic():
        start(learner)
        transaction.set_rollback(True)
    assert Attempt.objects.count() == Action.objects.count() == Outbox.objects.count() == 0
    assert published == []


def test_the_message_is_published_after_commit_and_names_one_integer(
    learner, published, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks() as callbacks:
        attempt = start(learner)
    assert published == []
    callbacks[0]()
    action = attempt.actions.get()
    assert published == [("labs.tasks.execute_action", action.pk)]
    assert Outbox.objects.get().sent_at is not None
    callbacks[0]()
    assert len(published) == 1


# ------------------------------------------------------------------------------------- command


def test_a_line_that_is_not_understood_is_answered_at_once_and_free(begun):
    messages = Outbox.objects.count()
    action = attempts.command(begun, "kubectl get pods")
    assert (action.status, action.cost_s) == (Status.REFUSED, 0)
    assert "no kubectl" in action.outcome["text"]
    assert Outbox.objects.count() == messages
    begun.refresh_from_db()
    assert begun.clock_s == 0


@pytest.mark.parametrize("line", ["wait\x005m", "\ud800", "x" * 5000, "\x1b[31mred"])
def test_what_a_database_cannot_store_is_refused_and_stored_without(begun, line):
    action = attempts.command(begun, line)
    action.refresh_from_db()
    assert action.status == Status.REFUSED
    stored = action.payload["line"]
    assert len(stored) <= 400
    assert not {c for c in stored if ord(c) < 32 or 0xD800 <= ord(c) < 0xE000}


def test_what_the_world_refuses_costs_nothing(begun):
    action = run(begun, "undo 3")
    begun.refresh_from_db()
    assert (action.status, action.cost_s, begun.clock_s) == (Status.REFUSED, 0, 0)


def test_numbers_count_what_was_done_and_skip_refusals(begun):
    lines = ["kv-ledger", "kubectl", "undo 9", "flags", "steps"]
    done = [run(begun, line) for line in lines]
    numbers = [a.outcome.get("number") for a in done]
    assert numbers == [1, None, None, 2, 3]


def test_one_action_at_a_time(begun):
    attempts.command(begun, "kv-ledger")
    for another in (
        lambda: attempts.command(begun, "steps"),
        lambda: attempts.command(begun, "not a command"),
        lambda: attempts.record(begun, Kind.DIAGNOSE, {}),
        lambda: attempts.finish(begun),
        lambda: attempts.give_up(begun),
    ):
        with pytest.raises(Busy), transaction.atomic():
            another()
    assert begun.actions.count() == 2


def test_an_entry_that_lost_its_number_to_another_is_told_busy(begun, monkeypatch):
    monkeypatch.setattr(attempts, "next_seq", lambda pk: 0)
    with pytest.raises(Busy), transaction.atomic():
        attempts.record(begun, Kind.PREDICT, {"value": 1})


def test_what_needs_no_world_is_done_at_once_at_the_attempts_clock(begun):
    run(begun, "wait 2m")
    action = attempts.record(begun, Kind.DIAGNOSE, {"scope": "fault"})
    assert (action.status, action.at_s, action.cost_s) == (Status.DONE, 120, 0)


# --------------------------------------------------------------------------------- finish, end


def test_a_finished_attempt_takes_no_more(begun):
    action = attempts.finish(begun)
    begun.refresh_from_db()
    assert begun.status == Attempt.Status.MARKING
    with pytest.raises(Busy):
        attempts.finish(begun)
    Action.objects.filter(pk=action.pk).update(status="done")
    for more in (
        lambda: attempts.finish(begun),
        lambda: attempts.command(begun, "flags"),
        lambda: attempts.command(begun, "nonsense"),
        lambda: attempts.record(begun, Kind.EXPLAIN, {}),
    ):
        with pytest.raises(Closed), transaction.atomic():
            more()
    assert attempts.give_up(begun) is False


def test_giving_up_ends_an_attempt_without_a_mark_and_frees_the_lab(begun, learner):
    assert attempts.give_up(begun) is True
    begun.refresh_from_db()
    assert (begun.status, begun.total) == (Attempt.Status.GIVEN_UP, None)
    assert begun.finished_at <= timezone.now()
    assert start(learner) != begun


def test_only_what_could_not_be_graded_is_marked_again(begun):
    assert attempts.mark_again(begun) is None
    Attempt.objects.filter(pk=begun.pk).update(status="not_graded")
    action = attempts.mark_again(begun)
    assert (action.kind, action.status) == (Kind.FINISH, Status.QUEUED)
    assert attempts.mark_again(begun) is None


def test_marking_again_waits_for_the_learners_other_attempt(begun, learner):
    Attempt.objects.filter(pk=begun.pk).update(status="not_graded")
    start(learner)
    with pytest.raises(Busy), transaction.atomic():
        attempts.mark_again(begun)
    begun.refresh_from_db()
    assert begun.status == Attempt.Status.NOT_GRADED


# -------------------------------------------------------------------------------------- cancel


def test_a_queued_action_is_cancelled_at_once_and_costs_nothing(begun):
    action = attempts.command(begun, "wait 5m")
    assert attempts.cancel(action) is True
    worker.execute_action(action.pk)
    action.refresh_from_db()
    begun.refresh_from_db()
    assert (action.status, action.cost_s, begun.clock_s) == (Status.CANCELLED, 0, 0)
    assert run(begun, "kv-ledger").status == Status.DONE


def test_a_running_action_stops_at_its_next_breath(begun, monkeypatch):
    monkeypatch.setattr(worker, "TELL_EVERY_S", 0)
    action = attempts.command(begun, "wait 5m")
    told = []

    def ring(attempt_id):
        told.append(attempt_id)
        if len(told) == 3:  # In the middle of the wait.
            assert attempts.cancel(Action.objects.get(pk=action.pk)) is True

    monkeypatch.setattr("labs.doorbell.ring", ring)
    worker.execute_action(action.pk)
    action.refresh_from_db()
    begun.refresh_from_db()
    assert (action.status, action.outcome, begun.clock_s) == (Status.CANCELLED, None, 0)
    monkeypatch.setattr("labs.doorbell.ring", lambda attempt_id: None)
    assert run(begun, "wait 1m").at_s == 60


def test_what_is_done_and_marking_are_not_cancelled(begun):
    assert attempts.cancel(run(begun, "kv-ledger")) is False
    assert attempts.cancel(attempts.finish(begun)) is False


def test_a_beginning_that_was_cancelled_can_be_taken_up_again(attempt):
    assert attempts.take_up_again(attempt) is None
    attempts.cancel(attempt.actions.get())
    again = attempts.take_up_again(attempt)
    worker.execute_action(again.pk)
    attempt.refresh_from_db()
    assert attempt.panel["gauges"]["alarm"] > 0.6
    assert attempts.take_up_again(attempt) is None


def test_the_database_itself_holds_one_action_at_a_time(begun):
    attempts.command(begun, "kv-ledger")
    with pytest.raises(IntegrityError), transaction.atomic():
        Action.objects.create(attempt=begun, seq=99, kind=Kind.COMMAND)

"""The work behind an action: claimed once, stored once, taken up again once."""

from datetime import timedelta

import pytest
from django.utils import timezone

from labs import attempts, checkpoints, incident, outbox, tables, worker
from labs.catalogue import labs
from labs.models import Action, Attempt, Checkpoint, Outbox
from tests.labs.running import *  # noqa: F403
from tests.labs.running import Kind, Status, run, whole, world_of

pytestmark = pytest.mark.django_db


def test_a_beginning_brings_clock_panel_and_checkpoint(begun):
    assert begun.clock_s == 0
    series = begun.panel["alarm"]
    assert [at_s for at_s, _ in series][-2:] == [-30, 0]
    assert begun.panel["gauges"]["alarm"] == series[-1][1]
    assert begun.panel["hurt"] == [[0, 0, begun.panel["gauges"]["hurt_per_minute"]]]
    assert begun.checkpoint.after_seq == 0


def test_an_action_stores_outcome_clock_and_checkpoint_together(begun):
    action = run(begun, "request-log --last 12m --summary")
    begun.refresh_from_db()
    assert (action.status, action.at_s, action.cost_s, action.tries) == (Status.DONE, 45, 45, 1)
    assert action.progress == 1.0
    assert action.outcome["signals"]["offered_load_12m"] > 0.9
    assert (begun.clock_s, begun.checkpoint.after_seq) == (45, action.seq)


def test_the_series_grows_with_the_clock_and_repeats_nothing(begun):
    run(begun, "wait 2m")
    run(begun, "wait 1m")
    begun.refresh_from_db()
    times = [at_s for at_s, _ in begun.panel["alarm"]]
    assert times == sorted(set(times))
    assert times[-1] == 180


def test_a_redelivered_message_changes_nothing(begun):
    action = run(begun, "wait 2m")
    before, clock = whole(action), Attempt.objects.get().clock_s
    worker.execute_action(action.pk)
    assert whole(action) == before
    assert Attempt.objects.get().clock_s == clock


def test_a_message_about_nothing_is_left_alone(db):
    worker.execute_action(4711)
    assert not Action.objects.exists()


def test_two_workers_make_one_claim(begun, monkeypatch):
    action = attempts.command(begun, "wait 1m")
    performed = []

    def perform(mine, *rest, real=worker._perform):
        performed.append(mine.tries)
        if len(performed) == 1:  # The second worker comes while the first is at it.
            worker.execute_action(action.pk)
        real(mine, *rest)

    monkeypatch.setattr(worker, "_perform", perform)
    worker.execute_action(action.pk)
    assert performed == [1]
    assert whole(action)["at_s"] == 60


# ------------------------------------------------------------------------------------- it fails


@pytest.fixture
def broken(monkeypatch):
    def perform(*args, **kwargs):
        raise ZeroDivisionError("a bug of ours")

    monkeypatch.setattr(incident, "perform", perform)


def test_an_action_that_raises_is_put_back_twice_and_then_given_up(begun, broken):
    action = attempts.command(begun, "wait 1m")
    for tries in (1, 2):
        worker.execute_action(action.pk)
        action.refresh_from_db()
        assert (action.status, action.tries) == (Status.QUEUED, tries)
    worker.execute_action(action.pk)
    action.refresh_from_db()
    assert (action.status, action.tries, action.cost_s) == (Status.FAILED, 3, 0)
    worker.execute_action(action.pk)
    assert whole(action)["tries"] == 3


def test_after_a_failure_the_attempt_is_intact(begun, broken, monkeypatch):
    before = world_of(begun)
    action = attempts.command(begun, "wait 1m")
    for _ in range(3):
        worker.execute_action(action.pk)
    monkeypatch.undo()
    begun.refresh_from_db()
    assert (begun.status, begun.clock_s) == (Attempt.Status.OPEN, 0)
    assert world_of(begun) == before


def test_each_time_it_is_put_back_it_is_announced_again(begun, broken):
    action = attempts.command(begun, "wait 1m")
    worker.execute_action(action.pk)
    assert Outbox.objects.filter(object_id=action.pk).count() == 2


# --------------------------------------------------------------------------------- it goes silent


def silent(action, tries=1):
    """Let a worker have claimed the action and died."""
    long_ago = timezone.now() - timedelta(minutes=1)
    Action.objects.filter(pk=action.pk).update(
        status=Status.RUNNING, tries=tries, heartbeat_at=long_ago
    )


def test_a_silent_action_is_put_back_exactly_once(begun):
    action = attempts.command(begun, "wait 1m")
    silent(action)
    assert worker.tend() == 1
    assert worker.tend() == 0
    assert whole(action)["status"] == Status.QUEUED
    worker.execute_action(action.pk)
    assert (whole(action)["status"], whole(action)["tries"]) == (Status.DONE, 2)


def test_an_action_that_still_breathes_is_left_alone(begun):
    action = attempts.command(begun, "wait 1m")
    silent(action)
    Action.objects.filter(pk=action.pk).update(heartbeat_at=timezone.now())
    assert worker.tend() == 0


def test_a_third_silence_is_the_last(begun):
    action = attempts.command(begun, "wait 1m")
    silent(action, tries=3)
    worker.tend()
    assert whole(action)["status"] == Status.FAILED


def test_a_try_that_was_given_up_for_dead_writes_nothing(begun, monkeypatch):
    action = attempts.command(begun, "wait 1m")
    stored = []

    def perform(world, command, number, progress, real=incident.perform):
        outcome = real(world, command, number)
        if not stored:  # The first try freezes here; tend() and another worker go on without it.
            stored.append("frozen")
            Action.objects.filter(pk=action.pk).update(
                heartbeat_at=timezone.now() - timedelta(minutes=1)
            )
            assert worker.tend() == 1
            checkpoints.forget(begun.pk)
            worker.execute_action(action.pk)
            stored.append(whole(action))
        return outcome

    monkeypatch.setattr(incident, "perform", perform)
    worker.execute_action(action.pk)
    begun.refresh_from_db()
    assert stored[1]["tries"] == 2
    assert whole(action) == stored[1]
    assert begun.clock_s == 60
    assert run(begun, "wait 1m").at_s == 120


def test_a_try_that_was_given_up_for_dead_stops_at_its_next_breath(begun, monkeypatch):
    monkeypatch.setattr(worker, "TELL_EVERY_S", 0)
    action = attempts.command(begun, "wait 10m")
    told = []

    def ring(attempt_id):
        told.append(attempt_id)
        if len(told) == 4:
            Action.objects.filter(pk=action.pk).update(tries=2)

    monkeypatch.setattr("labs.doorbell.ring", ring)
    worker.execute_action(action.pk)
    assert len(told) <= 6
    assert whole(action)["status"] == Status.RUNNING
    assert begun.pk not in checkpoints._worlds


# ------------------------------------------------------------------------------ messages get lost


def test_a_message_that_the_broker_lost_is_sent_again(begun, published):
    action = attempts.command(begun, "wait 1m")
    old = timezone.now() - timedelta(minutes=5)
    Outbox.objects.update(created_at=old, sent_at=old)
    Action.objects.filter(pk=action.pk).update(created_at=old)
    worker.tend()
    assert Outbox.objects.filter(object_id=action.pk).count() == 2
    worker.tend()
    assert Outbox.objects.filter(object_id=action.pk).count() == 2


def test_a_broker_that_is_away_leaves_the_message_for_the_next_round(begun, monkeypatch, published):
    def away(task, object_id):
        raise ConnectionError

    action = attempts.command(begun, "wait 1m")
    message = Outbox.objects.get(object_id=action.pk)
    monkeypatch.setattr(outbox, "publish", away)
    outbox.send(message.pk)
    message.refresh_from_db()
    assert message.sent_at is None
    monkeypatch.setattr(outbox, "publish", lambda *what: published.append(what))
    Outbox.objects.update(created_at=timezone.now() - timedelta(seconds=10))
    worker.tend()
    assert ("labs.tasks.execute_action", action.pk) in published
    message.refresh_from_db()
    assert message.sent_at is not None


def test_messages_of_yesterday_are_forgotten(begun):
    Outbox.objects.update(sent_at=timezone.now() - timedelta(days=2))
    worker.tend()
    assert not Outbox.objects.exists()


# ------------------------------------------------------------------------------------ checkpoints

STORY = ("request-log --last 12m --summary", "steps", "restart --max-num-seqs 28", "wait 3m")


@pytest.mark.parametrize(
    "lose",
    [
        lambda: Checkpoint.objects.all().delete(),
        lambda: Checkpoint.objects.update(code_digest="another code"),
        lambda: Checkpoint.objects.update(after_seq=0),
    ],
    ids=["gone", "of another code", "of an earlier action"],
)
def test_a_world_without_its_checkpoint_is_rebuilt_from_the_log_to_the_same_bytes(begun, lose):
    for line in (*STORY, "undo 9", "flags"):
        run(begun, line)
    kept = world_of(begun)
    lose()
    assert world_of(begun) == kept
    assert run(begun, "kv-ledger").status == Status.DONE
    assert Checkpoint.objects.get().after_seq == Action.objects.last().seq


def test_a_worker_that_has_the_world_at_hand_and_one_that_has_not_do_the_same(begun):
    warm = [run(begun, line).outcome for line in STORY]
    digest = world_of(begun)
    Action.objects.filter(attempt=begun, kind=Kind.COMMAND).delete()
    Attempt.objects.update(clock_s=0)
    cold = []
    for line in STORY:
        checkpoints._worlds.clear()
        cold.append(run(begun, line).outcome)
    assert cold == warm
    assert world_of(begun) == digest


def test_a_process_keeps_few_worlds(begun):
    for number in range(20):
        checkpoints.keep(number, 0, None)
    assert len(checkpoints._worlds) == checkpoints.WORLDS_KEPT
    assert 19 in checkpoints._worlds


# ---------------------------------------------------------------------------------------- marking


def test_marking_that_cannot_be_run_is_no_zero_and_works_once_the_fault_is_mended(
    begun, monkeypatch
):
    def lost(*args, **kwargs):
        raise RuntimeError("the table is lost")

    monkeypatch.setattr(tables, "table_for", lost)
    action = attempts.finish(begun)
    for _ in range(3):
        worker.execute_action(action.pk)
    begun.refresh_from_db()
    assert (begun.status, begun.total, begun.mark) == (Attempt.Status.NOT_GRADED, None, None)
    assert whole(action)["status"] == Status.FAILED

    monkeypatch.setattr(tables, "table_for", lambda spec, progress: _table())
    again = attempts.mark_again(begun)
    worker.execute_action(again.pk)
    begun.refresh_from_db()
    assert begun.status == Attempt.Status.MARKED
    assert begun.total == 0
    assert {part["name"] for part in begun.mark["parts"]} >= {"mitigation", "economy"}


def _table():
    import json

    from labs import pool

    path = pool.folder_of("preemption-storm") / "table.json.gz"
    return pool.load_table(json.loads(pool.gzip.decompress(path.read_bytes()))["table"])


@pytest.mark.parametrize("explained", [True, False])
def test_an_explanation_and_only_that_gives_a_grader_work(begun, monkeypatch, explained):
    monkeypatch.setattr(tables, "table_for", lambda spec, progress: _table())
    if explained:
        attempts.record(begun, Kind.EXPLAIN, {"text": "The pool was too small."})
    action = attempts.finish(begun)
    worker.execute_action(action.pk)
    begun.refresh_from_db()
    assert begun.status == Attempt.Status.MARKED
    assert begun.reviews.exists() is explained
    assert whole(action)["outcome"]["kind"] == "mark"


def test_a_marking_that_was_taken_over_writes_nothing(begun, monkeypatch):
    action = attempts.finish(begun)

    def slow(spec, progress):
        Action.objects.filter(pk=action.pk).update(tries=2)
        return _table()

    monkeypatch.setattr(tables, "table_for", slow)
    worker.execute_action(action.pk)
    begun.refresh_from_db()
    assert (begun.status, begun.mark) == (Attempt.Status.MARKING, None)
    assert whole(action)["status"] == Status.RUNNING


# ------------------------------------------------------------------------------------------ tasks


def test_tasks_are_one_call_each(monkeypatch):
    from labs import tasks

    called = []
    monkeypatch.setattr(worker, "execute_action", called.append)
    monkeypatch.setattr(worker, "tend", lambda: called.append("tend"))
    tasks.execute_action(7)
    tasks.tend_actions()
    assert called == [7, "tend"]


def test_wall_time_never_enters_the_world(begun, monkeypatch):
    """A worker that is a thousand times slower, and tells of it at every piece, leaves the same bytes."""
    for line in STORY:
        run(begun, line)
    digest = world_of(begun)
    monkeypatch.setattr(worker, "TELL_EVERY_S", 0)
    monkeypatch.setattr(worker.time, "monotonic", iter(range(0, 10**9, 1000)).__next__)
    Checkpoint.objects.all().delete()
    assert world_of(begun) == digest


def test_an_attempt_belongs_to_a_lab_that_exists():
    assert {"preemption-storm"} <= set(labs())

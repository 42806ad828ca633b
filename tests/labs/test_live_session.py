"""Holding a lease from claim to end: whatever happens, the engine is gone, the row says why, and the box is free."""

from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from labs import attempts, incident, leases, live_session, live_sweep, outbox, worker
from labs.live import guard
from labs.models import Action, Lease, Outbox
from tests.labs.leasing import Reason, live_attempt, queued
from tests.labs.live.sleeping import SLEEP, Sleeping
from tests.labs.running import _worlds_begin_at_once  # noqa: F401  (a fixture)

pytestmark = pytest.mark.django_db
Kind, Status = Action.Kind, Action.Status


@pytest.fixture(autouse=True)
def at_once(monkeypatch, tmp_path, settings):
    """Every breath looks; no broker; a folder of the test's own."""
    settings.LIVE_DIR, settings.LIVE_BOX, settings.LIVE_GRACE_S = tmp_path / "run", "box-1", 1
    monkeypatch.setattr(live_session, "BEAT_EVERY_S", 0)
    monkeypatch.setattr(live_session, "LOOK_EVERY_S", 0)
    monkeypatch.setattr(outbox, "publish", lambda task, object_id: None)
    yield
    guard.end_all(lambda: [each for each, _ in guard.marked(settings.LIVE_DIR)], grace_s=0)


@pytest.fixture
def lease(learner):
    return queued(learner)


@pytest.fixture
def held(monkeypatch):
    """Hold the next lease with a session that follows a script, and return the session."""

    def hold(*script, rung=0, **options):
        made = []

        def session_of(lease):
            made.append(Sleeping(lease, script, **options))
            return made[0]

        monkeypatch.setattr(live_session, "session_of", session_of)
        live_session.hold(rung)
        return made[0] if made else None

    return hold


def now(lease):
    lease.refresh_from_db()
    return lease


def nothing_runs(settings):
    return guard.marked(settings.LIVE_DIR) == []


def is_over(lease, reason, text, settings):
    """The lease has ended so, nothing of it runs, and its box is free."""
    now(lease)
    assert (lease.status, lease.end_reason) == ("ended", reason)
    assert lease.end_text.startswith(text)
    assert nothing_runs(settings)
    assert not Lease.objects.held().exists()
    return True


# ------------------------------------------------------------------------------------ all is well


def test_a_lease_is_held_from_its_beginning_to_the_finish(lease, held, settings):
    attempt, seen = lease.attempt, []

    def type_a_line():
        attempt.refresh_from_db()
        seen.append((now(lease).status, attempt.clock_s, bool(attempt.panel)))
        attempts.command(attempt, "request-log --last 12m --summary")

    def look_and_finish():
        action = attempt.actions.get(kind=Kind.COMMAND)
        seen.append((action.status, action.at_s, action.outcome["number"]))
        attempts.finish(attempt)

    session = held(type_a_line, look_and_finish)
    assert seen == [("running", 0, True), (Status.DONE, 45, 1)]
    assert is_over(
        lease, Reason.FINISHED, "The attempt was closed, and its engine was stopped.", settings
    )
    assert session.stopped == 1
    assert lease.engine_log.splitlines()[:2] == ["engine up", "guard: ending the engine (stop)"]
    assert set(lease.pids) == {"holder", "guard"}
    assert (lease.host, lease.log_path) == (live_sweep.host(), session.log_path)


def test_its_marking_is_announced_once_the_engine_is_gone(lease, held):
    Outbox.objects.all().delete()
    held(lambda: attempts.finish(lease.attempt))
    action = lease.attempt.actions.get(kind=Kind.FINISH)
    assert Outbox.objects.filter(object_id=action.pk, task=outbox.EXECUTE).count() == 2
    assert Action.objects.filter(pk=action.pk).for_any_worker().exists()


def test_whoever_rang_the_next_is_taken(held):
    first, second = queued(minutes_ago=5), queued(minutes_ago=1)
    taken = held(lambda: attempts.finish(first.attempt), rung=second.pk)
    assert taken.lease == first
    assert now(second).status == "queued"


def test_a_box_leaves_a_lease_whose_lab_is_not_written_for_it(lease, held, settings):
    settings.LIVE_PROFILE = "h100-nvl-4"
    assert held(rung=lease.pk) is None
    assert now(lease).status == "queued"


def test_a_message_that_comes_twice_or_about_nothing_holds_nothing(lease, held):
    held(lambda: attempts.finish(lease.attempt), rung=lease.pk)
    assert held(rung=lease.pk) is None
    assert held(rung=4711) is None
    assert now(lease).tries == 1


def test_while_it_is_held_a_second_message_claims_nothing(lease, held):
    queued()
    came = []

    def ring():
        came.append(leases.claim_next("box-1"))
        attempts.finish(lease.attempt)

    Lease.objects.filter(pk=lease.pk).update(requested_at=timezone.now() - timedelta(hours=1))
    held(ring)
    assert came == [None]


def test_using_it_begins_the_idle_clock_anew(lease, held):
    used = []

    def type_a_line():
        Lease.objects.update(last_used_at=timezone.now() - timedelta(days=1))
        attempts.command(lease.attempt, "wait 1m")

    def look():
        used.append(now(lease).last_used_at)
        attempts.finish(lease.attempt)

    held(type_a_line, look)
    assert timezone.now() - used[0] < timedelta(minutes=1)


def test_a_box_with_a_process_that_cannot_be_ended_takes_no_lease(lease, held, monkeypatch):
    stuck = live_sweep.Swept(stuck=[guard.Process(4711, 1, 1)])
    monkeypatch.setattr(live_sweep, "sweep_box", lambda **_: stuck)
    assert held() is None
    assert now(lease).status == "queued"


def test_a_box_whose_devices_are_not_as_they_were_takes_no_lease(lease, held, monkeypatch):
    capped = live_sweep.Swept(not_undone=["“nvidia-smi -i 0 -rgc” ended with status 4"])
    monkeypatch.setattr(live_sweep, "sweep_box", lambda **_: capped)
    assert held() is None
    assert now(lease).status == "queued"


# ------------------------------------------------------------------------------------ it starts


def test_what_a_start_does_is_told(lease, held):
    told = []
    held(
        lambda: attempts.finish(lease.attempt),
        starting=[lambda: None, lambda: told.append(now(lease).doing)],
    )
    assert told == ["Loading the weights"]


def test_a_start_is_cancelled_at_its_next_breath(lease, held, settings):
    session = held(starting=[lambda: leases.cancel(now(lease))])
    assert is_over(
        lease, Reason.CANCELLED, "You stopped the engine. Your attempt is kept", settings
    )
    assert session.stopped == 1


def test_a_start_that_takes_too_long_is_ended_by_its_clock(lease, held, settings):
    held(starting=[lambda: Lease.objects.update(deadline_at=timezone.now())])
    assert is_over(lease, Reason.START_TIMEOUT, "The engine was not ready within 5 min", settings)


def test_an_engine_that_dies_at_start_says_why_and_keeps_its_log(lease, held, settings):
    dies = [SLEEP[0], "-c", "print('RuntimeError: no weights'); raise SystemExit(3)"]
    held(argv=dies)
    assert is_over(
        lease, Reason.START_FAILED, "The engine ended by itself: no weights. Your attempt", settings
    )
    assert lease.engine_log == "RuntimeError: no weights"


def test_an_attempt_whose_start_failed_may_ask_again(lease, held, settings):
    held(argv=["/nowhere/vllm"])
    again = leases.ask(lease.attempt)
    held(lambda: attempts.finish(lease.attempt))
    assert is_over(again, Reason.FINISHED, "The attempt was closed", settings)


def test_a_session_that_cannot_even_be_made_frees_the_box(lease, settings):
    settings.LIVE_SESSION = "labs.nowhere.session_of"
    live_session.hold(lease.pk)
    assert is_over(lease, Reason.START_FAILED, "The engine could not be started.", settings)


def test_no_engine_is_started_for_a_beginning_that_was_cancelled(lease, held, settings):
    attempts.cancel(lease.attempt.actions.get())
    session = held()
    assert session.guard is None
    assert is_over(lease, Reason.CANCELLED, "You stopped the engine.", settings)


def test_a_beginning_that_is_cancelled_while_the_engine_starts_ends_the_lease(
    lease, held, settings
):
    held(starting=[lambda: attempts.cancel(lease.attempt.actions.get())])
    assert is_over(lease, Reason.CANCELLED, "You stopped the engine.", settings)


def test_a_beginning_that_fails_three_times_ends_the_lease(lease, held, settings, monkeypatch):
    def broken(*args, **kwargs):
        raise ZeroDivisionError("a bug of ours")

    monkeypatch.setattr(incident, "begin", broken)
    held()
    assert lease.attempt.actions.get().tries == 3
    assert is_over(
        lease, Reason.ENGINE_DIED, "The engine answered, but the incident could not", settings
    )


# ------------------------------------------------------------------------------------ it runs


def test_a_running_engine_is_cancelled(lease, held, settings):
    held(lambda: leases.cancel(now(lease)))
    assert is_over(
        lease,
        Reason.CANCELLED,
        "You stopped the engine. The attempt and all its readings",
        settings,
    )


def test_its_deadline(lease, held, settings):
    held(lambda: Lease.objects.update(deadline_at=timezone.now()))
    assert is_over(lease, Reason.DEADLINE, "The engine ran for 45 min", settings)


def test_its_idle_clock(lease, held, settings):
    def long_ago():
        at = timezone.now() - timedelta(hours=1)
        Lease.objects.update(last_used_at=at, ready_at=at)
        Action.objects.update(created_at=at, done_at=at)

    held(long_ago)
    assert is_over(lease, Reason.IDLE, "Nothing was asked of the engine for 10 min", settings)


def test_an_extension_is_heard_of(lease, held, settings):
    def extend_then_run_out():
        assert leases.extend(now(lease))
        Lease.objects.update(deadline_at=timezone.now())

    held(extend_then_run_out)
    assert is_over(lease, Reason.DEADLINE, "The engine ran for 1 h", settings)


def test_an_engine_that_is_killed_under_the_load(lease, held, settings):
    def kill():
        for each, _ in guard.marked(settings.LIVE_DIR):
            each.signal(9)
        session_guard = guard.process(now(lease).pids["guard"][0])
        while session_guard is not None and session_guard.is_alive:
            pass

    held(kill)
    assert is_over(
        lease, Reason.ENGINE_DIED, "The engine ended (status -9). The attempt and all", settings
    )


def test_an_engine_that_dies_under_a_command_charges_nothing(lease, held, settings, monkeypatch):
    def dies(*args, **kwargs):
        raise live_session.EngineLost("The engine hung up.")

    monkeypatch.setattr(incident, "perform", dies)
    held(lambda: attempts.command(lease.attempt, "wait 1m"))
    assert is_over(lease, Reason.ENGINE_DIED, "The engine hung up.", settings)
    action = lease.attempt.actions.get(kind=Kind.COMMAND)
    assert (action.status, action.cost_s) == (Status.CANCELLED, 0)


def test_a_deadline_that_comes_under_a_command_ends_it_uncharged(
    lease, held, settings, monkeypatch
):
    def perform(world, command, number, progress):
        Lease.objects.update(deadline_at=timezone.now())
        progress(0.1, "waiting")
        raise AssertionError("it went on")

    monkeypatch.setattr(incident, "perform", perform)
    held(lambda: attempts.command(lease.attempt, "wait 1m"))
    assert is_over(lease, Reason.DEADLINE, "The engine ran for", settings)
    assert lease.attempt.actions.get(kind=Kind.COMMAND).status == Status.CANCELLED


def test_a_command_that_is_cancelled_leaves_the_lease_running(lease, held, settings, monkeypatch):
    monkeypatch.setattr(worker, "TELL_EVERY_S", 0)

    def perform(world, command, number, progress):
        attempts.cancel(lease.attempt.actions.get(kind=Kind.COMMAND))
        progress(0.1, "waiting")

    seen = []

    def look():
        seen.append((now(lease).status, lease.attempt.actions.get(kind=Kind.COMMAND).status))
        attempts.finish(lease.attempt)

    monkeypatch.setattr(incident, "perform", perform)
    held(lambda: attempts.command(lease.attempt, "wait 1m"), look)
    assert seen == [("running", Status.CANCELLED)]


def test_a_bug_of_ours_ends_the_lease_and_frees_the_box(lease, held, settings):
    def bug():
        raise ZeroDivisionError

    held(bug)
    assert is_over(lease, Reason.ENGINE_DIED, "The engine ended by itself.", settings)


def test_a_session_that_does_not_stop_is_swept(lease, held, settings, monkeypatch):
    def broken(self):
        raise OSError("the disk is full")

    monkeypatch.setattr(Sleeping, "stop", broken)
    session = held(lambda: attempts.finish(lease.attempt))
    session.guard.communicate()
    assert is_over(lease, Reason.FINISHED, "The attempt was closed", settings)


def test_what_it_broke_is_undone_at_the_end(lease, held, settings, tmp_path):
    ledger = live_sweep.ledger_of(str(lease.public_id))
    guard.record(ledger, ["touch", str(tmp_path / "undone")])
    held(lambda: attempts.finish(lease.attempt))
    assert (tmp_path / "undone").exists()
    assert not ledger.exists()


# ------------------------------------------------------------------------- it is taken from it


def test_a_lease_that_somebody_else_ended_is_let_go_and_its_log_kept(lease, held, settings):
    held(lambda: leases.end(lease, Reason.WORKER_STOPPED))
    assert is_over(
        lease, Reason.WORKER_STOPPED, "The box that ran your engine was stopped", settings
    )
    assert "engine up" in lease.engine_log


def test_a_holder_that_was_given_up_for_lost_while_it_started_leaves_the_next_try_alone(
    lease, held, settings
):
    def lose():
        assert leases.put_back(now(lease))
        assert leases.claim_next("box-2").tries == 2

    held(starting=[lose])
    assert (now(lease).status, lease.box, lease.tries) == ("starting", "box-2", 2)
    assert nothing_runs(settings)


# ---------------------------------------------------------------------- the database is away


def away(monkeypatch, times):
    """Let the next beats fail, as they do when the database restarts."""
    left, real = [times], leases.beat

    def beat(lease, **fields):
        if left[0] > 0:
            left[0] -= 1
            raise OperationalError("the database system is starting up")
        return real(lease, **fields)

    monkeypatch.setattr(leases, "beat", beat)
    monkeypatch.setattr(live_session.connection, "close", lambda: None)


def test_a_database_that_is_away_for_a_moment_is_borne(lease, held, settings, monkeypatch):
    held(
        lambda: away(monkeypatch, 3),
        lambda: None,
        lambda: None,
        lambda: None,
        lambda: attempts.finish(lease.attempt),
    )
    assert is_over(lease, Reason.FINISHED, "The attempt was closed", settings)


def test_one_that_stays_away_for_longer_than_silence_is_allowed_ends_the_holding(
    lease, held, settings, monkeypatch
):
    settings.LIVE_SILENCE_S = 0
    session = held(lambda: away(monkeypatch, 2))
    assert session.stopped == 1
    assert nothing_runs(settings)


def test_a_lease_that_this_process_held_before_and_could_not_end_is_lost(lease, held, settings):
    leases.claim_next("box-1", host=live_sweep.host(), pids={"holder": live_sweep.myself()})
    leases.ready(now(lease))
    other = live_attempt()
    leases.ask(other)
    held(lambda: attempts.finish(other))
    assert is_over(lease, Reason.WORKER_LOST, "The worker that held your engine was lost", settings)

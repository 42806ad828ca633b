"""What ends when nobody holds it any more: leases, processes, faults, logs, folders."""

import os
import subprocess
import sys
import time
from datetime import timedelta

import pytest
from django.utils import timezone

from labs import attempts, leases, live_sweep
from labs.live import guard
from labs.models import Action, Lease, Outbox
from tests.labs.leasing import *  # noqa: F403
from tests.labs.leasing import Reason, Status, box_is_up, changed, live_attempt, queued, running

pytestmark = pytest.mark.django_db
SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"


def ago(seconds):
    return timezone.now() - timedelta(seconds=seconds)


def now(lease):
    lease.refresh_from_db()
    return lease


# -------------------------------------------------------------------------------- from anywhere


def test_a_running_lease_whose_holder_is_silent_is_ended_once(settings):
    lease = running(heartbeat_at=ago(settings.LIVE_SILENCE_S + 1))
    assert live_sweep.tend() == 1
    assert live_sweep.tend() == 0
    assert (now(lease).status, lease.end_reason) == ("ended", "worker_lost")
    assert lease.end_text.startswith(
        "The worker that held your engine was lost, and the engine is stopped."
    )


def test_one_that_still_breathes_is_left_alone(settings):
    lease = running(heartbeat_at=ago(settings.LIVE_SILENCE_S - 10))
    assert live_sweep.tend() == 0
    assert now(lease).status == "running"


def test_one_that_was_lost_while_it_started_is_queued_again_and_then_given_up(settings):
    lease = queued()
    for status in ("queued", "ended"):
        leases.claim_next("box-1")
        changed(lease, heartbeat_at=ago(settings.LIVE_SILENCE_S + 1))
        assert live_sweep.tend() == 1
        assert now(lease).status == status
    assert (lease.tries, lease.end_reason) == (2, "worker_lost")


def test_one_that_was_lost_after_its_person_cancelled_is_cancelled(settings):
    lease = queued()
    leases.claim_next("box-1")
    leases.cancel(now(lease))
    changed(lease, heartbeat_at=ago(settings.LIVE_SILENCE_S + 1))
    live_sweep.tend()
    assert (now(lease).status, lease.end_reason) == ("ended", "cancelled")


def test_a_holder_that_lives_and_does_not_look_loses_its_lease(settings):
    lease = running(deadline_at=ago(settings.LIVE_SILENCE_S + 1))
    live_sweep.tend()
    assert now(lease).end_reason == "deadline"


def test_a_lease_that_waits_for_an_attempt_that_is_closed_ends():
    lease = queued()
    lease.attempt.actions.update(status="cancelled")
    attempts.give_up(lease.attempt)
    live_sweep.tend()
    assert (now(lease).status, lease.end_reason) == ("ended", "finished")


def test_a_command_that_came_in_the_instant_of_the_end_is_let_go():
    lease = running()
    leases.end(lease, Reason.IDLE)
    late = Action.objects.create(attempt=lease.attempt, seq=9, kind=Action.Kind.COMMAND)
    live_sweep.tend()
    assert Action.objects.get(pk=late.pk).status == "queued", (
        "it may be that a lease is being asked for"
    )
    Action.objects.filter(pk=late.pk).update(created_at=ago(60))
    live_sweep.tend()
    assert Action.objects.get(pk=late.pk).status == "cancelled"


def rung():
    return Outbox.objects.filter(task=leases.HOLD).count()


def test_who_waits_is_rung_for_again_while_a_box_stands_idle():
    queued()
    Outbox.objects.update(created_at=ago(60), sent_at=ago(60))
    live_sweep.tend()
    live_sweep.tend()
    assert rung() == 2


def test_nobody_is_rung_for_while_every_box_is_held():
    box_is_up("box-1")
    running()
    queued()
    Outbox.objects.update(created_at=ago(60), sent_at=ago(60))
    live_sweep.tend()
    assert rung() == 2
    box_is_up("box-2")
    live_sweep.tend()
    assert rung() == 3


# ---------------------------------------------------------------------------------- on the box


@pytest.fixture(autouse=True)
def gentle(settings):
    settings.LIVE_GRACE_S = 1
    yield
    guard.end_all(lambda: [each for each, _ in guard.marked(settings.LIVE_DIR)], grace_s=0)


@pytest.fixture
def sleeper(settings):
    """Start a process that carries the mark of a lease."""
    started = []

    def start(lease_id, argv=SLEEP, **options):
        env = {**os.environ, **guard.marks(str(lease_id), settings.LIVE_DIR)}
        started.append(subprocess.Popen(argv, env=env, start_new_session=True, **options))
        # Between fork and exec a process has the environment of this one.
        while str(lease_id) not in {of for _, of in guard.marked(settings.LIVE_DIR)}:
            assert started[-1].poll() is None
        return started[-1]

    yield start
    for each in started:
        each.kill()
        each.wait()
        if each.stdout:
            each.stdout.close()


def here(lease, holder):
    return changed(lease, host=live_sweep.host(), pids={"holder": holder})


def dead_process():
    """The id and start of a process that has ended."""
    process = subprocess.Popen(SLEEP)
    found = guard.process(process.pid)
    process.kill()
    process.wait()
    return [found.pid, found.started]


def test_processes_of_a_lease_that_has_ended_are_ended_and_those_of_one_that_runs_are_not(sleeper):
    over, runs = running(), running(box="box-2")
    leases.end(over, Reason.IDLE)
    here(runs, live_sweep.myself())
    orphan, engine = sleeper(over.public_id), sleeper(runs.public_id)
    swept = live_sweep.sweep_box()
    assert (orphan.wait(), engine.poll()) == (-15, None)
    assert swept.processes == {orphan.pid}
    assert now(runs).status == "running"


def test_a_process_that_is_deaf_is_killed_after_the_grace(sleeper):
    orphan = sleeper("a-lease-nobody-knows", [sys.executable, "-c", DEAF], stdout=subprocess.PIPE)
    orphan.stdout.readline()
    assert live_sweep.sweep_box().stuck == []
    assert orphan.wait() == -9


def test_a_process_without_a_mark_or_of_another_site_is_never_touched(settings, tmp_path):
    bare = subprocess.Popen(SLEEP, start_new_session=True)
    env = {**os.environ, **guard.marks("a-lease", tmp_path / "another-site")}
    theirs = subprocess.Popen(SLEEP, env=env, start_new_session=True)
    try:
        assert live_sweep.sweep_box().processes == set()
        assert (bare.poll(), theirs.poll()) == (None, None)
    finally:
        for each in (bare, theirs):
            each.kill()
            each.wait()


def test_a_lease_whose_holder_is_gone_is_ended_without_waiting_for_silence(sleeper):
    lease = here(running(), dead_process())
    engine = sleeper(lease.public_id)
    swept = live_sweep.sweep_box()
    assert swept.leases == [str(lease.public_id)]
    assert (now(lease).status, lease.end_reason) == ("ended", "worker_lost")
    assert engine.wait() == -15


def test_a_holder_whose_id_was_given_to_another_process_is_gone():
    me, started = live_sweep.myself()
    lease = here(running(), [me, started - 1])
    live_sweep.sweep_box()
    assert now(lease).end_reason == "worker_lost"


def test_a_lease_of_another_machine_is_that_machine_s():
    lease = changed(running(), host="elsewhere", pids={"holder": dead_process()})
    live_sweep.sweep_box()
    assert now(lease).status == "running"


def test_what_a_killed_guard_could_not_undo_is_undone(settings, tmp_path, sleeper):
    runs = here(running(), live_sweep.myself())
    for name in ("gone", str(runs.public_id)):
        guard.record(live_sweep.ledger_of(name), ["touch", str(tmp_path / f"undone-{name}")])
    live_sweep.sweep_box()
    assert (tmp_path / "undone-gone").exists()
    assert not live_sweep.ledger_of("gone").exists()
    assert not (tmp_path / f"undone-{runs.public_id}").exists()


def test_what_cannot_be_undone_is_told_and_tried_again(caplog):
    guard.record(live_sweep.ledger_of("gone"), ["false"])
    assert live_sweep.sweep_box().problems == ["“false” ended with status 1: "]
    assert "“false” ended with status 1" in caplog.text
    assert live_sweep.ledger_of("gone").exists()


def test_the_log_of_a_lease_whose_holder_was_lost_is_kept(tmp_path):
    log = tmp_path / "engine.log"
    log.write_text("".join(f"line {number}\n" for number in range(500)))
    lease = changed(here(running(), dead_process()), log_path=str(log))
    live_sweep.sweep_box()
    lines = now(lease).engine_log.splitlines()
    assert (len(lines), lines[0], lines[-1]) == (200, "line 300", "line 499")


def test_a_log_of_one_endless_line_is_kept_in_part(tmp_path):
    log = tmp_path / "engine.log"
    log.write_bytes(b"x" * 1_000_000 + b"\0\xff end")
    assert len(live_sweep.tail(log)) <= live_sweep.LOG_BYTES
    assert live_sweep.tail(log).endswith("x\ufffd end")
    assert live_sweep.tail(tmp_path / "nothing") == ""


def test_folders_of_a_week_ago_are_deleted_unless_something_is_still_to_be_undone(settings):
    guard.record(live_sweep.ledger_of("owes"), ["false"])
    for name in ("old", "new", "owes"):
        live_sweep.folder_of(name).mkdir(parents=True, exist_ok=True)
    long_ago = time.time() - live_sweep.FOLDERS_KEPT_S - 60
    for name in ("old", "owes"):
        os.utime(live_sweep.folder_of(name), (long_ago, long_ago))
    live_sweep._forget_folders()
    assert {each.name for each in settings.LIVE_DIR.iterdir()} == {"new", "owes"}


def test_a_box_that_never_had_a_lease_has_nothing_to_sweep():
    assert live_sweep.sweep_box() == live_sweep.Swept()


def test_a_lease_that_is_cleared_leaves_no_process_and_no_fault(sleeper, tmp_path):
    lease = running()
    engine = sleeper(lease.public_id)
    guard.record(live_sweep.ledger_of(str(lease.public_id)), ["touch", str(tmp_path / "undone")])
    assert live_sweep.clear(lease) == []
    assert engine.wait() == -15
    assert (tmp_path / "undone").exists()


def test_a_waiting_lease_is_swept_by_nobody():
    leases.ask(live_attempt())
    assert live_sweep.tend() == 0
    live_sweep.sweep_box()
    assert Lease.objects.get().status == Status.QUEUED

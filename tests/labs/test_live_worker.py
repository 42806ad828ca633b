"""A box with a real broker and a real worker, whose processes are really killed; and what it says of its set-up."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection, connections

from courseware.launch import ROOT, free_port, server_program
from labs import leases, live_supervisor, live_sweep
from labs.live import guard
from labs.models import BoxPulse, Lease
from tests.labs.leasing import live_attempt, running
from tests.on_disk import on_disk

LIMIT_S = 120
BOX = """
import django
django.setup()
from labs import live_supervisor
live_supervisor.SWEEP_EVERY_S = 1.0
live_supervisor.Supervisor().run()
"""
RING = """
import sys, django
django.setup()
from labs import leases, outbox
outbox.publish(leases.HOLD, int(sys.argv[1]))
"""


def until(found, what):
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        if got := found():
            return got
        time.sleep(0.05)
    raise AssertionError(what())


def in_file(do):
    """Do something with the database of the file: a thread has a connection of its own."""
    came = []

    def run():
        try:
            came.append(do())
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return came[0]


def database_url():
    """The database that this test's threads see."""
    known = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{known['NAME']}"
    return "postgres://{USER}:{PASSWORD}@{HOST}:{PORT}/{NAME}".format(**known)


class Box:
    """A supervisor with its worker and broker, on a database file."""

    def __init__(self, folder):
        self.folder, self.live_dir, port = folder, folder / "run", free_port()
        self.log = folder / "box.log"
        self.env = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "courseware.settings",
            "DATABASE_URL": database_url(),
            "REDIS_URL": f"redis://127.0.0.1:{port}/0",
            "CONTENT_LOOK_EVERY_S": "0",
            "LIVE_BOX": "box-1",
            "LIVE_DIR": str(self.live_dir),
            "LIVE_GRACE_S": "1",
            "LIVE_SESSION": "tests.labs.live.sleeping.sleeping",
            "PYTHONPATH": str(ROOT),
        }
        _, program = server_program()
        options = ("--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder))
        self.broker = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL)
        self.process = None

    def start(self):
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", BOX], cwd=ROOT, env=self.env, stdout=log, stderr=log
            )

    def ask(self):
        """Queue a lease, ring, and return it once it runs."""
        attempt = in_file(live_attempt)
        lease = in_file(lambda: leases.ask(attempt))
        subprocess.run(
            [sys.executable, "-c", RING, str(lease.pk)],
            cwd=ROOT,
            env=self.env,
            check=True,
            timeout=LIMIT_S,
        )
        until(lambda: self.now(lease).status != "queued", self.told)
        until(lambda: self.now(lease).status == "running", self.told)
        return self.now(lease)

    def now(self, lease):
        return in_file(lambda: Lease.objects.get(pk=lease.pk))

    def engines(self):
        return guard.marked(self.live_dir)

    def ends(self, lease):
        """Wait until a lease has ended and nothing of it runs; return it."""
        until(lambda: self.now(lease).status == "ended" and not self.engines(), self.told)
        return self.now(lease)

    def told(self):
        return self.log.read_text(errors="replace")[-4000:]

    def close(self):
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=60)
            self.process.kill()
            self.process.wait()
        self.broker.kill()
        self.broker.wait()
        guard.end_all(lambda: [each for each, _ in self.engines()], grace_s=0)


@pytest.fixture
def box(tmp_path, transactional_db, monkeypatch):
    monkeypatch.setattr("labs.outbox.publish", lambda task, object_id: None)
    monkeypatch.setattr("labs.doorbell.ring", lambda attempt_id: None)
    with on_disk(tmp_path):
        made = Box(tmp_path)
        try:
            yield made
        finally:
            made.close()


@pytest.mark.slow
def test_no_engine_outlives_its_worker_however_that_ends(box):
    box.start()

    # The process of the task is killed.
    lease = box.ask()
    assert {of for _, of in box.engines()} == {str(lease.public_id)}
    worker = guard.process(lease.pids["holder"][0]).session
    os.kill(lease.pids["holder"][0], signal.SIGKILL)
    assert box.ends(lease).end_reason == "worker_lost"
    # The sweep keeps the log after it has ended the processes.
    until(lambda: box.now(lease).engine_log, box.told)
    assert "guard: ending the engine (the worker is gone)" in box.now(lease).engine_log

    # Celery's parent is killed: the supervisor starts another one.
    lease = box.ask()
    assert guard.process(lease.pids["holder"][0]).session == worker
    os.kill(worker, signal.SIGKILL)
    assert box.ends(lease).end_reason == "worker_lost"
    assert guard.process(worker) is None

    # The supervisor is told to stop, which its person reads.
    lease = box.ask()
    assert guard.process(lease.pids["holder"][0]).session != worker
    pulse = in_file(BoxPulse.objects.get)
    assert (pulse.name, pulse.profile) == ("box-1", "cpu")
    box.process.terminate()
    assert box.process.wait(timeout=LIMIT_S) == 0
    assert box.ends(lease).end_reason == "worker_stopped"
    assert guard.process(lease.pids["holder"][0]) is None
    assert not in_file(BoxPulse.objects.exists)


def test_a_second_supervisor_of_a_box_is_told_so(settings, tmp_path):
    settings.LIVE_DIR = tmp_path / "run"
    first = live_supervisor.Supervisor(["true"])
    first.hold_box()
    with pytest.raises(live_supervisor.NotSetUp, match="Another live_worker has"):
        live_supervisor.Supervisor(["true"]).hold_box()
    first.lock.close()


def test_a_folder_that_cannot_be_written_is_named(settings, tmp_path):
    (tmp_path / "file").write_text("")
    settings.LIVE_DIR = tmp_path / "file" / "run"
    with pytest.raises(live_supervisor.NotSetUp, match="cannot be written: Not a directory"):
        live_supervisor.Supervisor(["true"]).hold_box()


def test_a_worker_that_dies_at_start_is_started_later_each_time(settings, tmp_path, db):
    box = live_supervisor.Supervisor([sys.executable, "-c", "raise SystemExit(2)"])
    pauses = []
    for _ in range(6):
        box.start()
        box.worker.wait()
        box.mourn(box.worker)
        pauses.append(box.pause_s)
    assert pauses == [2.0, 5.0, 15.0, 30.0, 30.0, 30.0]
    box.pulse()
    assert (
        BoxPulse.objects.get().problem == "Its worker ended 6 times within a minute of its start."
    )


def test_a_process_that_cannot_be_ended_is_the_box_s_problem(monkeypatch, db):
    stuck = live_sweep.Swept(stuck=[guard.Process(4711, 1, 1)])
    monkeypatch.setattr(live_sweep, "sweep_box", lambda: stuck)
    live_supervisor.Supervisor(["true"]).sweep()
    assert BoxPulse.objects.get().problem == "Process 4711 has no lease and cannot be ended."


def test_a_database_that_is_away_does_not_end_a_supervisor(monkeypatch, db):
    def away():
        raise OperationalError

    monkeypatch.setattr(live_sweep, "sweep_box", away)
    monkeypatch.setattr(live_supervisor.connection, "close", lambda: None)
    live_supervisor.Supervisor(["true"]).sweep()
    assert BoxPulse.objects.get().problem == ""


def test_a_box_without_its_environment_or_model_says_what_to_do(settings, monkeypatch, tmp_path):
    monkeypatch.setattr("labs.live.boxes.place", lambda said: tmp_path / said)
    with pytest.raises(CommandError) as problem:
        call_command("live_worker", "--check")
    first, second = str(problem.value).splitlines()
    assert first == (
        f"The live environment is missing: there is no {tmp_path}/.venv-live/bin/vllm. `make live` prepares it; "
        "a profile may name another."
    )
    assert second.startswith(f"The model's folder {tmp_path}/.live/models/small-llama is missing")


def test_a_profile_that_is_not_there_is_named(settings):
    settings.LIVE_PROFILE = "h100-typo"
    assert live_supervisor.problems_of("h100-typo")[0].startswith(
        "LIVE_PROFILE=h100-typo: h100-typo: there is no box of that name"
    )


# ------------------------------------------------------------------------------ its engine's log


@pytest.fixture
def lease(db, monkeypatch):
    monkeypatch.setattr("labs.doorbell.ring", lambda attempt_id: None)
    held = running()
    leases.end(held, Lease.Reason.ENGINE_DIED, "Out of memory.", engine_log="line 1\nline 2")
    held.refresh_from_db()
    return held


def test_the_end_of_an_engine_s_log_is_printed_with_what_became_of_the_lease(lease, capsys):
    call_command("lease_log", str(lease.public_id)[:6])
    told = capsys.readouterr().out
    assert f"{lease.public_id}  engine_died  preemption-storm  on box-1" in told
    assert "said     Out of memory. The attempt and all its readings are kept." in told
    assert told.endswith("line 1\nline 2\n")


def test_without_a_lease_the_last_ones_are_listed(lease, capsys):
    call_command("lease_log")
    assert str(lease.public_id) in capsys.readouterr().out


def test_a_lease_that_is_not_there_is_named(lease):
    with pytest.raises(CommandError, match="there is no lease ffffffff-no"):
        call_command("lease_log", "ffffffff-no")

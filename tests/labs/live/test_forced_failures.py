"""What goes wrong with real engines, forced: what the learner reads, what is kept, what the operator finds, what is left.

docs/operators.md has the same as a table, "When a live lab fails".
"""

import errno
import json
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import OperationalError, connection

from labs import attempts, leases, live_session, live_sweep, outbox
from labs.live import beginning, guard, servers
from labs.live.boxes import ROOT
from labs.models import Action, Lease, LiveRecord
from tests.labs.leasing import begun, live_attempt

from .attempts_on_fakes import *  # noqa: F403
from .attempts_on_fakes import SEED, kill_engine, now

pytestmark = pytest.mark.django_db
Kind, Status, Reason = Action.Kind, Action.Status, Lease.Reason
BEFORE = (
    "Your attempt is kept, and nothing was charged. Ask for an engine again when you are ready."
)
AFTER = (
    "The attempt and all its readings are kept. Commit your diagnosis from them, explain, "
    "and close the incident."
)
POOL = (
    "ValueError: To serve at least one request with the model's max seq len (4096), "
    "(0.75 GiB KV cache is needed, which is larger than the available KV cache memory (0.28 GiB)."
)

TRACEBACK = f"""WARNING 11-30 14:35:58 [system_utils.py:255] This can cause fd limit errors like `OSError: [Errno 24]`.
    raise ValueError(
{POOL}
    raise RuntimeError(
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {{}}"""
"""As vLLM ends: the error itself, and that of the process which waits for it."""


@pytest.fixture
def next_one(another_learner, held, fake):
    """Let the next person's attempt run through on the same box."""

    def run():
        fake.set(dies=None, never_ready=False, lacks=[], streams=None)
        lease = leases.ask(live_attempt(another_learner, seed=SEED))
        held(lambda: attempts.finish(lease.attempt))
        assert now(lease).end_reason == Reason.FINISHED
        return lease

    return run


def is_over(lease, reason, said, settings):
    """It has ended so, its box is free, and nothing of it runs."""
    now(lease)
    assert (lease.end_reason, lease.end_text) == (reason, said)
    assert guard.marked(settings.LIVE_DIR) == []
    assert not Lease.objects.held().exists()
    assert now(lease.attempt).status == "open"
    return True


def log_of(lease):
    """What the operator is told of it."""
    out = StringIO()
    call_command("lease_log", str(lease.public_id), stdout=out)
    return out.getvalue()


def typed(attempt, line):
    return lambda: attempts.command(attempt, line)


# ------------------------------------------------------------------------------------- it starts


def test_an_engine_that_dies_at_start(lease, held, fake, settings, next_one):
    fake.set(dies=TRACEBACK)
    held()
    said = f"The engine ended by itself (exit status 1): {POOL} {BEFORE}"
    assert is_over(lease, Reason.START_FAILED, said, settings)
    assert POOL in log_of(lease)
    fake.set(dies=None)
    again = leases.ask(lease.attempt)
    held(lambda: attempts.finish(lease.attempt))
    assert now(again).end_reason == Reason.FINISHED
    next_one()


def test_a_port_that_is_taken(lease, held, settings, monkeypatch, next_one):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with monkeypatch.context() as patch:
            patch.setattr(servers, "free_port", lambda: port)
            held()
    said = (
        f"Port {port} is taken by another process; the engine was not started. "
        f"End that process, or give another port. {BEFORE}"
    )
    assert is_over(lease, Reason.START_FAILED, said, settings)
    next_one()


def test_a_model_whose_folder_is_missing(lease, held, fake, settings, next_one):
    config = fake.folder / "model" / "config.json"
    config.unlink()
    held()
    said = (
        f"The model's folder {config.parent} is missing or has no config.json: `make live` builds the small models, "
        f"and a box's profile names the folder of any other. {BEFORE}"
    )
    assert is_over(lease, Reason.START_FAILED, said, settings)
    config.write_text("{}")
    next_one()


def test_a_page_of_metrics_of_another_version(lease, held, fake, settings, next_one):
    fake.set(lacks=["vllm:kv_cache_usage_perc", "vllm:inter_token_latency_seconds"])
    held()
    said = (
        "This engine's /metrics lacks vllm:kv_cache_usage_perc, vllm:inter_token_latency_seconds: "
        f"it is not the vLLM that this course knows (0.32). {BEFORE}"
    )
    assert is_over(lease, Reason.ENGINE_DIED, said, settings)
    assert "Initializing a V1 LLM engine" in log_of(lease)
    next_one()


@pytest.mark.parametrize(
    ("before", "at_page", "said"),
    [
        (
            None,
            -1.5,
            (
                "its alarm does not ring (KV usage: -1.5; it rings above -1). "
                "The machine is faster than the lab expects, or the fault did nothing to it."
            ),
        ),
        (
            None,
            None,
            (
                "its alarm does not ring (KV usage: not measured; it rings above -1). "
                "The machine is faster than the lab expects, or the fault did nothing to it."
            ),
        ),
        (
            0.5,
            0.5,
            ("the machine is slower or busier than the lab expects."),
        ),
    ],
)
def test_an_incident_that_does_not_come_about(
    lease, held, short, settings, monkeypatch, next_one, before, at_page, said
):
    silent = short.admission.model_copy(update={"alarm_was_silent": True})
    fault = short.timeline.model_copy(update={"starts_at_s": -2, "fault_at_s": -1})
    spec = short.model_copy(update={"admission": silent, "timeline": fault})
    with monkeypatch.context() as patch:
        patch.setattr("labs.models.attempts.lab", lambda key: spec)
        patch.setattr(
            beginning, "alarm_now", lambda world: at_page if world.clock_s == 0 else before
        )
        held()
    said = f"The incident did not come about: {said} {BEFORE}"
    assert is_over(lease, Reason.NO_INCIDENT, said, settings)
    assert lease.attempt.actions.get().status == "cancelled"
    next_one()


def test_a_start_that_takes_longer_than_it_may(lease, held, fake, settings, next_one):
    settings.LIVE_START_S = 1
    fake.set(never_ready=True)
    held()
    said = f"The engine was not ready within 1 s, and was stopped. {BEFORE}"
    assert is_over(lease, Reason.START_TIMEOUT, said, settings)
    assert "Initializing a V1 LLM engine" in log_of(lease)
    settings.LIVE_START_S = 30
    next_one()


def test_a_disk_without_room_for_the_log(lease, held, settings, monkeypatch, next_one):
    def full(*args, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(guard, "spawn", full)
        held()
    path = live_sweep.folder_of(str(lease.public_id)) / "engine-0.log"
    said = f"The disk is full: the engine's log {path} could not be written. {BEFORE}"
    assert is_over(lease, Reason.START_FAILED, said, settings)
    next_one()


# --------------------------------------------------------------------------------------- it runs


def test_a_disk_that_is_full_later_takes_the_log_and_nothing_else(
    lease, held, settings, monkeypatch
):
    spawn = guard.spawn

    def onto_a_full_disk(argv, *, output, **options):
        with Path("/dev/full").open("wb") as full:
            return spawn(argv, output=full, **options)

    monkeypatch.setattr(guard, "spawn", onto_a_full_disk)
    attempt = lease.attempt
    held(
        typed(attempt, "cat engine.log"),
        typed(attempt, "curl localhost:8000/metrics"),
        lambda: attempts.finish(attempt),
    )
    assert now(lease).end_reason == Reason.FINISHED
    log, metrics = attempt.actions.filter(kind=Kind.COMMAND)
    assert log.outcome["text"] == "the log is empty"
    assert "vllm:num_requests_running" in metrics.outcome["text"]
    assert "No log of its engine is kept." in log_of(lease)


def test_streams_that_hang(lease, held, fake, next_one):
    fake.set(streams="hang")
    attempt = lease.attempt
    held(
        typed(attempt, "curl localhost:8000/metrics"),
        typed(attempt, "wait 1s"),
        lambda: attempts.finish(attempt),
    )
    assert now(lease).end_reason == Reason.FINISHED
    assert {each.status for each in attempt.actions.filter(kind=Kind.COMMAND)} == {Status.DONE}
    assert LiveRecord.objects.filter(attempt=attempt).exists()
    next_one()


def test_an_engine_that_is_killed(lease, held, settings, next_one):
    attempt = lease.attempt
    held(
        typed(attempt, "curl localhost:8000/metrics"),
        lambda: kill_engine(settings.LIVE_DIR),
        *[lambda: time.sleep(0.05)] * 100,
    )
    said = f"The engine ended by itself (killed by SIGKILL) and named no error. {AFTER}"
    assert is_over(lease, Reason.ENGINE_DIED, said, settings)
    assert "Iteration(0)" in log_of(lease)
    reading = attempt.actions.get(kind=Kind.COMMAND)
    assert reading.status == Status.DONE
    with pytest.raises(attempts.NotNow, match="no engine any more"):
        attempts.command(attempt, "wait 1m")
    assert LiveRecord.objects.filter(attempt=attempt).exists()
    attempts.finish(attempt)
    assert now(attempt).status == "marking"
    next_one()


def test_an_engine_that_is_killed_under_a_long_action_ends_it_at_once_and_uncharged(
    lease, held, settings, monkeypatch
):
    attempt = lease.attempt

    def type_and_kill():
        attempts.command(attempt, "wait 4m")
        kill_engine(settings.LIVE_DIR)

    began = time.monotonic()
    held(type_and_kill)
    assert time.monotonic() - began < 15
    waited = attempt.actions.get(kind=Kind.COMMAND)
    assert (waited.status, waited.cost_s) == (Status.CANCELLED, 0)
    assert now(lease).end_reason == Reason.ENGINE_DIED


def test_of_several_engines_the_operator_finds_the_log_of_the_one_that_failed(
    lease, held, settings, short, monkeypatch
):
    spec = short.model_copy(update={"fleet": short.fleet.model_copy(update={"replicas": 2})})
    monkeypatch.setattr("labs.models.attempts.lab", lambda key: spec)
    session = held(
        lambda: kill_engine(settings.LIVE_DIR, log="engine-1.log"),
        *[lambda: time.sleep(0.05)] * 100,
    )
    assert now(lease).end_reason == Reason.ENGINE_DIED
    assert session.log_path.endswith("engine-1.log")
    assert log_of(lease)


HOLDER = """
import sys, json, time
sys.path.insert(0, {root!r})
from pathlib import Path
from labs.live import boxes, launching, servers
said = json.loads(sys.argv[1])
launch = launching.Launch(tuple(said["argv"]), said["env"], said["port"], Path(said["log"]), Path(said["ledger"]))
server = servers.start(launch)
servers.wait_ready(server, within_s=20)
print("ready", flush=True)
time.sleep(60)
"""


def test_a_holder_that_is_killed(lease, fake, settings, next_one):
    from tests.labs.live.conftest import CONFIG

    name = str(lease.public_id)
    launch = fake.launch(0, CONFIG, env=guard.marks(name, settings.LIVE_DIR))
    folder = live_sweep.folder_of(name)
    said = {
        "argv": launch.argv,
        "env": dict(launch.env),
        "port": launch.port,
        "log": str(folder / "engine-0.log"),
        "ledger": str(live_sweep.ledger_of(name)),
    }
    code = HOLDER.format(root=str(ROOT))
    holder = subprocess.Popen(
        [sys.executable, "-c", code, json.dumps(said)], stdout=subprocess.PIPE
    )
    try:
        seen = guard.process(holder.pid)
        leases.claim_next(
            "box-1", host=live_sweep.host(), pids={"holder": [seen.pid, seen.started]}
        )
        Lease.objects.filter(pk=lease.pk).update(log_path=said["log"])
        leases.ready(now(lease))
        begun(lease)
        typed_before = attempts.record(lease.attempt, Kind.COMMAND, {"line": "wait 1s"})
        assert holder.stdout.readline() == b"ready\n"
        assert guard.marked(settings.LIVE_DIR)
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    live_sweep.sweep_box()
    text = f"The worker that held your engine was lost, and the engine is stopped. {AFTER}"
    assert is_over(lease, Reason.WORKER_LOST, text, settings)
    assert now(typed_before).status == Status.DONE
    assert "guard: ending the engine (the worker is gone)" in log_of(lease)
    next_one()


@contextmanager
def away(for_s):
    """Let neither database nor broker answer for so long, from its first question on."""
    until = [0.0]

    def refuse(execute, sql, params, many, context):
        until[0] = until[0] or time.monotonic() + for_s
        if time.monotonic() < until[0]:
            raise OperationalError("the database system is starting up")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(refuse):
        yield


@pytest.mark.django_db(transaction=True)
def test_database_and_broker_are_away_while_an_action_runs(
    lease, held, settings, monkeypatch, next_one
):
    attempt = lease.attempt

    def unreachable(task, object_id):
        raise ConnectionError("no broker")

    def type_a_line():
        attempts.command(attempt, "wait 20s")
        monkeypatch.setattr(outbox, "publish", unreachable)

    teller = live_session.worker._Teller.__call__
    window = {}

    def tell(self, share, doing):
        if not window and self._action.kind == Kind.COMMAND:
            window["wrapper"] = away(0.8)
            window["wrapper"].__enter__()
        teller(self, share, doing)

    monkeypatch.setattr(live_session.worker._Teller, "__call__", tell)
    held(type_a_line, lambda: attempts.finish(attempt))
    window["wrapper"].__exit__(None, None, None)
    waited = attempt.actions.get(kind=Kind.COMMAND)
    assert (waited.status, waited.cost_s, waited.tries) == (Status.DONE, 20, 1)
    assert now(lease).end_reason == Reason.FINISHED
    monkeypatch.setattr(outbox, "publish", lambda task, object_id: None)
    next_one()

"""A lease whose real engine fails: what its learner reads, what the operator finds, and that the box is free again."""

import os
import signal
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from labs import attempts, leases
from labs.catalogue import lab
from labs.live import boxes, guard
from labs.models import Action, Lease, LiveRecord
from tests.labs.leasing import live_attempt
from tests.labs.live.attempts_on_fakes import SEED, fast_clock, held, in_seconds, now, on_fakes

__all__ = ["fast_clock", "held", "on_fakes"]
pytestmark = pytest.mark.django_db
Reason = Lease.Reason
TOO_LONG = 4096
"""Tokens of context: more than the pool of the first lease holds."""


@pytest.fixture
def fake():
    """The box of this machine, with its smallest model."""
    tiny = replace(
        boxes.box("cpu"),
        model=".live/models/tiny-llama",
        served_model_name="tiny-llama",
        kv_bytes_per_token=512,
    )
    return SimpleNamespace(box=tiny)


@pytest.fixture
def short():
    """The lab of the lease; ``spec`` may be replaced before the next."""
    return in_seconds(lab("preemption-storm/live"))


def tell_of(lease):
    """Its end, once nothing of it is left."""
    now(lease)
    assert not Lease.objects.held().exists()
    assert now(lease.attempt).status == "open"
    assert 0 < len(lease.engine_log.splitlines()) <= 200
    return lease.end_reason, lease.end_text


def kill_the_core(live_dir):
    """Kill the process of the engine that computes; what serves HTTP is its parent."""
    core = [each for each, _ in guard.marked(live_dir) if "EngineCore" in guard.title(each.pid)]
    assert len(core) == 1
    os.kill(core[0].pid, signal.SIGKILL)


def test_one_that_refuses_its_settings_and_one_that_is_killed_free_their_lease(
    learner, on_fakes, held, short, settings, monkeypatch
):
    fleet = short.fleet.model_copy(update={"max_model_len": TOO_LONG, "pool_blocks": (40, 40)})
    small = short.model_copy(update={"fleet": fleet})
    monkeypatch.setattr("labs.models.attempts.lab", lambda key: small)
    attempt = live_attempt(learner, seed=SEED)
    first = leases.ask(attempt)
    held()
    reason, said = tell_of(first)
    assert reason == Reason.START_FAILED
    assert said.startswith(
        "The engine ended by itself (exit status 1): ValueError: To serve at least one request with the model's max seq len (4096)"
    )
    assert said.endswith("Ask for an engine again when you are ready.")
    assert guard.marked(settings.LIVE_DIR) == []

    # The same attempt asks again, and its engine is one that comes up.
    monkeypatch.setattr("labs.models.attempts.lab", lambda key: short)
    attempt = now(attempt)
    second = leases.ask(attempt)
    held(
        lambda: attempts.command(attempt, "curl localhost:8000/metrics"),
        lambda: kill_the_core(settings.LIVE_DIR),
        *[lambda: time.sleep(0.1)] * 600,
    )
    reason, said = tell_of(second)
    assert reason == Reason.ENGINE_DIED
    assert said.startswith("The engine ended by itself")
    assert "The attempt and all its readings are kept." in said
    assert guard.marked(settings.LIVE_DIR) == []
    reading = attempt.actions.get(kind=Action.Kind.COMMAND)
    assert reading.status == Action.Status.DONE
    assert "vllm:num_requests_running" in str(reading.outcome)
    assert LiveRecord.objects.filter(attempt=attempt).exists()

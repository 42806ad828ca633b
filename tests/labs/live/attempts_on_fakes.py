"""Live attempts before fake engines: the lab in seconds, a lease, and a session that follows a script."""

import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from labs import leases, live_engine, live_session, outbox
from labs.catalogue import lab
from labs.live import boxes, guard
from labs.models import Action
from tests.labs.leasing import live_attempt

Kind, Status = Action.Kind, Action.Status
SEED = 1
"""Of the world whose demand is too high."""


def ringing(spec):
    """A lab whose alarm rings in any world: in a test's time nobody is hurt."""
    alarm = spec.alarm.model_copy(update={"signal": "kv_usage", "above": -1.0})
    admission = spec.admission.model_copy(update={"alarm_was_silent": False})
    return spec.model_copy(update={"alarm": alarm, "admission": admission})


def in_seconds(spec):
    """A lab at the scale of a real engine, its times cut to what a test has."""
    timeline = spec.timeline.model_copy(
        update={"starts_at_s": -1, "healthy_from_s": -1, "fault_at_s": 0, "budget_s": 300}
    )
    windows = spec.windows.model_copy(update={"verify_s": 1})
    plan = spec.mitigation.model_copy(update={"settle_s": 0, "window_s": 1, "follow_s": 0})
    traffic = spec.traffic.model_copy(
        update={
            "offered_load": (0.01, 0.01),
            "prompt_mean_tokens": (8, 8),
            "output_mean_tokens": (4, 4),
        }
    )
    hypotheses = {
        key: each.model_copy(
            update={"world": each.world.model_copy(update={"offered_load": (0.02, 0.02)})}
        )
        if each.world is not None and each.world.offered_load is not None
        else each
        for key, each in spec.hypotheses.items()
    }
    instruments = {
        key: each.model_copy(update={"cost_s": 1}) for key, each in spec.instruments.items()
    }
    fleet = spec.fleet.model_copy(update={"restart_s": 1})
    return ringing(spec).model_copy(
        update={
            "timeline": timeline,
            "windows": windows,
            "mitigation": plan,
            "traffic": traffic,
            "instruments": instruments,
            "fleet": fleet,
            "hypotheses": hypotheses,
        }
    )


@pytest.fixture
def short():
    return in_seconds(lab("preemption-storm/live"))


@pytest.fixture
def fast_clock(monkeypatch):
    """Incident time runs ten times as fast as the wall's."""
    real = time.monotonic_ns
    fast = SimpleNamespace(monotonic_ns=lambda: 10 * real())
    monkeypatch.setattr("labs.live.wires.time", fast)


@pytest.fixture
def on_fakes(monkeypatch, tmp_path, settings, fake, short, fast_clock):
    """Every live attempt is one at the short lab, before fake engines; every breath looks; no broker."""
    settings.LIVE_DIR, settings.LIVE_BOX, settings.LIVE_GRACE_S = tmp_path / "run", "box-1", 1
    monkeypatch.setattr("labs.models.attempts.lab", lambda key: short)
    monkeypatch.setattr(boxes, "box", lambda name: fake.box)
    monkeypatch.setattr(live_session, "BEAT_EVERY_S", 0)
    monkeypatch.setattr(live_session, "LOOK_EVERY_S", 0.02)
    monkeypatch.setattr(live_engine, "ASK_EVERY_S", 0.0)
    monkeypatch.setattr(outbox, "publish", lambda task, object_id: None)
    monkeypatch.setattr("labs.doorbell.ring", lambda attempt_id: None)
    yield
    guard.end_all(lambda: [each for each, _ in guard.marked(settings.LIVE_DIR)], grace_s=0)


@pytest.fixture
def lease(learner, on_fakes):
    return leases.ask(live_attempt(learner, seed=SEED))


@pytest.fixture
def held(monkeypatch, on_fakes):
    """Hold the next lease on fake engines; ``script`` is called in turn while the engine serves."""

    def hold(*script):
        turns, made = list(script), []

        class Scripted(live_engine.EngineSession):
            def serve(self, until):
                if self.came_to_page and turns:
                    turns.pop(0)()
                elif self.came_to_page:
                    raise AssertionError("the script is over, and the lease goes on")
                super().serve(until)

        def session_of(lease):
            made.append(Scripted(lease))
            return made[0]

        monkeypatch.setattr(live_session, "session_of", session_of)
        live_session.hold(0)
        return made[0] if made else None

    return hold


def kill_engine(live_dir, log="engine-0.log"):
    """Kill the engine itself, below its guard: the one that writes into this log."""
    for each, _ in guard.marked(live_dir):
        command = Path(f"/proc/{each.pid}/cmdline").read_bytes()
        writes = Path(f"/proc/{each.pid}/fd/1").readlink().name
        if b"fake_engine.py" in command and b"guard.py" not in command and writes == log:
            os.kill(each.pid, signal.SIGKILL)


def now(row):
    row.refresh_from_db()
    return row

"""A lease on a box of GPUs, with programs that pose as vLLM and nvidia-smi: held to its end, and all of it undone."""

import json

import pytest

from labs import attempts, leases, live_engine, live_session, live_sweep, outbox, worlds
from labs.catalogue import lab
from labs.live import guard
from labs.live_engine import EngineSession
from labs.models import Lease
from tests.labs.leasing import live_attempt
from tests.labs.live import posing
from tests.labs.live.attempts_on_fakes import ringing
from tests.labs.live.test_machines import NVL, brief

pytestmark = pytest.mark.django_db


@pytest.fixture
def lease(learner, tmp_path, monkeypatch, settings):
    settings.LIVE_DIR, settings.LIVE_BOX, settings.LIVE_GRACE_S = tmp_path / "run", "gpu-1", 1
    settings.LIVE_PROFILE = NVL
    posing.pose(tmp_path, monkeypatch)
    plan = lab("slow-to-begin").mitigation
    plan = plan.model_copy(update={"settle_s": 0, "window_s": 1, "follow_s": 0})
    spec = ringing(brief("slow-to-begin", mitigation=plan))
    seed = next(each for each in range(99) if worlds.hypothesis_of(spec, each) == "cap")
    monkeypatch.setattr("labs.models.attempts.lab", lambda key: spec)
    monkeypatch.setattr(live_session, "BEAT_EVERY_S", 0)
    monkeypatch.setattr(live_session, "LOOK_EVERY_S", 0.02)
    monkeypatch.setattr(live_engine, "ASK_EVERY_S", 0.0)
    monkeypatch.setattr(outbox, "publish", lambda task, object_id: None)
    monkeypatch.setattr("labs.doorbell.ring", lambda attempt_id: None)
    yield leases.ask(live_attempt(learner, seed=seed))
    guard.end_all(lambda: [each for each, _ in guard.marked(settings.LIVE_DIR)], grace_s=0)


def hold(monkeypatch, *script):
    """Hold the next lease; what the script says happens while its engines serve."""
    turns = list(script)

    class Scripted(EngineSession):
        def serve(self, until):
            if self.came_to_page:
                turns.pop(0)()
            super().serve(until)

    monkeypatch.setattr(live_session, "session_of", Scripted)
    live_session.hold(0)


def limits(here):
    return {each.name: each.read_text() for each in here.glob("limit-*")}


def test_it_is_capped_while_it_runs_and_as_before_when_it_has_ended(
    lease, monkeypatch, tmp_path, settings
):
    seen = []

    def look_and_finish():
        lease.refresh_from_db()
        ledger = live_sweep.ledger_of(str(lease.public_id))
        seen.append((lease.status, sorted(lease.pids), json.loads(ledger.read_text())[-2:]))
        seen.append(limits(tmp_path))
        attempts.finish(lease.attempt)

    hold(monkeypatch, look_and_finish)
    lease.refresh_from_db()
    assert (lease.status, lease.end_reason) == ("ended", Lease.Reason.FINISHED)
    (said, (capped,)) = (seen[0], seen[1].items())
    assert said == ("running", ["engine-0", "engine-1", "holder"], ["-pl", "400.00"])
    assert float(capped[1]) < 400
    assert limits(tmp_path) == {capped[0]: "400.00"}
    assert not live_sweep.ledger_of(str(lease.public_id)).exists()
    assert guard.marked(settings.LIVE_DIR) == []


def test_a_cap_that_is_refused_ends_it_with_a_sentence(lease, monkeypatch, tmp_path, settings):
    (tmp_path / "refuses").touch()
    hold(monkeypatch)
    lease.refresh_from_db()
    assert lease.status == "ended"
    assert lease.end_text.startswith("This box could not be brought into the incident's world: ")
    assert "Your attempt is kept, and nothing was charged." in lease.end_text
    assert guard.marked(settings.LIVE_DIR) == []


def test_what_is_not_undone_is_the_operators_and_keeps_the_box_from_the_next(
    lease, monkeypatch, tmp_path, caplog
):
    def refuse_and_finish():
        (tmp_path / "refuses").touch()
        attempts.finish(lease.attempt)

    hold(monkeypatch, refuse_and_finish)
    assert "not undone, and tried again by every sweep: “nvidia-smi -i" in caplog.text
    (problem,) = live_sweep.sweep_box(idle=True).in_the_way
    assert "Insufficient Permissions" in problem or "ended with status 4" in problem
    (tmp_path / "refuses").unlink()
    assert live_sweep.sweep_box(idle=True).in_the_way == []
    assert set(limits(tmp_path).values()) == {"400.00"}

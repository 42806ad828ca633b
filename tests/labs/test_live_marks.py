"""The mark of a live attempt: on what was watched after the end, else on the simulated re-run, else no mark."""

from dataclasses import asdict

import pytest

from labs import (
    attempts,
    checkpoints,
    incident,
    live_records,
    marks,
    reruns,
    tables,
    worker,
)
from labs.catalogue import lab
from labs.console import parse
from labs.models import Action, Attempt, KeptReruns, LiveRecord
from tests.factories import AttemptFactory
from tests.labs.in_the_room import text

pytestmark = pytest.mark.django_db
Kind, Status = Action.Kind, Action.Status
SPEC = lab("preemption-storm/live")
SEED = 2_000_011
LINES = ("restart --num-gpu-blocks-override 480", "wait 10s")


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr("labs.outbox.publish", lambda task, object_id: None)
    monkeypatch.setattr("labs.doorbell.ring", lambda attempt_id: None)


def logged(attempt, world):
    """Perform the lines on a world, and log them as a holder does."""
    for number, line in enumerate(LINES, start=1):
        outcome = incident.perform(world, parse(line), number)
        Action.objects.create(
            attempt=attempt,
            seq=number,
            kind=Kind.COMMAND,
            payload={"line": line},
            status=Status.DONE,
            outcome={**asdict(outcome), "number": number},
            at_s=outcome.at_s,
            cost_s=outcome.cost_s,
        )
    shown = worker.panel(world, {})
    Attempt.objects.filter(pk=attempt.pk).update(clock_s=world.clock_s, panel=shown)


@pytest.fixture
def finished(learner):
    """``finished(watched_s)``: a closed live attempt whose record goes on for so long; None: it left no record.

    Its world was simulated: a record tells of both alike.
    """

    def make(watched_s):
        attempt = AttemptFactory(learner=learner, status="open", backend="live", seed=SEED)
        world = incident.begin(SPEC, SEED)
        Action.objects.create(attempt=attempt, seq=0, kind=Kind.BEGIN, status=Status.DONE)
        logged(attempt, world)
        if watched_s is not None:
            incident.advance(world, world.clock_s + watched_s)
            live_records.store(attempt, live_records.taken(world, box="b", profile="cpu"))
        attempt.refresh_from_db()
        return attempts.finish(attempt)

    return make


def marked(action):
    worker.execute_action(action.pk)
    attempt = action.attempt
    attempt.refresh_from_db()
    return attempt


def test_a_live_attempt_is_marked_on_what_was_watched(finished, monkeypatch):
    seen = []
    monkeypatch.setattr(marks, "_watched", _noting(seen, marks._watched))
    attempt = marked(finished(100))
    assert attempt.status == "marked"
    (before, after) = seen[0]
    record = LiveRecord.objects.get(attempt=attempt)
    assert after.now.digest == record.digest
    assert after.now.fared == before.now.fared
    kept = reruns.load(KeptReruns.objects.get(attempt=attempt).kept)
    assert kept.live_digest == record.digest
    assert kept.reruns.now.fared == after.now.fared
    assert kept.reruns.now.users_hurt == attempt.panel["hurt"][-1][1]


def test_an_engine_that_was_gone_too_early_leaves_the_simulated_re_run(finished, monkeypatch):
    seen = []
    monkeypatch.setattr(marks, "_watched", _noting(seen, marks._watched))
    attempt = marked(finished(20))
    assert attempt.status == "marked"
    (before, after) = seen[0]
    assert after.now.alarm == before.now.alarm
    assert after.now.digest == LiveRecord.objects.get(attempt=attempt).digest


def test_without_a_record_nothing_is_graded_and_nobody_gets_a_zero(finished, learner_client):
    action = finished(None)
    attempt = marked(action)
    assert (attempt.status, attempt.total) == ("not_graded", None)
    assert attempt.mark["reason"].startswith("Nothing of this attempt's world was kept: ")
    assert action.attempt.actions.get(kind=Kind.FINISH).status == Status.DONE
    page = text(learner_client.get(attempt.get_absolute_url()))
    assert "Nothing of this attempt’s world was kept" in page.replace("&#x27;", "’")
    assert "This is not a zero" in page


def test_marking_a_live_attempt_again_needs_its_record_and_no_checkpoint(finished, monkeypatch):
    attempt = marked(finished(100))
    first = attempt.mark

    def never(*args):
        raise AssertionError("a live world is not simulated from a checkpoint")

    monkeypatch.setattr(checkpoints, "world_before", never)
    action = attempt.actions.get(kind=Kind.FINISH)
    log = marks.log_of(attempt, before_seq=action.seq)
    left = marks.left_by(action, lambda share, doing: None)
    kept, truth = marks.simulated(attempt, log, left, lambda share, doing: None)
    table = tables.table_for(attempt.spec, lambda share, doing: None)
    again = asdict(marks.judged(attempt, log, kept, truth, table))
    assert (again["total"], again["parts"]) == (first["total"], first["parts"])


def _noting(seen, do):
    def noted(runs, *rest):
        found = do(runs, *rest)
        seen.append((runs, found))
        return found

    return noted

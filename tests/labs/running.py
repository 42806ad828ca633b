"""What the tests of attempts share: worlds that begin at once, a broker that only notes, and ways to look."""

import pytest

from labs import attempts, checkpoints, outbox, worker
from labs.catalogue import labs
from labs.models import Action, Attempt

SLUG = "preemption-storm"
Status, Kind = Action.Status, Action.Kind


@pytest.fixture(autouse=True)
def _worlds_begin_at_once(monkeypatch, at_page, seeds):
    """Every attempt's world is one that was brought to its page before."""
    at_page("demand")

    def begin(spec, seed, *, hypothesis=None, progress=None):
        if progress is not None:
            progress(0.5, "Simulating −18:00 of 0:00")
        return at_page("demand")

    monkeypatch.setattr("labs.incident.begin", begin)
    monkeypatch.setattr("labs.pool.admitted", lambda slug: (seeds["demand"],))
    monkeypatch.setattr("labs.doorbell.ring", lambda attempt_id: None)
    checkpoints._worlds.clear()


@pytest.fixture(autouse=True)
def published(monkeypatch):
    """The messages that reached the broker."""
    sent = []
    monkeypatch.setattr(outbox, "publish", lambda task, object_id: sent.append((task, object_id)))
    return sent


@pytest.fixture
def attempt(learner):
    """An open attempt whose world has not begun yet."""
    return attempts.start_attempt(learner=learner, spec=labs()[SLUG])


@pytest.fixture
def begun(attempt):
    """An open attempt at its page."""
    worker.execute_action(attempt.actions.get().pk)
    attempt.refresh_from_db()
    return attempt


def run(attempt, line):
    """Type a line, let a worker perform it, and return the action as it then is."""
    action = attempts.command(attempt, line)
    if action.is_under_way:
        worker.execute_action(action.pk)
        action.refresh_from_db()
    return action


def whole(action):
    """Everything that a row says, to compare before and after."""
    return Action.objects.filter(pk=action.pk).values().get()


def world_of(attempt):
    """The digest of the attempt's world, from its checkpoint."""
    later = Action(attempt=attempt, seq=10_000)
    checkpoints._worlds.clear()
    world = checkpoints.world_before(later, lambda share, doing: None)
    return world.world.cluster.digest()


__all__ = [
    "Attempt",
    "Kind",
    "Status",
    "_worlds_begin_at_once",
    "attempt",
    "begun",
    "published",
    "run",
    "whole",
    "world_of",
]

"""What the tests of the labs' pages share: an attempt in its room, a worker at hand, and what a learner sends."""

import pytest
from django.urls import reverse

from labs import attempts, doorbell, incident, outbox, pool, worker
from labs.models import Action, Attempt
from labs.views import commands
from tests.labs.debrief.marked import MARK

Kind, Status = Action.Kind, Action.Status
SLUG = "preemption-storm"
HTMX = {"HX-Request": "true"}
DIAGNOSIS = {
    "scope": "fault",
    "slos": ["ttft", "gap"],
    "layer": "memory",
    "components": ["kv_pool"],
    "mechanism": "demand_exceeds_pool",
    "parameter": "1.14",
    "confidence": "80",
}
PREDICTION = {"value": "60", "confidence": "70", "why": "nothing mends itself"}


@pytest.fixture(autouse=True)
def published(monkeypatch, seeds, at_page):
    """No broker: what would be sent is noted, and nobody is rung. Worlds come from one simulation a session."""
    sent = []
    at_page("demand")
    monkeypatch.setattr(outbox, "publish", lambda task, pk: sent.append(pk))
    monkeypatch.setattr(doorbell, "ring", lambda attempt_id: None)
    monkeypatch.setattr(commands, "SOON_S", 0.0)
    monkeypatch.setattr(incident, "begin", lambda spec, seed, **_: at_page("demand"))
    monkeypatch.setattr(pool, "admitted", lambda slug: (seeds["demand"],))
    return sent


@pytest.fixture
def work(published, django_capture_on_commit_callbacks):
    """Be the worker: perform everything that was queued."""

    def do():
        for action in Action.objects.filter(status=Status.QUEUED):
            worker.execute_action(action.pk)

    return do


@pytest.fixture
def begun(learner, spec, seeds, work):
    """An attempt at its page, before its prediction."""
    attempt = attempts.start_attempt(learner=learner, spec=spec)
    work()
    attempt.refresh_from_db()
    return attempt


@pytest.fixture
def attempt(begun):
    """An attempt whose prediction is committed."""
    attempts.record(begun, Kind.PREDICT, {"value": 60.0, "confidence": 70, "why": "…"})
    return begun


def url(name, attempt):
    return reverse(f"labs:{name}", args=[attempt.public_id])


def text(response):
    return response.content.decode()


@pytest.fixture
def marked(attempt):
    attempts.record(attempt, Kind.EXPLAIN, {"text": "A queue must grow."})
    Attempt.objects.update(status="marked", mark=MARK, total="65.6", clock_s=1720)
    attempt.refresh_from_db()
    return attempt

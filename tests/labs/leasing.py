"""What the tests of leases share: live attempts that wait to begin, boxes, and a clock that they set."""

from datetime import timedelta

import pytest
from django.utils import timezone

from labs import leases, outbox
from labs.models import Action, Attempt, BoxPulse, Lease
from tests.factories import AttemptFactory

Reason, Status = Lease.Reason, Lease.Status


@pytest.fixture(autouse=True)
def published(monkeypatch, tmp_path, settings):
    """The messages that reached the broker; nobody is rung, and a box keeps its things in a folder of the test."""
    sent = []
    monkeypatch.setattr(outbox, "publish", lambda task, object_id: sent.append((task, object_id)))
    monkeypatch.setattr("labs.doorbell.ring", lambda attempt_id: None)
    settings.LIVE_DIR = tmp_path / "run"
    settings.LIVE_BOX = "box-1"
    return sent


def live_attempt(person=None, **fields):
    """An open live attempt whose beginning waits for an engine."""
    fields = {"status": Attempt.Status.OPEN, "backend": Attempt.Backend.LIVE} | fields
    attempt = AttemptFactory(**({"learner": person} if person else {}), **fields)
    Action.objects.create(attempt=attempt, seq=0, kind=Action.Kind.BEGIN)
    return attempt


def queued(person=None, *, minutes_ago=0.0, **fields):
    """A lease that waits."""
    lease = leases.ask(live_attempt(person, **fields))
    asked = timezone.now() - timedelta(minutes=minutes_ago)
    Lease.objects.filter(pk=lease.pk).update(requested_at=asked)
    lease.refresh_from_db()
    return lease


def running(person=None, box="box-1", **fields):
    """A lease that runs, its world at its page."""
    lease = queued(person)
    Lease.objects.filter(pk=lease.pk).update(requested_at=timezone.now() - timedelta(days=9))
    lease = leases.claim_next(box)
    leases.ready(lease)
    begun(lease)
    return changed(lease, **fields)


def begun(lease):
    lease.attempt.actions.filter(kind="begin").update(status="done", done_at=timezone.now())


def changed(lease, **fields):
    """The lease with some fields written as they are given."""
    Lease.objects.filter(pk=lease.pk).update(**fields)
    lease.refresh_from_db()
    return lease


def had(person, *, from_minutes_ago, minutes):
    """Let a person have had an engine for so long."""
    claimed = timezone.now() - timedelta(minutes=from_minutes_ago)
    return Lease.objects.create(
        attempt=AttemptFactory(learner=person, backend="live"),
        person=person,
        status=Status.ENDED,
        box="box-1",
        end_reason=Reason.FINISHED,
        claimed_at=claimed,
        ended_at=claimed + timedelta(minutes=minutes),
    )


def box_is_up(name="box-1", profile="cpu", **fields):
    return BoxPulse.objects.create(name=name, host="here", profile=profile, **fields)

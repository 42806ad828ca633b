"""Leases: who holds a box's engine for which attempt, from the asking to the end.

The row is the truth: whoever holds a lease beats, moves and ends it by guarded UPDATEs, and whoever finds it moved
lets go.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from labs.models.attempts import Attempt

if TYPE_CHECKING:
    from datetime import datetime

    from courseware.models import User


class LeaseQuerySet(models.QuerySet["Lease"]):
    def of(self, person: User) -> LeaseQuerySet:
        """Return the leases that ``person`` asked for."""
        return self.filter(person=person.pk)

    def unended(self) -> LeaseQuerySet:
        return self.exclude(status=Lease.Status.ENDED)

    def held(self) -> LeaseQuerySet:
        """Return the leases that have a box now."""
        return self.filter(status__in=(Lease.Status.STARTING, Lease.Status.RUNNING))

    def queued(self) -> LeaseQuerySet:
        return self.filter(status=Lease.Status.QUEUED)

    def claimed_after(self, moment: datetime) -> LeaseQuerySet:
        """Return the leases that had a box at any time after ``moment``."""
        return self.exclude(claimed_at=None).filter(Q(ended_at=None) | Q(ended_at__gt=moment))

    def silent_since(self, moment: datetime) -> LeaseQuerySet:
        """Return held leases whose holder has not been heard of since ``moment``."""
        return self.held().filter(heartbeat_at__lt=moment)

    def move(self, source: str, target: str, **fields: Any) -> bool:
        """Move the one selected lease from ``source`` to ``target``; False if it has left ``source``."""
        return self.filter(status=source).update(status=target, **fields) == 1


class Lease(models.Model):
    """One engine for one attempt: queued, then starting and running on a box, then ended."""

    class Status(models.TextChoices):
        QUEUED = "queued", "Waiting for a box"
        STARTING = "starting", "Starting the engine"
        RUNNING = "running", "Running"
        ENDED = "ended", "Ended"

    class Reason(models.TextChoices):
        """Why a lease ended."""

        FINISHED = "finished", "The attempt was closed"
        CANCELLED = "cancelled", "Cancelled"
        IDLE = "idle", "Nobody used it"
        DEADLINE = "deadline", "Its time was up"
        ENGINE_DIED = "engine_died", "The engine ended by itself"
        START_FAILED = "start_failed", "The engine could not be started"
        START_TIMEOUT = "start_timeout", "The engine was not ready in time"
        NO_INCIDENT = "no_incident", "Its incident did not come about"
        WORKER_LOST = "worker_lost", "Its holder was lost"
        WORKER_STOPPED = "worker_stopped", "The box was stopped"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="leases")
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="leases"
    )
    status = models.CharField(max_length=10, choices=Status, default=Status.QUEUED)
    box = models.CharField(max_length=80, blank=True)
    """The name of the box that it runs on; empty while it is queued."""
    tries = models.PositiveSmallIntegerField(default=0)
    """How often a box has claimed it. A holder writes only as long as the try is its own."""
    requested_at = models.DateTimeField(default=timezone.now)
    claimed_at = models.DateTimeField(null=True, blank=True)
    ready_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    deadline_at = models.DateTimeField(null=True, blank=True)
    """By then the engine must be ready, while it starts; by then the lease ends, while it runs."""
    last_used_at = models.DateTimeField(null=True, blank=True)
    """From here the idle clock runs, unless the attempt's log moved later."""
    extensions = models.PositiveSmallIntegerField(default=0)
    cancel_requested = models.BooleanField(default=False)
    end_reason = models.CharField(max_length=16, choices=Reason, blank=True)
    end_text = models.TextField(blank=True)
    """What its person reads: what happened, what is kept, what to do."""
    doing = models.CharField(max_length=120, blank=True)
    progress = models.FloatField(default=0.0)
    engine_log = models.TextField(blank=True)
    """The end of the engine's log, for the operator."""
    log_path = models.CharField(max_length=400, blank=True)
    """Where the box has the whole of it."""
    host = models.CharField(max_length=120, blank=True)
    pids = models.JSONField(default=dict, blank=True)
    """On that host: what it is -> [process id, its start in clock ticks since boot]. "holder" is the worker's."""

    objects = LeaseQuerySet.as_manager()

    class Meta:
        ordering = ("requested_at", "pk")
        constraints = (
            models.UniqueConstraint(
                fields=("attempt",),
                condition=~Q(status="ended"),
                name="one_unended_lease_per_attempt",
            ),
            models.UniqueConstraint(
                fields=("box",),
                condition=Q(status__in=("starting", "running")),
                name="one_lease_per_box",
            ),
        )
        indexes = (
            models.Index(fields=("status", "heartbeat_at"), name="leases_by_silence"),
            models.Index(fields=("person", "ended_at"), name="leases_of_a_person"),
        )

    def __str__(self) -> str:
        return f"lease {self.public_id} of attempt {self.attempt_id}: {self.status}"

    @property
    def is_ended(self) -> bool:
        return self.status == self.Status.ENDED

    @property
    def is_held(self) -> bool:
        return self.status in {self.Status.STARTING, self.Status.RUNNING}


class BoxPulse(models.Model):
    """When a box's supervisor was last heard of, and what keeps the box from starting engines."""

    name = models.CharField(max_length=80, unique=True)
    host = models.CharField(max_length=120)
    profile = models.CharField(max_length=80, blank=True, default="")
    """What it has and starts engines with: the name of a file of ``labs/live/profiles``."""
    seen_at = models.DateTimeField(default=timezone.now)
    problem = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"{self.name} on {self.host}"

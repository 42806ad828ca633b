"""Attempts and their action log.

The row is the truth: a worker claims, reports and finishes by guarded UPDATEs, and the broker is only a doorbell.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.urls import reverse
from django.utils import timezone

from courseware.models import DraftState
from courseware.studio.serving import key_of, state_key
from labs.catalogue import lab
from labs.specs import LIVE, SpecError

if TYPE_CHECKING:
    from datetime import datetime

    from courseware.models import User
    from labs.specs import LabSpec


class AttemptQuerySet(models.QuerySet["Attempt"]):
    def of(self, user: User) -> AttemptQuerySet:
        """Return the attempts that ``user`` may see as a learner: their own."""
        return self.filter(learner=user.pk)

    def counted(self) -> AttemptQuerySet:
        """Return the attempts that count: not those in which an author tries a draft."""
        return self.filter(trial=None)

    def move(self, source: str, target: str, **fields: Any) -> bool:
        """Move the one selected attempt from ``source`` to ``target``; False if it has left ``source``."""
        return self.filter(status=source).update(status=target, **fields) == 1


class Attempt(models.Model):
    """One learner's log of actions in one lab. (spec version, seed, actions) decide everything else."""

    class Status(models.TextChoices):
        OPEN = "open", "Under way"
        MARKING = "marking", "Being marked"
        MARKED = "marked", "Marked"
        NOT_GRADED = "not_graded", "Could not be graded"
        GIVEN_UP = "given_up", "Given up"

    class Backend(models.TextChoices):
        """What stands behind the instruments."""

        SIMULATED = "simulated", "Simulated"
        LIVE = "live", "A real engine"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    learner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="attempts"
    )
    lab_slug = models.SlugField(max_length=80)
    lab_version = models.PositiveIntegerField()
    seed = models.PositiveBigIntegerField()
    number = models.PositiveIntegerField()
    """The learner's first, second, … attempt at this lab."""
    status = models.CharField(max_length=12, choices=Status, default=Status.OPEN)
    backend = models.CharField(max_length=10, choices=Backend, default=Backend.SIMULATED)
    clock_s = models.IntegerField(default=0)
    """Incident seconds since the page."""
    panel = models.JSONField(default=dict, blank=True)
    """What the room shows free of charge, as of ``clock_s``: gauges, the series of the alarm, and users hurt until then."""
    mark = models.JSONField(null=True, blank=True)
    """The mark with its reasons and what the debrief shows, once marked."""
    total = models.DecimalField(max_digits=4, decimal_places=1, null=True, blank=True)
    mark_version = models.PositiveIntegerField(default=0)
    """Counts changes of the mark: whoever changes it says which one they saw."""
    rules = models.CharField(max_length=64, blank=True)
    """What the mark follows from: the digest of the rules, the lab's answers and its table."""
    trial = models.ForeignKey(
        DraftState, on_delete=models.CASCADE, null=True, blank=True, related_name="attempts"
    )
    """The state of a draft that its author tries in it: nothing of it counts. Null for an attempt at the lab itself."""
    started_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = AttemptQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("learner", "lab_slug", "number"), name="attempt_numbers_are_unique"
            ),
            models.UniqueConstraint(
                fields=("learner", "lab_slug"),
                condition=Q(status__in=("open", "marking"), trial=None),
                name="one_open_attempt_per_lab",
            ),
            models.UniqueConstraint(
                fields=("learner", "trial"),
                condition=Q(status__in=("open", "marking")),
                name="one_open_attempt_per_trial",
            ),
        )
        indexes = (
            models.Index(
                fields=("learner", "lab_slug", "-started_at"), name="attempts_of_a_learner"
            ),
        )

    def __str__(self) -> str:
        return f"{self.lab_slug}, attempt {self.number} of {self.learner_id}"

    def get_absolute_url(self) -> str:
        return reverse("labs:room", args=[self.public_id])

    @property
    def lab_key(self) -> str:
        """Return how readers find the version of the lab that it began with. Raises LookupError if that is gone."""
        lab_key = (
            key_of(f"labs/{self.lab_slug}", self.lab_version)
            if self.trial is None
            else state_key(self.trial)
        )
        return f"{lab_key}{LIVE}" if self.is_live else lab_key

    @property
    def spec(self) -> LabSpec:
        """Return the lab as it was when the attempt began. Raises LookupError if that version is gone."""
        try:
            return lab(self.lab_key)
        except SpecError as error:
            raise LookupError(f"{self}: its version cannot be read any more: {error}") from error

    @property
    def is_open(self) -> bool:
        return self.status == self.Status.OPEN

    @property
    def is_live(self) -> bool:
        return self.backend == self.Backend.LIVE


class ActionQuerySet(models.QuerySet["Action"]):
    def under_way(self) -> ActionQuerySet:
        return self.filter(status__in=(Action.Status.QUEUED, Action.Status.RUNNING))

    def move(self, source: str, target: str, **fields: Any) -> bool:
        """Move the one selected action from ``source`` to ``target``; False if it has left ``source``."""
        return self.filter(status=source).update(status=target, **fields) == 1

    def for_any_worker(self) -> ActionQuerySet:
        """Return the actions that no lease performs: all of simulated attempts, and the marking of live ones.

        A live attempt is marked when its lease has ended: then its record is complete.
        """
        marking = Q(kind=Action.Kind.FINISH) & ~Q(
            attempt__in=Attempt.objects.filter(leases__status__in=("queued", "starting", "running"))
        )
        return self.filter(Q(attempt__backend=Attempt.Backend.SIMULATED) | marking)

    def silent_since(self, moment: datetime) -> ActionQuerySet:
        """Return running actions whose worker has not been heard of since ``moment``."""
        return self.filter(status=Action.Status.RUNNING, heartbeat_at__lt=moment)

    def in_front_of(self, action: Action) -> ActionQuerySet:
        """Return the queued and running actions that came before this one, of anybody, for the same workers."""
        return self.under_way().for_any_worker().filter(pk__lt=action.pk)


class Action(models.Model):
    """One entry of an attempt's log. Kinds that need the world are queued; the rest are done at once."""

    class Kind(models.TextChoices):
        BEGIN = "begin", "Bring the world to the page"
        PREDICT = "predict", "Prediction"
        COMMAND = "command", "Command"
        BELIEFS = "beliefs", "Beliefs"
        DIAGNOSE = "diagnose", "Diagnosis"
        EXPLAIN = "explain", "Explanation"
        FINISH = "finish", "Marking"

    class Status(models.TextChoices):
        QUEUED = "queued", "Waiting for a worker"
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        REFUSED = "refused", "Not understood, nothing charged"
        CANCELLED = "cancelled", "Cancelled, nothing charged"
        FAILED = "failed", "Could not be run; the attempt is intact"

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="actions")
    seq = models.PositiveIntegerField()
    kind = models.CharField(max_length=10, choices=Kind)
    payload = models.JSONField(default=dict)
    """What was asked: the typed line, or the validated form."""
    status = models.CharField(max_length=10, choices=Status, default=Status.QUEUED)
    tries = models.PositiveSmallIntegerField(default=0)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    progress = models.FloatField(default=0.0)
    doing = models.CharField(max_length=80, blank=True)
    """In the world's units: "Simulating 4:10 of 15:00"."""
    cancel_requested = models.BooleanField(default=False)
    outcome = models.JSONField(null=True, blank=True)
    at_s = models.IntegerField(null=True, blank=True)
    """The incident clock when it was done."""
    cost_s = models.IntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)
    done_at = models.DateTimeField(null=True, blank=True)

    objects = ActionQuerySet.as_manager()

    class Meta:
        ordering = ("seq",)
        constraints = (
            models.UniqueConstraint(fields=("attempt", "seq"), name="actions_are_numbered"),
            models.UniqueConstraint(
                fields=("attempt",),
                condition=Q(status__in=("queued", "running")),
                name="one_action_at_a_time",
            ),
        )
        indexes = (models.Index(fields=("status", "heartbeat_at"), name="actions_by_silence"),)

    def __str__(self) -> str:
        return f"{self.kind} {self.seq} of attempt {self.attempt_id}: {self.status}"

    @property
    def is_under_way(self) -> bool:
        return self.status in {self.Status.QUEUED, self.Status.RUNNING}


def next_seq(attempt_id: int) -> int:
    """Return the number of the next entry in an attempt's log."""
    last = Action.objects.filter(attempt_id=attempt_id).aggregate(last=models.Max(F("seq")))["last"]
    return 0 if last is None else last + 1

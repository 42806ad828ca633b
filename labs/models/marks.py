"""What marks follow from, how they changed, and the rounds in which many of them are given anew."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from labs.models.attempts import Attempt
from labs.models.errands import Errand


class KeptReruns(models.Model):
    """What was simulated to mark an attempt: with it and the log, other rules mark it again in milliseconds."""

    attempt = models.OneToOneField(Attempt, on_delete=models.CASCADE, related_name="kept_reruns")
    hypothesis = models.CharField(max_length=80)
    """The world's own."""
    kept = models.JSONField()
    """As ``labs.reruns.dump`` wrote it."""
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name_plural = "kept re-runs"

    def __str__(self) -> str:
        return f"re-runs of attempt {self.attempt_id}"


class MarkOverride(models.Model):
    """Points that a person gave one part of a mark, in place of the rule's, and why. Withdrawn, it counts no more."""

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="mark_overrides")
    part = models.CharField(max_length=20)
    points = models.DecimalField(max_digits=4, decimal_places=1)
    reason = models.TextField()
    """The learner reads it."""
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("attempt", "part"),
                condition=Q(withdrawn_at=None),
                name="one_override_in_force_per_part",
            ),
        )

    def __str__(self) -> str:
        return f"{self.part} of attempt {self.attempt_id}: {self.points}"


class Remarking(Errand):
    """A round in which stored attempts are marked by today's rules: looked at first, then applied, then perhaps undone."""

    class Status(models.TextChoices):
        COUNTING = "counting", "Working out what would change"
        READY = "ready", "Ready to be applied"
        APPLYING = "applying", "Being applied"
        APPLIED = "applied", "Applied"
        UNDOING = "undoing", "Being undone"
        UNDONE = "undone", "Undone"
        CANCELLED = "cancelled", "Cancelled; no mark was touched"
        FAILED = "failed", "Stopped by a fault; what was done so far stands"

    WORKING = (Status.COUNTING, Status.APPLYING, Status.UNDOING)
    FAILED = Status.FAILED
    TASK = "labs.tasks.carry_on_remarking"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    labs = models.JSONField(default=list)
    """Slugs of the labs whose attempts are marked."""
    simulate = models.BooleanField(default=False)
    """Whether attempts without kept re-runs are simulated again; otherwise they are only counted."""
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    reason = models.TextField(blank=True)
    """Why it was applied; the learners whose marks moved read it."""
    status = models.CharField(max_length=10, choices=Status, default=Status.COUNTING)
    after_pk = models.PositiveBigIntegerField(default=0)
    """The work under way has dealt with attempts, or planned marks, up to this key."""
    of = models.PositiveIntegerField(default=0)
    """Attempts to be looked at."""
    looked_at = models.PositiveIntegerField(default=0)
    as_before = models.PositiveIntegerField(default=0)
    """Those whose mark comes out the same."""
    without_reruns = models.PositiveIntegerField(default=0)
    passed_over = models.PositiveIntegerField(default=0)
    """Planned marks that were not written, or not taken back: the mark had been changed by somebody since."""
    faults = models.JSONField(default=list)
    """Attempts that could not be judged: their keys and what went wrong."""
    applied_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = (
            # Two rounds at once would each see marks that the other is about to change.
            models.UniqueConstraint(
                models.Value(1),
                condition=Q(status__in=("applying", "undoing")),
                name="one_round_writes_at_a_time",
            ),
        )

    def __str__(self) -> str:
        return f"re-marking {self.pk}: {self.status}"


class PlannedMark(models.Model):
    """One mark that a round would change: what it was when it was looked at, and what it would be."""

    remarking = models.ForeignKey(Remarking, on_delete=models.CASCADE, related_name="planned")
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="+")
    from_version = models.PositiveIntegerField()
    status = models.CharField(max_length=12)
    mark = models.JSONField()
    total = models.DecimalField(max_digits=4, decimal_places=1, null=True)
    rules = models.CharField(max_length=64)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("remarking", "attempt"), name="one_planned_mark_per_attempt"
            ),
        )

    def __str__(self) -> str:
        return f"attempt {self.attempt_id} in round {self.remarking_id}"


class MarkChange(models.Model):
    """One change of one mark: what it was, what it became, who did it and why. Rows are added, never changed."""

    class Cause(models.TextChoices):
        MARKED = "marked", "Marked"
        REMARKED = "remarked", "Marked again by other rules"
        UNDONE = "undone", "A re-marking was taken back"
        OVERRIDDEN = "overridden", "Points given by hand"
        WITHDRAWN = "withdrawn", "Points given by hand taken back"

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="mark_changes")
    version = models.PositiveIntegerField()
    """The mark's version after it."""
    cause = models.CharField(max_length=10, choices=Cause)
    reason = models.TextField(blank=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    """None: the course itself."""
    remarking = models.ForeignKey(
        Remarking, on_delete=models.SET_NULL, null=True, blank=True, related_name="changes"
    )
    before_status = models.CharField(max_length=12)
    before = models.JSONField(null=True)
    before_total = models.DecimalField(max_digits=4, decimal_places=1, null=True)
    before_rules = models.CharField(max_length=64, blank=True)
    after_status = models.CharField(max_length=12)
    after_total = models.DecimalField(max_digits=4, decimal_places=1, null=True)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("version",)
        constraints = (
            models.UniqueConstraint(
                fields=("attempt", "version"), name="changes_of_a_mark_are_numbered"
            ),
        )

    def __str__(self) -> str:
        return f"attempt {self.attempt_id}, mark {self.version}: {self.before_total} to {self.after_total}"

"""What lies between the site and its workers: messages to be sent, worlds kept, tables computed."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from labs.models.attempts import Attempt


class Outbox(models.Model):
    """A message to be sent, written with the row that it is about; sent after commit, and again if that failed."""

    task = models.CharField(max_length=80)
    object_id = models.PositiveBigIntegerField()
    created_at = models.DateTimeField(default=timezone.now)
    sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "outbox"
        indexes = (models.Index(fields=("sent_at", "created_at"), name="outbox_unsent"),)

    def __str__(self) -> str:
        return f"{self.task}({self.object_id}), {'sent' if self.sent_at else 'to be sent'}"


class Checkpoint(models.Model):
    """The world of an attempt after an action: saves rebuilding it from the log. Losing it costs seconds only."""

    attempt = models.OneToOneField(Attempt, on_delete=models.CASCADE, related_name="checkpoint")
    after_seq = models.PositiveIntegerField()
    code_digest = models.CharField(max_length=64)
    """The code that made it; another code rebuilds from the log."""
    blob = models.BinaryField()

    def __str__(self) -> str:
        return f"attempt {self.attempt_id} after action {self.after_seq}"


class LiveRecord(models.Model):
    """All that was seen of a live attempt's world: its mark, its re-marking and its reveal follow from it."""

    attempt = models.OneToOneField(Attempt, on_delete=models.CASCADE, related_name="live_record")
    box = models.CharField(max_length=80)
    profile = models.CharField(max_length=80)
    """The box's profile, by ``labs/live/profiles``."""
    fleet = models.JSONField()
    """What the engines ran with at the end: ``labs.live_records`` reads it."""
    blob = models.BinaryField()
    """Compressed JSON, as ``labs.live.records`` writes it."""
    digest = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"record of attempt {self.attempt_id}"


class InformationTable(models.Model):
    """A lab's information table that workers compute, seed by seed, when the one beside its spec is not today's."""

    lab_slug = models.SlugField(max_length=80)
    digest = models.CharField(max_length=64)
    """Of the code and the spec that it follows from."""
    next_seed = models.PositiveBigIntegerField()
    found = models.JSONField(default=list)
    """What every world read at each qualified seed."""

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("lab_slug", "digest"), name="one_table_per_digest"),
        )

    def __str__(self) -> str:
        return f"{self.lab_slug}, {len(self.found)} seeds"

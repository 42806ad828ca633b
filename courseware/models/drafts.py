"""What is being written, and states of it about which something was asked."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils import timezone


class Draft(models.Model):
    """A change of one piece of the course that somebody is at work on. Only its texts: the rest is computed."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    piece = models.CharField(max_length=200)
    base = models.PositiveIntegerField()
    """The version that it began from; 0 for a piece that is new."""
    texts = models.JSONField(default=dict)
    """Its files by name."""
    version = models.PositiveIntegerField(default=0)
    """Counts saves: a save from an older page is refused, and nothing is overwritten unseen."""
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="drafts"
    )
    """Who began it."""
    last_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)
    saved_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("-saved_at", "-pk")

    def __str__(self) -> str:
        return f"draft of {self.piece}"

    def get_absolute_url(self) -> str:
        return reverse("studio:draft", args=[self.public_id])


class DraftState(models.Model):
    """One state of a draft that was proved or tried: what was asked of it stays true when the draft moves on."""

    piece = models.CharField(max_length=200)
    digest = models.CharField(max_length=64)
    files = models.JSONField(default=dict)
    """Digests of its files by their names."""
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("piece", "digest"), name="states_of_drafts_are_one"),
        )

    def __str__(self) -> str:
        return f"{self.piece}, {self.digest[:12]}"

"""What learners ask after a release: another look at one item of the rubric."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from labs.models.attempts import Attempt

if TYPE_CHECKING:
    from datetime import datetime


class RegradeQuerySet(models.QuerySet["RegradeRequest"]):
    def open(self) -> RegradeQuerySet:
        return self.filter(status=RegradeRequest.Status.OPEN)

    def free(self, now: datetime) -> RegradeQuerySet:
        """Return open requests that nobody holds: unclaimed, or claimed once and expired."""
        return self.open().filter(Q(claimed_by=None) | Q(lease_until__lt=now))


class RegradeRequest(models.Model):
    """A learner's request for another look at one item."""

    class Status(models.TextChoices):
        OPEN = "open", "waits for an answer"
        UPHELD = "upheld", "upheld"
        DECLINED = "declined", "declined"
        WITHDRAWN = "withdrawn", "withdrawn"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="regrade_requests")
    item = models.CharField(max_length=60)
    """The rubric item's key."""
    title = models.TextField()
    """The item as the learner read it."""
    reason = models.TextField()
    status = models.CharField(max_length=9, choices=Status, default=Status.OPEN)
    asked_at = models.DateTimeField(default=timezone.now)
    claimed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
    )
    """Who looks at it, and in the end whoever answered it."""
    lease_until = models.DateTimeField(null=True, blank=True)
    before = models.FloatField(null=True)
    """Points of the item when it was answered, and after that."""
    after = models.FloatField(null=True)
    answer = models.TextField(blank=True)
    answered_at = models.DateTimeField(null=True, blank=True)

    objects = RegradeQuerySet.as_manager()

    class Meta:
        ordering = ("asked_at", "pk")
        constraints = (
            models.UniqueConstraint(
                fields=("attempt", "item"),
                condition=~Q(status="withdrawn"),
                name="an_item_is_asked_about_once",
            ),
        )
        indexes = (models.Index(fields=("status", "asked_at"), name="regrades_to_answer"),)

    def __str__(self) -> str:
        return f"request about {self.item} of attempt {self.attempt_id}"

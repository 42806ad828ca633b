"""A grader's work on what a learner wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from labs.models.attempts import Attempt

if TYPE_CHECKING:
    from datetime import datetime

    from courseware.models import User


class ReviewQuerySet(models.QuerySet["Review"]):
    def to_read(self) -> ReviewQuerySet:
        return self.filter(released_at=None)

    def claimable_by(self, grader: User, now: datetime) -> ReviewQuerySet:
        """Return reviews that nobody else holds: unclaimed, expired, or the grader's own."""
        free = Q(claimed_by=None) | Q(lease_until__lt=now) | Q(claimed_by=grader.pk)
        return self.to_read().filter(free)


class Review(models.Model):
    """A grader's work on the explanation of one attempt."""

    attempt = models.OneToOneField(Attempt, on_delete=models.CASCADE, related_name="review")
    claimed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="reviews",
    )
    lease_until = models.DateTimeField(null=True, blank=True)
    points = models.JSONField(default=list, blank=True)
    """Points given per rubric item, in the order of the spec's rubric; null is not decided yet."""
    comment = models.TextField(blank=True)
    version = models.PositiveIntegerField(default=0)
    """Counts saves: a save from an older page is refused, nothing is overwritten unseen."""
    released_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = ReviewQuerySet.as_manager()

    class Meta:
        indexes = (models.Index(fields=("released_at", "created_at"), name="reviews_to_read"),)

    def __str__(self) -> str:
        return f"review of attempt {self.attempt_id}"

    @property
    def score(self) -> int:
        return sum(points for points in self.points if points is not None)

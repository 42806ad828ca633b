"""A grader's work on what a learner wrote, what went back unread, and how a grader likes to work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from labs.models.attempts import Attempt

if TYPE_CHECKING:
    from datetime import datetime


class ReviewQuerySet(models.QuerySet["Review"]):
    def to_read(self) -> ReviewQuerySet:
        return self.filter(released_at=None)

    def free(self, now: datetime) -> ReviewQuerySet:
        """Return reviews that nobody holds: unclaimed, or claimed once and expired."""
        return self.to_read().filter(Q(claimed_by=None) | Q(lease_until__lt=now))


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
    claimed_at = models.DateTimeField(null=True, blank=True)
    """When it came into the hands of whoever has it; a renewed lease leaves it as it is."""
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

    @property
    def has_draft(self) -> bool:
        """Whether anybody has given points or written a comment."""
        return bool(self.comment) or any(points is not None for points in self.points)


class ReviewReturn(models.Model):
    """A review that went back into the queue for a reason; the reasons are kept."""

    class Kind(models.TextChoices):
        SKIPPED = "skipped", "skipped"
        FREED = "freed", "freed"

    review = models.ForeignKey(Review, on_delete=models.CASCADE, related_name="returns")
    kind = models.CharField(max_length=8, choices=Kind)
    holder = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    """Who had it until then."""
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    """Who sent it back: the holder, who skipped it, or an instructor, who freed it."""
    reason = models.CharField(max_length=300)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("-at", "-pk")

    def __str__(self) -> str:
        return f"{self.review} {self.kind}"


class GraderSettings(models.Model):
    """How one grader likes to work."""

    class Order(models.TextChoices):
        OLDEST = "oldest", "oldest first"
        SHUFFLED = "shuffled", "shuffled"

    grader = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="grader_settings"
    )
    order = models.CharField(max_length=8, choices=Order, default=Order.OLDEST)
    """In which order Next hands reviews out."""
    keys = models.JSONField(default=dict, blank=True)
    """The keys that differ from the defaults, by action; an empty text is no key."""

    def __str__(self) -> str:
        return f"settings of grader {self.grader_id}"

"""Graders' work on what a learner wrote, what it came to, what went back unread, and how a grader likes to work."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from labs.models.attempts import Attempt
from labs.rubric_points import total

if TYPE_CHECKING:
    from datetime import datetime


class ReviewQuerySet(models.QuerySet["Review"]):
    def to_read(self) -> ReviewQuerySet:
        return self.filter(released_at=None)

    def free(self, now: datetime) -> ReviewQuerySet:
        """Return reviews that nobody holds: unclaimed, or claimed once and expired."""
        return self.to_read().filter(Q(claimed_by=None) | Q(lease_until__lt=now))


class Review(models.Model):
    """One reading of the explanation of an attempt, by one grader."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="reviews")
    reading = models.PositiveSmallIntegerField(default=1)
    """1 is everybody's; 2 a second reader's, blind to the first; 3 decides where those two are far apart."""
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
    edition = models.PositiveIntegerField(default=0)
    """The edition of the lab's rubric by which the points were given."""
    points = models.JSONField(default=dict, blank=True)
    """Points by the key of the rubric's item; null is not decided yet."""
    moments = models.JSONField(default=dict, blank=True)
    """The moment of the log that an item points at, by its key."""
    comment = models.TextField(blank=True)
    version = models.PositiveIntegerField(default=0)
    """Counts saves: a save from an older page is refused, nothing is overwritten unseen."""
    released_at = models.DateTimeField(null=True, blank=True)
    """When its reader was done with it. What the learner sees, and since when, is a ReviewOutcome."""
    created_at = models.DateTimeField(default=timezone.now)

    objects = ReviewQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("attempt", "reading"), name="one_review_a_reading"),
        )
        indexes = (models.Index(fields=("released_at", "created_at"), name="reviews_to_read"),)

    def __str__(self) -> str:
        return f"reading {self.reading} of attempt {self.attempt_id}"

    @property
    def score(self) -> float:
        return total(self.points)

    @property
    def has_draft(self) -> bool:
        """Whether anybody has given points or written a comment."""
        return bool(self.comment) or any(points is not None for points in self.points.values())


class ReviewOutcome(models.Model):
    """What the readings of an attempt came to: all that its learner sees of them."""

    class Basis(models.TextChoices):
        ONE = "one", "one reading"
        MEAN = "mean", "the mean of two readings"
        THIRD = "third", "a third reader's decision"

    attempt = models.OneToOneField(Attempt, on_delete=models.CASCADE, related_name="review_outcome")
    basis = models.CharField(max_length=5, choices=Basis, default=Basis.ONE)
    edition = models.PositiveIntegerField(default=0)
    """The edition of the lab's rubric under which the points stand."""
    points = models.JSONField(default=dict)
    """Points by the key of the rubric's item; halves where two readers differ by an odd number."""
    moments = models.JSONField(default=dict, blank=True)
    """The moment of the log that an item points at, by its key."""
    comment = models.TextField(blank=True)
    version = models.PositiveIntegerField(default=1)
    """Counts changes after the release; each is a PointsChange."""
    settled_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    """The instructor who settled it without a reading that was still to be done; null where none was left out."""
    settled_because = models.CharField(max_length=300, blank=True)
    names_readers = models.BooleanField(default=False)
    """Whether its learner is told who read it, by the rules that held when it was settled."""
    released_at = models.DateTimeField(default=timezone.now, db_index=True)

    def __str__(self) -> str:
        return f"outcome of the readings of attempt {self.attempt_id}"


class PointsChange(models.Model):
    """One change of one rubric item's points after their release. The learner reads it."""

    class Cause(models.TextChoices):
        RUBRIC = "rubric", "The rubric changed"
        REGRADE = "regrade", "You asked for another look"

    outcome = models.ForeignKey(ReviewOutcome, on_delete=models.CASCADE, related_name="changes")
    version = models.PositiveIntegerField()
    """Of the outcome, once the change was made."""
    item = models.CharField(max_length=60)
    """The rubric item's key."""
    title = models.TextField(blank=True)
    """The item as the learner read it then."""
    before = models.FloatField(null=True)
    after = models.FloatField(null=True)
    of_before = models.SmallIntegerField(null=True)
    """How many points the item was worth, below 0 if it takes away; null if it was not in the rubric."""
    of_after = models.SmallIntegerField(null=True)
    cause = models.CharField(max_length=8, choices=Cause)
    reason = models.TextField()
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("at", "pk")

    def __str__(self) -> str:
        return f"{self.item} of {self.outcome}: {self.before} to {self.after}"


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

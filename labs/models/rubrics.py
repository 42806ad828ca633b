"""Editions of a lab's rubric, what each did to released points, and drafts that a conflict would have lost."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone

from labs.models.reviews import Review, ReviewOutcome


class RubricEdition(models.Model):
    """A rubric as somebody stored it; it never changes. Edition 0 is the file of the lab, and has no row."""

    lab_slug = models.SlugField(max_length=80)
    number = models.PositiveIntegerField()
    text = models.TextField()
    """The bytes of a ``rubric.toml``."""
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    reason = models.CharField(max_length=300)
    """Why it was changed: learners whose points it moved read it."""
    undoes = models.PositiveIntegerField(null=True)
    """The edition whose change it took back."""
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("lab_slug", "-number")
        constraints = (
            models.UniqueConstraint(
                fields=("lab_slug", "number"), name="rubric_editions_are_numbered"
            ),
        )

    def __str__(self) -> str:
        return f"rubric of {self.lab_slug}, edition {self.number}"


class RubricMove(models.Model):
    """What one edition did to the points of one outcome: what it takes to undo it."""

    edition = models.ForeignKey(RubricEdition, on_delete=models.CASCADE, related_name="moves")
    outcome = models.ForeignKey(ReviewOutcome, on_delete=models.CASCADE, related_name="moves")
    before = models.JSONField()
    after = models.JSONField()
    version = models.PositiveIntegerField()
    """Of the outcome, once it was moved: what has changed since is not undone."""

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("edition", "outcome"), name="an_edition_moves_once"),
        )

    def __str__(self) -> str:
        return f"{self.outcome} under {self.edition}"


class ReviewRecord(models.Model):
    """A draft that a conflict kept from being stored, or that the other draft replaced."""

    review = models.ForeignKey(Review, on_delete=models.CASCADE, related_name="records")
    grader = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    """Whose draft it is: nobody else is shown it."""
    edition = models.PositiveIntegerField(default=0)
    points = models.JSONField(default=dict)
    moments = models.JSONField(default=dict)
    comment = models.TextField(blank=True)
    is_refused = models.BooleanField(default=True)
    """Whether it was refused; else it was what stood stored at that time."""
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("-at", "-pk")

    def __str__(self) -> str:
        return f"a draft of {self.review}, kept"

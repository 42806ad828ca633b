"""What the course is made of, as it was published: versions are added, never changed."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone


class ContentBlob(models.Model):
    """The bytes of one file, under their SHA-256. Versions share them."""

    digest = models.CharField(max_length=64, primary_key=True)
    data = models.BinaryField()

    def __str__(self) -> str:
        return self.digest[:12]


class Version(models.Model):
    """One published state of one piece of the course."""

    class Origin(models.TextChoices):
        FILES = "files", "files"
        STUDIO = "studio", "the studio"

    piece = models.CharField(max_length=200)
    """Its path: labs/preemption-storm."""
    number = models.PositiveIntegerField()
    files = models.JSONField(default=dict)
    """Digests of its files by their names; none: the piece was withdrawn."""
    digest = models.CharField(max_length=64)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    note = models.TextField(blank=True)
    """What changed and why, in its author's words."""
    origin = models.CharField(max_length=6, choices=Origin)
    in_files = models.BooleanField(default=False)
    """Whether files have held it: it was taken in from there, or written out."""
    published_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("piece", "number")
        constraints = (
            models.UniqueConstraint(fields=("piece", "number"), name="versions_are_numbered"),
        )

    def __str__(self) -> str:
        return f"{self.piece}, version {self.number}"

    @property
    def is_withdrawn(self) -> bool:
        return not self.files


class ContentStamp(models.Model):
    """One row, which counts publications: whoever publishes says which state of the course they checked against."""

    stamp = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return f"stamp {self.stamp}"

"""How explanations are read: who sees whose name, how many read them, who may."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils import timezone


class ReadingRules(models.Model):
    """One version of the rules of a lab, or of every lab that has none of its own. The newest holds."""

    lab_slug = models.CharField(max_length=80, blank=True)
    """Empty: they hold wherever a lab has none of its own."""
    version = models.PositiveIntegerField()
    as_elsewhere = models.BooleanField(default=False)
    """The lab has no rules of its own any more; the other fields count for nothing."""
    graders_see_names = models.BooleanField("Graders see who wrote it", default=False)
    instructors_see_names = models.BooleanField("Instructors see who wrote it", default=False)
    learners_see_readers = models.BooleanField("Learners see who read it", default=False)
    second_percent = models.PositiveSmallIntegerField(
        "Read a second time, %", default=0, validators=[MaxValueValidator(100)]
    )
    most_difference = models.PositiveSmallIntegerField(
        "Difference that two readers may have, points",
        default=2,
        validators=[MaxValueValidator(100)],
    )
    needs_training = models.BooleanField("Graders train first", default=False)
    training_most_off = models.DecimalField(
        "Points off per item, at most",
        max_digits=3,
        decimal_places=2,
        default="0.50",
        validators=[MinValueValidator(0), MaxValueValidator(5)],
    )
    regrade_days = models.PositiveSmallIntegerField(
        "Days in which learners may ask for another look",
        default=14,
        validators=[MaxValueValidator(365)],
    )
    regrade_tokens = models.PositiveSmallIntegerField(
        "Requests that a learner may have", default=3, validators=[MaxValueValidator(50)]
    )
    """Over all labs: it counts in the rules that hold for every lab."""
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("lab_slug", "-version")
        constraints = (
            models.UniqueConstraint(
                fields=("lab_slug", "version"), name="one_reading_rules_a_version"
            ),
        )
        verbose_name_plural = "reading rules"

    def __str__(self) -> str:
        return f"rules {self.version} of {self.lab_slug or 'every lab'}"

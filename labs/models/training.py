"""Attempts by which graders learn to give points as others do, and what they gave them."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from labs.models.attempts import Attempt


class TrainingCase(models.Model):
    """A settled attempt in the training set of its lab, with the points that count as right."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="training_cases")
    points = models.JSONField(default=dict)
    """The reference, by the key of the rubric's item."""
    note = models.TextField()
    """Why these points; whoever trains reads it after they gave theirs."""
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)
    removed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("created_at", "pk")
        constraints = (
            models.UniqueConstraint(
                fields=("attempt",),
                condition=Q(removed_at=None),
                name="an_attempt_trains_once",
            ),
        )

    def __str__(self) -> str:
        return f"attempt {self.attempt_id} as a training case"


class TrainingRun(models.Model):
    """One try of a grader at the training set of a lab."""

    grader = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="training_runs"
    )
    lab_slug = models.CharField(max_length=80)
    number = models.PositiveSmallIntegerField(default=1)
    cases = models.JSONField(default=list)
    """Keys of the cases, in the order of this try."""
    started_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)
    off = models.FloatField(null=True)
    """Points between theirs and the reference, on average over all items of all cases."""
    most_off = models.FloatField(null=True)
    """How many the rules allowed when it was finished."""
    passed = models.BooleanField(default=False)

    class Meta:
        ordering = ("-started_at", "-pk")
        constraints = (
            models.UniqueConstraint(
                fields=("grader", "lab_slug", "number"), name="one_training_run_a_number"
            ),
            models.UniqueConstraint(
                fields=("grader", "lab_slug"),
                condition=Q(finished_at=None),
                name="one_training_run_at_a_time",
            ),
        )

    def __str__(self) -> str:
        return f"training {self.number} of grader {self.grader_id} in {self.lab_slug}"


class TrainingAnswer(models.Model):
    """What a grader gave one case in one try."""

    run = models.ForeignKey(TrainingRun, on_delete=models.CASCADE, related_name="answers")
    case = models.ForeignKey(TrainingCase, on_delete=models.CASCADE, related_name="answers")
    points = models.JSONField(default=dict)
    """By the key of the rubric's item."""
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("run", "case"), name="a_case_is_answered_once_a_run"),
        )

    def __str__(self) -> str:
        return f"answer to case {self.case_id} in run {self.run_id}"

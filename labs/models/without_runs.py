"""Runs of an attempt's world with one change left out of it, asked for by graders."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from labs.models.attempts import Attempt
from labs.models.errands import Errand


class WithoutRun(Errand):
    """One such run. Whoever asks for the same again is shown what was found."""

    class Status(models.TextChoices):
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        FAILED = "failed", "Could not be run"

    WORKING = (Status.RUNNING,)
    FAILED = Status.FAILED
    TASK = "labs.tasks.carry_on_without_run"

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="without_runs")
    target = models.CharField(max_length=40)
    kind = models.CharField(max_length=60)
    """What was left out: a flag of the engine, shedding, a placement, …"""
    progress = models.FloatField(default=0.0)
    doing = models.CharField(max_length=80, blank=True)
    found = models.JSONField(null=True, blank=True)
    """As ``labs.without.dump`` wrote it."""

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=("attempt", "target", "kind"), name="one_run_without_each_change"
            )
        ]

    def __str__(self) -> str:
        return f"attempt {self.attempt_id} without {self.kind}: {self.status}"

"""Proofs of labs that are being written."""

from __future__ import annotations

from django.db import models

from courseware.models import DraftState
from labs.models.errands import Errand


class DraftProof(Errand):
    """The proof of one state of a lab's draft. Whoever asks for the same again is shown what was found."""

    class Status(models.TextChoices):
        RUNNING = "running", "Being proved"
        DONE = "done", "Proved"
        CANCELLED = "cancelled", "Cancelled"
        FAILED = "failed", "Could not be proved"

    WORKING = (Status.RUNNING,)
    FAILED = Status.FAILED
    TASK = "labs.tasks.carry_on_draft_proof"
    PATIENCE = 6

    status = models.CharField(max_length=10, choices=Status, default=Status.RUNNING)
    state = models.OneToOneField(DraftState, on_delete=models.CASCADE, related_name="proof")
    level = models.CharField(max_length=8, default="draft")
    """How much it computes, by its name in ``labs.proving``."""
    doing = models.CharField(max_length=120, blank=True)
    """How far it is, as ``labs.proving.prove`` tells it."""
    fault = models.TextField(blank=True)
    """Why it could not be computed."""
    holds = models.BooleanField(default=False)
    report = models.JSONField(null=True, blank=True)
    """A ``labs.proving.Proof`` as plain values."""
    computed = models.JSONField(default=dict, blank=True)
    """Digests of the files that a proof leaves beside a spec, by their names."""
    done_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"proof of {self.state}: {self.status}"

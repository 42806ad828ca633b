"""Celery: one call, one integer."""

from celery import shared_task

from lessons import computing


@shared_task
def compute_answer(answer_id: int) -> None:
    """Compute one queued answer; the row says which."""
    computing.compute(answer_id)

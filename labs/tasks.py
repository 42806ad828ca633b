"""Celery tasks: one call each, one integer each. The row is the truth; a message may be lost or come twice."""

from celery import shared_task

from labs import worker


@shared_task
def execute_action(action_id: int) -> None:
    worker.execute_action(action_id)


@shared_task
def tend_actions() -> None:
    worker.tend()

"""Celery: one call, one integer."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from celery import shared_task
from django.db import transaction

from courseware.studio import serving
from lessons import computing, reminders

if TYPE_CHECKING:
    from lessons.models import ComputedAnswer


@shared_task
def compute_answer(answer_id: int) -> None:
    """Compute one queued answer; the row says which."""
    serving.look()
    computing.compute(answer_id)


def have_computed(answer: ComputedAnswer) -> None:
    """Have a worker compute an answer that is not there; each lapse publishes it once.

    A broker that is away stops no page: the next look publishes again.
    """
    if not answer.is_done and computing.claim_forgotten(answer):
        transaction.on_commit(partial(compute_answer.delay, answer.pk), robust=True)


@shared_task
def remind(mail_id: int) -> None:
    """Send one person's mail of today, if something is due; the row says whether it was looked after."""
    serving.look()
    reminders.remind(mail_id)


@shared_task
def remind_all() -> None:
    """Ring for every mail that nobody has looked after today."""
    for mail_id in reminders.waiting():
        remind.delay(mail_id)

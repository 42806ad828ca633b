"""Celery: one call, one integer."""

from celery import shared_task

from lessons import computing, reminders


@shared_task
def compute_answer(answer_id: int) -> None:
    """Compute one queued answer; the row says which."""
    computing.compute(answer_id)


@shared_task
def remind(mail_id: int) -> None:
    """Send one person's mail of today, if something is due; the row says whether it was looked after."""
    reminders.remind(mail_id)


@shared_task
def remind_all() -> None:
    """Ring for every mail that nobody has looked after today."""
    for mail_id in reminders.waiting():
        remind.delay(mail_id)

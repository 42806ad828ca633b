"""Messages to workers: written with the row that they are about, sent after commit, and again if that failed."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from typing import TYPE_CHECKING

from celery import current_app
from django.db import transaction
from django.utils import timezone

from labs.models import Outbox

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

logger = logging.getLogger(__name__)

EXECUTE = "labs.tasks.execute_action"
SENT_IN_S = 3
"""A message still unsent after so long was not sent by whoever wrote it."""
KEPT = timedelta(days=1)
MOST_AT_ONCE = 200
_AT_ONCE = {"socket_timeout": 1, "socket_connect_timeout": 1, "max_retries": 0}


_is_held: ContextVar[bool] = ContextVar("is_held", default=False)


@contextmanager
def held() -> Iterator[None]:
    """Write no messages: whoever writes the rows does the work as well."""
    token = _is_held.set(True)
    try:
        yield
    finally:
        _is_held.reset(token)


def post(object_id: int, task: str = EXECUTE) -> None:
    """Write the message about a row; call inside the transaction that writes the row."""
    if _is_held.get():
        return
    message = Outbox.objects.create(task=task, object_id=object_id)
    transaction.on_commit(lambda: send(message.pk))


def send(message_id: int) -> None:
    """Send one message of the outbox. A broker that is away leaves it for the next round."""
    message = Outbox.objects.filter(pk=message_id, sent_at=None).first()
    if message is None:
        return
    try:
        publish(message.task, message.object_id)
    except Exception:
        logger.exception("message %s could not be sent; it stays in the outbox", message_id)
        return
    Outbox.objects.filter(pk=message_id).update(sent_at=timezone.now())


def publish(task: str, object_id: int) -> None:
    """Hand one message to the broker, or raise soon: a page waits for this.

    The connection is its own: on a worker's, which waits for messages, a read must not time out.
    """
    with current_app.connection_for_write(transport_options=_AT_ONCE) as connection:
        current_app.send_task(task, args=[object_id], retry=False, connection=connection)


def send_late(now: datetime) -> None:
    """Send what was not sent when it was written, and forget what was sent long ago."""
    unsent = Outbox.objects.filter(sent_at=None, created_at__lt=now - timedelta(seconds=SENT_IN_S))
    for message_id in unsent.values_list("pk", flat=True)[:MOST_AT_ONCE]:
        send(message_id)
    Outbox.objects.filter(sent_at__lt=now - KEPT).delete()


def posted_since(object_id: int, moment: datetime, task: str = EXECUTE) -> bool:
    """Tell whether a row has a message written after ``moment``."""
    return Outbox.objects.filter(task=task, object_id=object_id, created_at__gt=moment).exists()

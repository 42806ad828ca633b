"""Celery tasks of the site itself."""

import time

import redis
from celery import shared_task
from django.conf import settings

PULSE_KEY = "courseware:pulse"


@shared_task
def note_pulse() -> None:
    """Note that beat, broker and worker just worked together; /healthz tells how long ago."""
    with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2) as broker:
        broker.set(PULSE_KEY, time.time())

"""Tells open pages that an attempt's log moved. A lost ring costs nothing: pages look again by themselves."""

from __future__ import annotations

import logging
from functools import cache

import redis
from django.conf import settings

logger = logging.getLogger(__name__)


def channel(attempt_id: int) -> str:
    """Return the channel of one attempt."""
    return f"attempt:{attempt_id}"


def ring(attempt_id: int) -> None:
    """Tell whoever watches the attempt to look again; never raises for a broker that is away."""
    try:
        _broker().publish(channel(attempt_id), "moved")
    except redis.RedisError:
        logger.debug("no broker to tell the pages of attempt %s; they will poll", attempt_id)


@cache
def _broker() -> redis.Redis:
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=1, socket_connect_timeout=1)

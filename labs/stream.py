"""Server-sent events of one attempt: a page that listens is told to look again. The row stays the truth.

The broker's channel carries no content, only "moved". A stream ends by itself after some minutes, or when the broker
is away; the browser connects again with a back-off, and polls meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

import redis.asyncio
from django.conf import settings
from django.http import Http404, StreamingHttpResponse
from django.views.decorators.http import require_GET
from redis.exceptions import RedisError

from labs import doorbell
from labs.models import Attempt

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from uuid import UUID

    from django.http import HttpRequest, HttpResponseBase

logger = logging.getLogger(__name__)

LASTS_S = 300.0
HEARTBEAT_S = 15.0


@require_GET
async def events(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Stream ``moved`` whenever the attempt's log moves. Another's attempt, or a visitor's, is a 404."""
    user = await request.auser()
    attempt_id = (
        await Attempt.objects.filter(public_id=public_id, learner=user.pk)
        .values_list("pk", flat=True)
        .afirst()
        if user.is_authenticated
        else None
    )
    if attempt_id is None:
        raise Http404
    response = StreamingHttpResponse(moved(attempt_id), content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response


async def moved(attempt_id: int) -> AsyncIterator[str]:
    """Yield an event for each ring of the attempt's doorbell, and comments in between to keep the line open."""
    broker = redis.asyncio.Redis.from_url(
        settings.REDIS_URL, socket_connect_timeout=2, health_check_interval=0
    )
    pubsub = broker.pubsub(ignore_subscribe_messages=True)
    ends_at = time.monotonic() + LASTS_S
    try:
        await pubsub.subscribe(doorbell.channel(attempt_id))
        # What moved between the page's render and this subscription is looked up once, now.
        yield "retry: 2000\nevent: moved\ndata: open\n\n"
        while (left_s := ends_at - time.monotonic()) > 0:
            message = await pubsub.get_message(timeout=min(HEARTBEAT_S, left_s))
            if message is None:
                yield ": still here\n\n"
                continue
            # One look is enough for all the rings of a moment.
            while await pubsub.get_message(timeout=0) is not None:
                pass
            yield "event: moved\ndata: log\n\n"
    except (RedisError, OSError):
        logger.info("no broker for the stream of attempt %s; its page polls", attempt_id)
        yield ": no broker\n\n"
    except asyncio.CancelledError:
        raise
    finally:
        await pubsub.aclose()  # type: ignore[no-untyped-call]
        await broker.aclose()

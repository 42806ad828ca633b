"""Errands: what is the same about every row that a worker carries on, whatever it is for."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from labs import outbox

if TYPE_CHECKING:
    from labs.models.errands import Errand

logger = logging.getLogger(__name__)

MAX_TRIES = 3


class Stopped(Exception):  # noqa: N818
    """The errand is no longer this worker's: cancelled, or taken up by another."""


def claim[E: Errand](kind: type[E], pk: int) -> E | None:
    """Take an errand that waits for a worker; None if it does not wait, so that a message may come twice."""
    rows = kind.rows().filter(pk=pk, heartbeat_at=None, status__in=kind.WORKING)
    if rows.update(heartbeat_at=timezone.now(), tries=F("tries") + 1) != 1:
        logger.info("%s %s is not waiting for a worker; leaving it alone", kind.__name__, pk)
        return None
    return kind.rows().get(pk=pk)


def hold(errand: Errand, **fields: Any) -> None:
    """Tell that the errand is alive, and store how far it is. Raises Stopped if it is another's by now."""
    now = timezone.now()
    if not own(errand, errand.status, heartbeat_at=now, **fields):
        raise Stopped


def own(errand: Errand, target: str, **fields: Any) -> bool:
    """Move an errand on, as long as it is with the worker that claimed it; False if it is another's by now."""
    return errand.move(errand.pk, errand.status, target, of_try=errand.tries, **fields)


def put_back(errand: Errand) -> bool:
    """Let another worker carry an errand on, or fail it after MAX_TRIES; False if it has moved meanwhile."""
    with transaction.atomic():
        if errand.tries >= MAX_TRIES:
            return own(errand, errand.FAILED)
        moved = own(errand, errand.status, heartbeat_at=None)
        if moved:
            outbox.post(errand.pk, errand.TASK)
    return moved


def tend(*kinds: type[Errand]) -> int:
    """Hand errands whose worker went silent, and those whose message was lost, to another. Returns how many."""
    now, back = timezone.now(), 0
    long_ago = now - timedelta(seconds=settings.LABS_FORGOTTEN_S)
    for kind in kinds:
        silent_since = now - timedelta(seconds=settings.LABS_SILENCE_S * kind.PATIENCE)
        working = kind.rows().filter(status__in=kind.WORKING)
        back += sum(put_back(each) for each in working.filter(heartbeat_at__lt=silent_since))
        for each in working.filter(heartbeat_at=None, created_at__lt=long_ago):
            if not outbox.posted_since(each.pk, long_ago, kind.TASK):
                with transaction.atomic():
                    outbox.post(each.pk, kind.TASK)
    return back

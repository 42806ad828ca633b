"""The life of a run without a change: asked for once, carried on by a worker, shown to every grader."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from django.db import transaction

from labs import errands, outbox, without, worlds
from labs.logged import log_of
from labs.models import WithoutRun

if TYPE_CHECKING:
    from labs.atoms import Atom
    from labs.incident import Progress
    from labs.models import Attempt

logger = logging.getLogger(__name__)

TELL_EVERY_S = 0.5
Status = WithoutRun.Status


def ask(attempt: Attempt, left_out: Atom) -> WithoutRun:
    """Return the run of an attempt's world without a change; begin it, or begin it anew if it failed.

    Raises ValueError if the attempt made no such change.
    """
    target, kind = left_out
    if left_out not in without.changes_of(log_of(attempt)):
        raise ValueError(f"this attempt made no change {kind} of {target}")
    with transaction.atomic():
        found, made = WithoutRun.objects.get_or_create(
            attempt=attempt, target=target, kind=kind, defaults={"status": Status.RUNNING}
        )
        again = not made and WithoutRun.move(
            found.pk, Status.FAILED, Status.RUNNING, tries=0, heartbeat_at=None, progress=0.0
        )
        if made or again:
            outbox.post(found.pk, WithoutRun.TASK)
    found.refresh_from_db()
    return found


def carry_on(run_id: int) -> None:
    """Run the world and store what came of it. Safe to call twice."""
    run = errands.claim(WithoutRun, run_id)
    if run is None:
        return
    attempt = run.attempt
    truth = worlds.hypothesis_of(attempt.spec, attempt.seed)
    try:
        found = without.run_without(
            attempt.spec,
            truth,
            attempt.seed,
            log_of(attempt),
            left_out=(run.target, run.kind),
            progress=_progress(run),
        )
    except errands.Stopped:
        return
    except Exception:
        logger.exception("run %s could not be carried on", run_id)
        errands.put_back(run)
        return
    errands.own(run, Status.DONE, found=without.dump(found), progress=1.0, doing="")


def _progress(run: WithoutRun) -> Progress:
    told_at = 0.0

    def tell(share: float, doing: str) -> None:
        nonlocal told_at
        now = time.monotonic()
        if now - told_at >= TELL_EVERY_S:
            told_at = now
            errands.hold(run, progress=share, doing=doing[:80])

    return tell

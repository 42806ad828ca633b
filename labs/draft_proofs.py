"""The life of a draft's proof: asked for once a state, carried on by a worker, cancelled by whoever waits no more."""

from __future__ import annotations

import logging
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils import timezone

from courseware.studio import serving, store
from labs import errands, outbox, pool, proving
from labs.catalogue import folder_of
from labs.models import DraftProof
from labs.plays import PlayError
from labs.proof import Line
from labs.specs import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable

    from courseware.models import DraftState
    from labs.proving import Level

logger = logging.getLogger(__name__)

TELL_EVERY_S = 0.5
COMPUTED = (pool.POOL, pool.TABLE, pool.PROOF)
Status = DraftProof.Status


def ask(state: DraftState, level: Level = proving.DRAFT) -> DraftProof:
    """Return the proof of a draft's state; begin it, or begin it anew if it was cancelled or failed.

    One that is done is begun anew only for a fuller ``level``: on more seeds, where chance decides less.
    """
    fresh: dict[str, Any] = {
        "tries": 0, "heartbeat_at": None, "doing": "", "fault": "", "level": level.name,
    }  # fmt: skip
    with transaction.atomic():
        found, made = DraftProof.objects.get_or_create(
            state=state, defaults={"status": Status.RUNNING, "level": level.name}
        )
        is_fuller = level.table_seeds > proving.LEVELS[found.level].table_seeds
        again = not made and (
            DraftProof.move(found.pk, Status.FAILED, Status.RUNNING, **fresh)
            or DraftProof.move(found.pk, Status.CANCELLED, Status.RUNNING, **fresh)
            or (is_fuller and DraftProof.move(found.pk, Status.DONE, Status.RUNNING, **fresh))
        )
        if made or again:
            outbox.post(found.pk, DraftProof.TASK)
    found.refresh_from_db()
    return found


def cancel(proof: DraftProof) -> bool:
    """Stop a proof at its worker's next breath; False if it is over already."""
    return DraftProof.move(proof.pk, Status.RUNNING, Status.CANCELLED)


def carry_on(proof_id: int) -> None:
    """Prove and store what came of it. Safe to call twice."""
    proof = errands.claim(DraftProof, proof_id)
    if proof is None:
        return
    try:
        key = serving.workplace(proof.state)
        found = proving.prove(key, proving.LEVELS[proof.level], told=_told(proof))
        folder = folder_of(key)
        computed = store.put({name: (folder / name).read_bytes() for name in COMPUTED})
    except errands.Stopped:
        return
    except (SpecError, PlayError, RuntimeError, ValueError, LookupError) as error:
        errands.own(proof, Status.FAILED, fault=str(error)[:2000], done_at=timezone.now())
        return
    except Exception:
        logger.exception("proof %s could not be carried on", proof_id)
        errands.put_back(proof)
        return
    errands.own(
        proof,
        Status.DONE,
        report=asdict(found),
        holds=found.holds,
        computed=computed,
        doing="",
        done_at=timezone.now(),
    )


def _told(proof: DraftProof) -> Callable[[str], None]:
    told_at = -float("inf")

    def tell(text: str) -> None:
        nonlocal told_at
        now = time.monotonic()
        if now - told_at >= TELL_EVERY_S:
            told_at = now
            errands.hold(proof, doing=text[:120])

    return tell


def lines_of(proof: DraftProof) -> list[Line]:
    """Return the statements of a proof that was computed, in order."""
    report: dict[str, Any] = proof.report or {"lines": []}
    return [Line(**each) for each in report["lines"]]

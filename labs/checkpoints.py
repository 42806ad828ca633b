"""The world of an attempt as an action finds it: from this process, from its checkpoint, or from the log."""

from __future__ import annotations

import pickle
import zlib
from collections import OrderedDict
from typing import TYPE_CHECKING

from labs import console, incident
from labs.digest import world_digest
from labs.models import Action, Checkpoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labs.incident import Incident
    from labs.models import Attempt

WORLDS_KEPT = 6

_worlds: OrderedDict[int, tuple[int, Incident]] = OrderedDict()
"""Worlds that this worker process has at hand: attempt -> (seq of the last action performed, incident)."""


def world_before(action: Action, progress: incident.Progress) -> Incident:
    """Return the world as the action finds it, whichever source is first to have it."""
    attempt = action.attempt
    done = moves_of(attempt, before_seq=action.seq)
    last_seq = done[-1].seq if done else -1
    kept = _worlds.pop(attempt.pk, None)
    if kept is not None and kept[0] == last_seq:
        return kept[1]
    saved = Checkpoint.objects.filter(
        attempt_id=attempt.pk, after_seq=last_seq, code_digest=world_digest(attempt.lab_key)
    ).first()
    if saved is not None:
        world: Incident = pickle.loads(zlib.decompress(saved.blob))  # noqa: S301  (our own bytes, from our own table)
        return world
    return rebuild(attempt, done, progress)


def moves_of(attempt: Attempt, *, before_seq: int) -> list[Action]:
    """Return the actions that brought the world to where it is, in order."""
    log = Action.objects.filter(
        attempt=attempt,
        seq__lt=before_seq,
        status=Action.Status.DONE,
        kind__in=(Action.Kind.BEGIN, Action.Kind.COMMAND),
    )
    return [entry for entry in log if entry.kind == Action.Kind.BEGIN or entry.cost_s > 0]


def rebuild(
    attempt: Attempt, log: Sequence[Action], progress: incident.Progress | None = None
) -> Incident:
    """Return the world that an attempt's log leads to, computed anew."""
    world = incident.begin(attempt.spec, attempt.seed, progress=progress)
    for entry in log:
        if entry.kind == Action.Kind.COMMAND:
            parsed = console.parse(entry.payload["line"])
            if isinstance(parsed, console.Command):
                incident.perform(world, parsed, (entry.outcome or {}).get("number", 0), progress)
    return world


def packed(world: Incident) -> bytes:
    """Return a world's bytes, for a checkpoint."""
    return zlib.compress(pickle.dumps(world, protocol=pickle.HIGHEST_PROTOCOL), level=1)


def store(action: Action, blob: bytes) -> None:
    """Write the world after an action as the attempt's checkpoint."""
    Checkpoint.objects.update_or_create(
        attempt_id=action.attempt_id,
        defaults={
            "after_seq": action.seq,
            "code_digest": world_digest(action.attempt.lab_key),
            "blob": blob,
        },
    )


def keep(attempt_id: int, seq: int, world: Incident) -> None:
    """Keep a world at hand for the attempt's next action."""
    _worlds[attempt_id] = (seq, world)
    while len(_worlds) > WORLDS_KEPT:
        _worlds.popitem(last=False)


def forget(attempt_id: int) -> None:
    """Drop the world at hand: it may be half-way through an action."""
    _worlds.pop(attempt_id, None)

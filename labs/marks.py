"""Marks an attempt: the log from the rows, the judgement from the pure rooms, the result into the row, once."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils import timezone

from labs import (
    checkpoints,
    live_records,
    mark_changes,
    plays,
    recorded,
    reruns,
    tables,
    worlds,
)
from labs.judgement import judge
from labs.log import operations_of
from labs.logged import entries_of
from labs.models import Action, Attempt, KeptReruns, MarkChange, Review
from labs.rules import rules_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labs.incident import Incident, Progress
    from labs.judgement import Judgement
    from labs.log import Entry
    from labs.marking.table import Table

KINDS = (Action.Kind.PREDICT, Action.Kind.COMMAND, Action.Kind.DIAGNOSE, Action.Kind.EXPLAIN)
"""Of the log, what marking reads."""
NO_RECORD = (
    "Nothing of this attempt's world was kept: its engine's machine was lost before it stored a record, so there is "
    "nothing to mark. Take the page again."
)


def log_of(attempt: Attempt, *, before_seq: int) -> list[Entry]:
    """Return an attempt's log as marking reads it: what was done, in order."""
    rows = Action.objects.filter(
        attempt=attempt, seq__lt=before_seq, status=Action.Status.DONE, kind__in=KINDS
    )
    return entries_of(rows)


def mark_attempt(action: Action, progress: Progress) -> bool:
    """Judge the attempt of a FINISH action and store the mark; False if the action is no longer this try's."""
    attempt = action.attempt
    log = log_of(attempt, before_seq=action.seq)
    try:
        left = left_by(action, progress)
    except live_records.NoRecord:
        return _without_record(action)
    kept, truth = simulated(attempt, log, left, progress)
    judgement = judged(attempt, log, kept, truth, tables.table_for(attempt.spec, progress))
    now = timezone.now()
    with transaction.atomic():
        own = Action.objects.filter(pk=action.pk, tries=action.tries)
        done = own.move(
            Action.Status.RUNNING,
            Action.Status.DONE,
            outcome={"kind": "mark", "text": judgement.reason},
            progress=1.0,
            doing="",
            done_at=now,
        )
        if not done:
            return False
        mark = mark_changes.with_overrides(attempt.pk, asdict(judgement))
        mark_changes.write(
            attempt,
            mark,
            rules=rules_of(attempt.lab_key),
            cause=MarkChange.Cause.MARKED,
            finished_at=now,
        )
        keep(attempt, kept, truth)
        explained = judgement.graded and attempt.trial_id is None
        if explained and any(entry.kind == "explain" for entry in log):
            Review.objects.get_or_create(attempt=attempt, reading=1)
    return True


def _without_record(action: Action) -> bool:
    """End the marking of a live attempt of whose world nothing was kept: it is not graded, and says why."""
    now = timezone.now()
    with transaction.atomic():
        own = Action.objects.filter(pk=action.pk, tries=action.tries)
        outcome = {"kind": "mark", "text": NO_RECORD}
        done = own.move(
            Action.Status.RUNNING, Action.Status.DONE, outcome=outcome, doing="", done_at=now
        )
        if done:
            Attempt.objects.filter(pk=action.attempt_id).move(
                Attempt.Status.MARKING,
                Attempt.Status.NOT_GRADED,
                mark={"graded": False, "reason": NO_RECORD},
                finished_at=now,
            )
    return done


def left_by(action: Action, progress: Progress) -> Incident:
    """Return the world as its learner left it: rebuilt, or as the record of a live one tells. Raises NoRecord."""
    if action.attempt.is_live:
        return live_records.incident_of(action.attempt)
    return checkpoints.world_before(action, progress)


def simulated(
    attempt: Attempt, log: list[Entry], left: Incident, progress: Progress
) -> tuple[reruns.Kept, str]:
    """Simulate what a mark needs, and return it with the world's own hypothesis. ``left`` is the world as it was left."""
    spec, seed = attempt.spec, attempt.seed
    truth = worlds.hypothesis_of(spec, seed)
    reference = plays.reference_route(spec, seed, progress=progress)
    runs = reruns.rerun(spec, truth, seed, log, reference=reference, progress=progress)
    if attempt.is_live:
        runs = _watched(runs, log, left, attempt.panel)
    return reruns.Kept(runs, reference, left.world.cluster.digest()), truth


def _watched(
    runs: reruns.Reruns, log: list[Entry], left: Incident, panel: Mapping[str, Any]
) -> reruns.Reruns:
    """Put the world that was watched in the place of the one that is run again, if it was watched long enough.

    Else its engine was gone too early: then the mark stands on the simulated one, which is told by its digest.
    """
    done_s = max((entry.at_s for entry in log), default=0)
    now = runs.now
    if not recorded.watched(left, done_s):
        return replace(runs, now=replace(now, digest=left.world.cluster.digest()))
    changes = [each for each in operations_of(log) if each.operation["verb"] != "slowdown"]
    twin = recorded.told_twin(
        left,
        done_s,
        since_s=changes[0].at_s if changes else None,
        parameter=now.parameter,
        in_force=now.in_force,
        users_hurt=_hurt_by(panel, done_s),
    )
    return recorded.with_watched(runs, twin)


def _hurt_by(panel: Mapping[str, Any], done_s: int) -> int | None:
    """Return how many users the room showed as hurt at "done"; None if it showed none of them."""
    shown = [hurt for at_s, hurt, _ in panel.get("hurt", []) if at_s <= done_s]
    return shown[-1] if shown else None


def keep(attempt: Attempt, kept: reruns.Kept, truth: str) -> None:
    """Store what was simulated beside the attempt."""
    KeptReruns.objects.update_or_create(
        attempt=attempt, defaults={"hypothesis": truth, "kept": reruns.dump(kept)}
    )


def judged(
    attempt: Attempt, log: list[Entry], kept: reruns.Kept, truth: str, table: Table
) -> Judgement:
    """Return what today's rules say of an attempt, from what was kept of it."""
    return judge(
        attempt.spec,
        attempt.seed,
        log,
        table=table,
        reference=kept.reference,
        runs=kept.reruns,
        live_digest=kept.live_digest,
        hypothesis=truth,
    )

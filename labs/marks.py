"""Marks an attempt: the log from the rows, the judgement from the pure rooms, the result into the row, once."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils import timezone

from labs import checkpoints, plays, tables, worlds
from labs.judgement import judge
from labs.log import Entry
from labs.models import Action, Attempt, Review
from labs.reruns import rerun

if TYPE_CHECKING:
    from labs.incident import Progress


def log_of(attempt: Attempt, *, before_seq: int) -> list[Entry]:
    """Return an attempt's log as marking reads it: what was done, in order."""
    kinds = (Action.Kind.PREDICT, Action.Kind.COMMAND, Action.Kind.DIAGNOSE, Action.Kind.EXPLAIN)
    rows = Action.objects.filter(
        attempt=attempt, seq__lt=before_seq, status=Action.Status.DONE, kind__in=kinds
    )
    return [
        Entry(row.kind, row.payload, row.outcome or {}, row.at_s or 0, row.cost_s) for row in rows
    ]


def mark_attempt(action: Action, progress: Progress) -> bool:
    """Judge the attempt of a FINISH action and store the mark; False if the action is no longer this try's."""
    attempt = action.attempt
    log = log_of(attempt, before_seq=action.seq)
    world = checkpoints.world_before(action, progress)
    spec, seed = attempt.spec, attempt.seed
    truth = worlds.hypothesis_of(spec, seed)
    reference = plays.reference_route(spec, seed, progress=progress)
    runs = rerun(spec, truth, seed, log, reference=reference, progress=progress)
    live_digest = world.world.cluster.digest()
    judgement = judge(
        spec,
        seed,
        log,
        table=tables.table_for(spec, progress),
        reference=reference,
        runs=runs,
        live_digest=live_digest,
    )
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
        Attempt.objects.filter(pk=attempt.pk).move(
            Attempt.Status.MARKING,
            Attempt.Status.MARKED if judgement.graded else Attempt.Status.NOT_GRADED,
            mark=asdict(judgement),
            total=judgement.total,
            finished_at=now,
        )
        if judgement.graded and any(entry.kind == "explain" for entry in log):
            Review.objects.get_or_create(attempt=attempt)
    return True

"""The life of a drill attempt: one decision after the other, each stored before what it shows is computed."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction
from django.utils import timezone

from courseware.served import tree
from courseware.studio.serving import key_of
from labs.specs import SpecError
from lessons.drills.evidence import evidence_of
from lessons.drills.marking import Decisions, mark
from lessons.drills.spec import drill
from lessons.models import DrillAttempt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from courseware.models import User
    from lessons.drills.evidence import Observed
    from lessons.drills.spec import DrillSpec
    from lessons.models import DrillAttemptQuerySet

Stage = DrillAttempt.Stage
HINT_WAIT_S = 20
_SEEDS = (100_000, 999_999)
"""None of them is a table's or a proof's."""


def path_of(number: str) -> str:
    """Return the path of the piece that a drill is."""
    return f"lessons/drills/{number}"


def spec_of(attempt: DrillAttempt) -> DrillSpec:
    """Return the drill as it was when an attempt began. Raises LookupError if that version is gone."""
    try:
        return drill(key_of(path_of(attempt.drill), attempt.version))
    except SpecError as error:
        raise LookupError(f"{attempt}: its version cannot be read any more: {error}") from error


def open_attempt(learner: User, spec: DrillSpec) -> DrillAttempt | None:
    """Return the attempt that is under way, if there is one and the version that it began with is there."""
    mine = DrillAttempt.objects.visible_to(learner).filter(drill=spec.number)
    found = mine.exclude(stage=Stage.DONE).first()
    return found if found is not None and _is_whole(found) else None


def last_attempt(learner: User, spec: DrillSpec) -> DrillAttempt | None:
    """Return the attempt that is under way, else the latest that is done and can still be shown."""
    mine = DrillAttempt.objects.visible_to(learner).filter(drill=spec.number, stage=Stage.DONE)
    done = (each for each in mine.reverse() if _is_whole(each))
    return open_attempt(learner, spec) or next(done, None)


def _is_whole(attempt: DrillAttempt) -> bool:
    """Tell whether an attempt's drill is there with all that it names: one from before versions may not be."""
    try:
        spec = spec_of(attempt)
    except LookupError:
        return False
    return (
        spec.measurements.keys() >= set(attempt.taken)
        and spec.suspects.keys() >= set(attempt.struck)
        and attempt.mechanism in {"", *spec.mechanisms}
        and attempt.fix in {"", *spec.fixes}
    )


def start(learner: User, spec: DrillSpec) -> DrillAttempt:
    """Return the attempt that is under way, or a new one in a world that the learner has not met yet if one is left.

    One whose version is gone cannot go on: it is taken away.
    """
    found = open_attempt(learner, spec)
    if found is not None:
        return found
    mine = DrillAttempt.objects.visible_to(learner).filter(drill=spec.number)
    old = mine.exclude(stage=Stage.DONE).first()
    if old is not None:
        mine.filter(pk=old.pk, stage=old.stage, taken=old.taken).delete()
    met = [spec.world_of(each.seed) for each in mine]
    rng = random.Random(f"drill:{spec.number}:{learner.pk}:{len(met)}")
    seeds = [rng.randint(*_SEEDS) for _ in range(20)]
    # Each world comes once before any comes again.
    rarest = min(met.count(world) for world in spec.served)
    seed = next((s for s in seeds if met.count(spec.world_of(s)) == rarest), seeds[0])
    try:
        with transaction.atomic():
            return DrillAttempt.objects.create(
                learner=learner,
                drill=spec.number,
                version=tree().number(path_of(spec.number)),
                seed=seed,
            )
    except IntegrityError:  # Two clicks: the other one's attempt is this one's.
        found = open_attempt(learner, spec)
        if found is None:
            raise
        return found


def observed(attempt: DrillAttempt, *, fix: str | None = None) -> Observed:
    """Return what the attempt's world reads, before a fix or after one."""
    spec = spec_of(attempt)
    return evidence_of(spec.evidence).observe(spec.world_of(attempt.seed), attempt.seed, fix)


def commit(attempt: DrillAttempt, measurement: str, confidence: int, why: str) -> bool:
    """Commit the first measurement; False if one was committed before."""
    return _row(attempt).move(
        Stage.MEASURE,
        Stage.STRIKE,
        taken=[measurement],
        confidence=confidence,
        why=why,
        hints=_paid(attempt),
    )


def take(attempt: DrillAttempt, measurement: str) -> bool:
    """Take one more measurement; False if it was taken before or is too late."""
    if measurement in attempt.taken:
        return False
    row = _row(attempt).filter(taken=attempt.taken)
    return row.move(Stage.STRIKE, Stage.STRIKE, taken=[*attempt.taken, measurement])


def strike(attempt: DrillAttempt, struck: Sequence[str]) -> bool:
    """Strike suspects out; False if that was done before."""
    return _row(attempt).move(
        Stage.STRIKE, Stage.MECHANISM, struck=list(struck), hints=_paid(attempt)
    )


def explain(attempt: DrillAttempt, mechanism: str) -> bool:
    """Say what happens; False if that was said before."""
    return _row(attempt).move(Stage.MECHANISM, Stage.FIX, mechanism=mechanism, hints=_paid(attempt))


def mend(attempt: DrillAttempt, fix: str) -> bool:
    """Choose the fix and be marked; False if that was done before."""
    spec = spec_of(attempt)
    attempt.refresh_from_db()
    if attempt.stage != Stage.FIX:
        return False
    paid = _paid(attempt)
    parts = mark(
        spec,
        spec.world_of(attempt.seed),
        observed(attempt).values,
        Decisions(
            attempt.taken,
            attempt.struck,
            attempt.mechanism,
            fix,
            Counter(stage for stage, _ in paid),
        ),
    )
    return _row(attempt).move(
        Stage.FIX,
        Stage.DONE,
        fix=fix,
        hints=paid,
        parts=[asdict(part) for part in parts],
        total=round(sum(part.earned for part in parts), 1),
        finished_at=timezone.now(),
    )


# ----------------------------------------------------------------------------------------------- hints


def ask_hint(
    attempt: DrillAttempt, number: int, *, stage: str = "", now: datetime | None = None
) -> bool:
    """Ask for a hint of the decision under way by its number, from 1; False if there is none to ask for.

    A page that was left open asks at a ``stage`` that is over: it gets none, and spends none at the one under way.

    It opens HINT_WAIT_S later. Asking for the same one again changes nothing, and the next can be asked for once
    it is open.
    """
    now = now or timezone.now()
    attempt.refresh_from_db()
    if stage not in {"", attempt.stage}:
        return False
    stage, mine = attempt.stage, hints_of(attempt)
    if 0 < number <= len(mine):
        return True
    left = spec_of(attempt).hints_for(stage)[len(mine) :]
    if not left or number != len(mine) + 1 or any(at > now for at in mine):
        return False
    opens_at = now + timedelta(seconds=HINT_WAIT_S)
    row = _row(attempt).filter(hints=attempt.hints)
    # Of two at once the slower finds the hint asked for.
    row.move(stage, stage, hints=[*attempt.hints, [stage, opens_at.isoformat()]])
    attempt.refresh_from_db()
    return len(hints_of(attempt)) >= number


def hints_of(attempt: DrillAttempt) -> list[datetime]:
    """Return when the hints of the decision under way open, those that were asked for."""
    return [datetime.fromisoformat(at) for stage, at in attempt.hints if stage == attempt.stage]


def _paid(attempt: DrillAttempt) -> list[list[str]]:
    """Return the hints that count: whoever decides before one opens has not had it."""
    now = timezone.now()
    return [[stage, at] for stage, at in attempt.hints if datetime.fromisoformat(at) <= now]


def _row(attempt: DrillAttempt) -> DrillAttemptQuerySet:
    return DrillAttempt.objects.filter(pk=attempt.pk)

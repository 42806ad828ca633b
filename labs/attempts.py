"""The life of an attempt, as people move it: started, commanded, cancelled, finished, given up.

An action that needs the world is a row and its message, written in one transaction; ``labs.worker`` does the rest.
"""

from __future__ import annotations

import random
import unicodedata
from typing import TYPE_CHECKING, Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from courseware.admission import why_not
from courseware.served import tree
from labs import console, doorbell, outbox, pool
from labs.incident.changes import CHANGE_VERBS
from labs.models import Action, Attempt, next_seq

if TYPE_CHECKING:
    from datetime import datetime

    from courseware.models import User
    from labs.specs import LabSpec

Kind, Status = Action.Kind, Action.Status


class Busy(Exception):  # noqa: N818
    """An action of this attempt is still under way; one at a time."""


class Closed(Exception):  # noqa: N818
    """The attempt takes no more actions."""


class NotNow(Exception):  # noqa: N818
    """Something that was asked for is not to be had now. Its text is the sentence that says why."""


def start_attempt(*, learner: User, spec: LabSpec) -> Attempt:
    """Return the learner's open attempt at a lab; a new one, with a fresh seed of the pool, if there is none.

    A spec at a real engine's scale begins a live one, whose world waits for a lease (``labs.leases``).

    Raises NotNow if a cohort's dates or its number of attempts forbid a new one.
    """
    trial = tree().trial or None
    unfinished = Attempt.objects.of(learner).filter(
        lab_slug=spec.slug, status__in=("open", "marking"), trial=trial
    )
    existing = unfinished.first()
    if existing is not None:
        return existing
    try:
        with transaction.atomic():
            earlier = Attempt.objects.of(learner).filter(lab_slug=spec.slug)
            if trial is None and (
                refused := why_not(
                    learner, "lab", spec.slug, lambda: begun(learner, spec), hold=True
                )
            ):
                # The other one of two clicks may have used the last attempt: then that is the attempt.
                if (existing := unfinished.first()) is not None:
                    return existing
                raise NotNow(refused)
            attempt = Attempt.objects.create(
                learner=learner,
                lab_slug=spec.slug,
                trial_id=trial,
                backend=Attempt.Backend.SIMULATED if spec.live is None else Attempt.Backend.LIVE,
                lab_version=tree().number(f"labs/{spec.slug}"),
                seed=_fresh_seed(spec, learner.pk, list(earlier.values_list("seed", flat=True))),
                number=earlier.count() + 1,
            )
            _queue(attempt, Kind.BEGIN, {})
    except IntegrityError:
        # Two clicks at once: the other one's attempt is the attempt, unless it is over by now.
        return unfinished.first() or start_attempt(learner=learner, spec=spec)
    return attempt


def begun(learner: User, spec: LabSpec) -> list[datetime]:
    """Return when a learner began each attempt at a lab; what could not be graded is given back."""
    mine = Attempt.objects.of(learner).counted().filter(lab_slug=spec.slug)
    return list(mine.exclude(status=Attempt.Status.NOT_GRADED).values_list("started_at", flat=True))


def _fresh_seed(spec: LabSpec, learner_id: int, used: list[int]) -> int:
    seeds = pool.admitted(spec.key)
    fresh = [seed for seed in seeds if seed not in set(used)] or list(seeds)
    return random.Random(f"serve:{spec.slug}:{learner_id}:{len(used)}").choice(fresh)


def command(attempt: Attempt, line: str) -> Action:
    """Log a typed or clicked command. What does not parse is answered at once and charged nothing.

    Raises Busy while another action is under way, Closed if the attempt takes no more, NotNow if it is live and its
    engine is gone.
    """
    parsed = console.parse(line)
    line = _storable(line.strip()[: console.MAX_LINE_CHARACTERS])
    if isinstance(parsed, console.Refusal):
        return record(
            attempt,
            Kind.COMMAND,
            {"line": line},
            status=Status.REFUSED,
            outcome={"kind": "refused", "text": parsed.message},
        )
    _require_open(attempt)
    if attempt.is_live and not attempt.leases.unended().exists():
        raise NotNow(
            "This attempt has no engine any more: commands reach nothing. What you have read is kept."
        )
    with transaction.atomic():
        return _queue(attempt, Kind.COMMAND, {"line": line})


def _storable(line: str) -> str:
    """Return a line without what a database does not take in text: control characters, half characters."""
    return "".join("\ufffd" if unicodedata.category(c) in {"Cc", "Cs"} else c for c in line)


def record(
    attempt: Attempt,
    kind: Action.Kind,
    payload: dict[str, Any],
    *,
    status: Action.Status = Status.DONE,
    outcome: dict[str, Any] | None = None,
) -> Action:
    """Log an action that costs nothing and needs no world: a prediction, a diagnosis, an explanation.

    Raises Busy while another action is under way, Closed if the attempt takes no more.
    """
    _require_open(attempt)
    try:
        with transaction.atomic():
            if Action.objects.filter(attempt=attempt).under_way().exists():
                raise Busy
            return Action.objects.create(
                attempt=attempt,
                seq=next_seq(attempt.pk),
                kind=kind,
                payload=payload,
                status=status,
                outcome=outcome or {},
                at_s=Attempt.objects.values_list("clock_s", flat=True).get(pk=attempt.pk),
                done_at=timezone.now(),
            )
    except IntegrityError as exc:
        # Another entry took this number between our look and our write.
        raise Busy from exc


def finish(attempt: Attempt) -> Action:
    """Close the attempt and have it marked. Raises Busy or Closed."""
    with transaction.atomic():
        if Action.objects.filter(attempt=attempt).under_way().exists():
            raise Busy
        if not Attempt.objects.filter(pk=attempt.pk).move("open", "marking"):
            raise Closed
        return _queue(attempt, Kind.FINISH, {})


def mark_again(attempt: Attempt) -> Action | None:
    """Have a failed marking run once more; None if the attempt is not in that state.

    Raises Busy while the learner has another attempt at the lab under way.
    """
    try:
        with transaction.atomic():
            if not Attempt.objects.filter(pk=attempt.pk).move("not_graded", "marking"):
                return None
            return _queue(attempt, Kind.FINISH, {})
    except IntegrityError as exc:
        raise Busy from exc


def give_up(attempt: Attempt) -> bool:
    """End an open attempt without a mark. Raises Busy while an action is under way."""
    if Action.objects.filter(attempt=attempt).under_way().exists():
        raise Busy
    return Attempt.objects.filter(pk=attempt.pk).move(
        "open", "given_up", finished_at=timezone.now()
    )


def cancel(action: Action) -> bool:
    """Cancel an action: at once if no worker has it, at its next breath if one has.

    Marking is not cancelled, nor is a change that a real engine has begun: it has been made.
    """
    if action.kind == Kind.FINISH:
        return False
    rows = Action.objects.filter(pk=action.pk)
    done = rows.move(Status.QUEUED, Status.CANCELLED, done_at=timezone.now())
    if not done and is_made(action):
        return False
    asked = done or rows.filter(status=Status.RUNNING).update(cancel_requested=True) == 1
    if asked:
        doorbell.ring(action.attempt_id)
    return asked


def is_made(action: Action) -> bool:
    """Whether an action that runs cannot be undone by forgetting its world: a change to a real engine."""
    if action.kind != Kind.COMMAND or not action.attempt.is_live:
        return False
    parsed = console.parse(action.payload["line"])
    return isinstance(parsed, console.Command) and parsed.verb in CHANGE_VERBS


def take_up_again(attempt: Attempt) -> Action | None:
    """Queue a begin that failed or was cancelled once more; None if there is nothing to take up."""
    last = Action.objects.filter(attempt=attempt, kind=Kind.BEGIN).last()
    if last is None or last.status not in {Status.FAILED, Status.CANCELLED}:
        return None
    with transaction.atomic():
        return _queue(attempt, Kind.BEGIN, {})


def _require_open(attempt: Attempt) -> None:
    if not Attempt.objects.filter(pk=attempt.pk, status=Attempt.Status.OPEN).exists():
        raise Closed


def _queue(attempt: Attempt, kind: Action.Kind, payload: dict[str, Any]) -> Action:
    """Write an action and its message together; call inside a transaction. Raises Busy for a second one."""
    try:
        with transaction.atomic():
            action = Action.objects.create(
                attempt=attempt, seq=next_seq(attempt.pk), kind=kind, payload=payload
            )
    except IntegrityError as exc:
        raise Busy from exc
    # Who holds the lease of a live attempt looks for its actions; its marking is anybody's.
    if kind == Kind.FINISH or not attempt.is_live:
        outbox.post(action.pk)
    return action

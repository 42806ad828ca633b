"""The life of an attempt and of its actions: started, queued, performed, cancelled, taken up again, marked.

An action that needs the world is a row and its outbox entry, written in one transaction. A worker claims the row
by one UPDATE, rebuilds the world from its checkpoint or from the log, performs the command, and stores the outcome
by one UPDATE that succeeds only while the action is still its own. Messages may be lost or come twice.
"""

from __future__ import annotations

import logging
import pickle
import random
import time
import zlib
from collections import OrderedDict
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from labs import console, doorbell, incident, pool
from labs.digest import world_digest
from labs.models import Action, Attempt, Checkpoint, Outbox, next_seq

if TYPE_CHECKING:
    from courseware.models import User
    from labs.incident import Incident, Outcome
    from labs.specs import LabSpec

logger = logging.getLogger(__name__)

EXECUTE = "labs.tasks.execute_action"
MAX_TRIES = 3
TELL_EVERY_S = 0.25
WORLDS_KEPT = 6
Kind, Status = Action.Kind, Action.Status

_worlds: OrderedDict[int, tuple[int, Incident]] = OrderedDict()
"""Worlds that this worker process has at hand: attempt -> (seq of the last action performed, incident)."""


class Busy(Exception):  # noqa: N818
    """An action of this attempt is still under way; one at a time."""


class Closed(Exception):  # noqa: N818
    """The attempt takes no more actions."""


class Stopped(Exception):  # noqa: N818
    """The action is no longer this worker's: cancelled, or taken up by another."""


# ------------------------------------------------------------------------------------- what people do


def start_attempt(*, learner: User, spec: LabSpec) -> Attempt:
    """Return the learner's open attempt at a lab; a new one, with a fresh seed of the pool, if there is none."""
    unfinished = Attempt.objects.of(learner).filter(
        lab_slug=spec.slug, status__in=("open", "marking")
    )
    existing = unfinished.first()
    if existing is not None:
        return existing
    try:
        with transaction.atomic():
            earlier = Attempt.objects.of(learner).filter(lab_slug=spec.slug)
            attempt = Attempt.objects.create(
                learner=learner,
                lab_slug=spec.slug,
                lab_version=spec.version,
                seed=_fresh_seed(spec, learner.pk, list(earlier.values_list("seed", flat=True))),
                number=earlier.count() + 1,
            )
            _queue(attempt, Kind.BEGIN, {})
    except IntegrityError:
        # Two clicks at once: the other one's attempt is the attempt.
        return unfinished.get()
    return attempt


def _fresh_seed(spec: LabSpec, learner_id: int, used: list[int]) -> int:
    seeds = pool.admitted(spec.slug)
    fresh = [seed for seed in seeds if seed not in set(used)] or list(seeds)
    return random.Random(f"serve:{spec.slug}:{learner_id}:{len(used)}").choice(fresh)


def command(attempt: Attempt, line: str) -> Action:
    """Log a typed or clicked command. What does not parse is answered at once and charged nothing.

    Raises Busy while another action is under way, Closed if the attempt takes no more.
    """
    parsed = console.parse(line)
    line = line.strip()[: console.MAX_LINE_CHARACTERS]
    if isinstance(parsed, console.Refusal):
        return record(
            attempt,
            Kind.COMMAND,
            {"line": line},
            status=Status.REFUSED,
            outcome={"kind": "refused", "text": parsed.message},
        )
    _require_open(attempt)
    with transaction.atomic():
        return _queue(attempt, Kind.COMMAND, {"line": line})


def record(
    attempt: Attempt,
    kind: Kind,
    payload: dict[str, Any],
    *,
    status: Status = Status.DONE,
    outcome: dict[str, Any] | None = None,
) -> Action:
    """Log an action that costs nothing and needs no world: a prediction, a diagnosis, an explanation.

    Raises Busy while another action is under way, Closed if the attempt takes no more.
    """
    _require_open(attempt)
    with transaction.atomic():
        if attempt.actions.under_way().exists():  # type: ignore[attr-defined]
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


def finish(attempt: Attempt) -> Action:
    """Close the attempt and have it marked. Raises Busy or Closed."""
    with transaction.atomic():
        if attempt.actions.under_way().exists():  # type: ignore[attr-defined]
            raise Busy
        if not Attempt.objects.filter(pk=attempt.pk).move("open", "marking"):
            raise Closed
        return _queue(attempt, Kind.FINISH, {})


def mark_again(attempt: Attempt) -> Action | None:
    """Have a failed marking run once more; None if the attempt is not in that state."""
    with transaction.atomic():
        if not Attempt.objects.filter(pk=attempt.pk).move("not_graded", "marking"):
            return None
        return _queue(attempt, Kind.FINISH, {})


def give_up(attempt: Attempt) -> bool:
    """End an open attempt without a mark. Raises Busy while an action is under way."""
    if attempt.actions.under_way().exists():  # type: ignore[attr-defined]
        raise Busy
    return Attempt.objects.filter(pk=attempt.pk).move(
        "open", "given_up", finished_at=timezone.now()
    )


def cancel(action: Action) -> bool:
    """Cancel an action: at once if no worker has it, at its next breath if one has. Marking is not cancelled."""
    if action.kind == Kind.FINISH:
        return False
    rows = Action.objects.filter(pk=action.pk)
    done = rows.move(Status.QUEUED, Status.CANCELLED, done_at=timezone.now())
    asked = done or rows.filter(status=Status.RUNNING).update(cancel_requested=True) == 1
    if asked:
        doorbell.ring(action.attempt_id)
    return asked


def take_up_again(attempt: Attempt) -> Action | None:
    """Queue a begin that failed or was cancelled once more; None if there is nothing to take up."""
    last = attempt.actions.filter(kind=Kind.BEGIN).last()  # type: ignore[attr-defined]
    if last is None or last.status not in {Status.FAILED, Status.CANCELLED}:
        return None
    with transaction.atomic():
        return _queue(attempt, Kind.BEGIN, {})


def _require_open(attempt: Attempt) -> None:
    if not Attempt.objects.filter(pk=attempt.pk, status=Attempt.Status.OPEN).exists():
        raise Closed


def _queue(attempt: Attempt, kind: Kind, payload: dict[str, Any]) -> Action:
    """Write an action and its message together; call inside a transaction. Raises Busy for a second one."""
    try:
        with transaction.atomic():
            action = Action.objects.create(
                attempt=attempt, seq=next_seq(attempt.pk), kind=kind, payload=payload
            )
    except IntegrityError as exc:
        raise Busy from exc
    _post(action.pk)
    return action


# ---------------------------------------------------------------------------------------- the outbox


def _post(action_id: int) -> None:
    message = Outbox.objects.create(task=EXECUTE, object_id=action_id)
    transaction.on_commit(lambda: send(message.pk))


def send(message_id: int) -> None:
    """Send one message of the outbox. A broker that is away leaves it for the next round."""
    message = Outbox.objects.filter(pk=message_id, sent_at=None).first()
    if message is None:
        return
    try:
        _publish(message.task, message.object_id)
    except Exception:
        logger.exception("message %s could not be sent; it stays in the outbox", message_id)
        return
    Outbox.objects.filter(pk=message_id).update(sent_at=timezone.now())


def _publish(task: str, object_id: int) -> None:
    from courseware.celery import app  # noqa: PLC0415  (the app imports tasks, which import this module)

    app.send_task(task, args=[object_id], retry=False)


def tend() -> int:
    """Send what was not sent, and put back what went silent. Returns how many actions were put back."""
    now = timezone.now()
    for message_id in Outbox.objects.filter(
        sent_at=None, created_at__lt=now - timedelta(seconds=3)
    ).values_list("pk", flat=True)[:200]:
        send(message_id)
    Outbox.objects.filter(sent_at__lt=now - timedelta(days=1)).delete()
    back = 0
    silent = Action.objects.silent_since(now - timedelta(seconds=settings.LABS_SILENCE_S))
    for action in silent.only("pk", "tries", "attempt_id"):
        back += _put_back(action, "its worker went silent")
    # A message that the broker lost: the row still waits, and nobody has claimed it.
    forgotten = Action.objects.filter(
        status=Status.QUEUED, created_at__lt=now - timedelta(seconds=settings.LABS_FORGOTTEN_S)
    )
    for action_id in forgotten.values_list("pk", flat=True):
        recent = Outbox.objects.filter(
            object_id=action_id, created_at__gt=now - timedelta(seconds=settings.LABS_FORGOTTEN_S)
        )
        if not recent.exists():
            with transaction.atomic():
                _post(action_id)
    return back


def _put_back(action: Action, why: str) -> bool:
    """Queue a running action again, or fail it after MAX_TRIES; False if it has moved meanwhile."""
    rows = Action.objects.filter(pk=action.pk, tries=action.tries)
    with transaction.atomic():
        if action.tries < MAX_TRIES:
            moved = rows.move(Status.RUNNING, Status.QUEUED, progress=0.0, doing="")
            if moved:
                _post(action.pk)
        else:
            moved = rows.move(Status.RUNNING, Status.FAILED, done_at=timezone.now())
            if moved:
                _could_not_be_graded(action.pk)
    if moved:
        logger.warning("action %s: %s after try %s", action.pk, why, action.tries)
        doorbell.ring(action.attempt_id)
    return moved


def _could_not_be_graded(action_id: int) -> None:
    """A marking that cannot be run is a state of its own, never a zero."""
    Attempt.objects.filter(
        actions__pk=action_id, actions__kind=Kind.FINISH, status="marking"
    ).update(status="not_graded")


# --------------------------------------------------------------------------------------- the worker


def execute_action(action_id: int) -> None:
    """Perform a queued action and store its outcome.

    Safe to call twice: an action that is not queued is left alone. Each try writes only while the action is
    still its own, so a try that was given up for dead changes nothing.
    """
    claimed = Action.objects.filter(pk=action_id).move(
        Status.QUEUED,
        Status.RUNNING,
        tries=F("tries") + 1,
        heartbeat_at=timezone.now(),
        progress=0.0,
        doing="Rebuilding the world",
    )
    if not claimed:
        logger.info("action %s is not queued; leaving it alone", action_id)
        return
    action = Action.objects.select_related("attempt").get(pk=action_id)
    doorbell.ring(action.attempt_id)
    try:
        _perform(action)
    except Stopped:
        _worlds.pop(action.attempt_id, None)
        own = Action.objects.filter(pk=action.pk, tries=action.tries, cancel_requested=True)
        own.move(Status.RUNNING, Status.CANCELLED, done_at=timezone.now())
    except Exception:
        _worlds.pop(action.attempt_id, None)
        logger.exception("action %s could not be run, try %s", action.pk, action.tries)
        _put_back(action, "it raised")
    doorbell.ring(action.attempt_id)


def _perform(action: Action) -> None:
    tell = _Teller(action)
    if action.kind == Kind.FINISH:
        from labs import marks  # noqa: PLC0415  (numpy is loaded by the workers that mark, not by every page)

        marks.mark_attempt(action, tell)
        return
    attempt = action.attempt
    if action.kind == Kind.BEGIN:
        world = incident.begin(attempt.spec, attempt.seed, progress=tell)
        outcome = incident.Outcome("begin", "", 0)
    else:
        world = world_before(action, tell)
        parsed = console.parse(action.payload["line"])
        if isinstance(parsed, console.Refusal):
            raise TypeError(f"a refused line was queued: {parsed.message}")
        number = attempt.actions.filter(kind=Kind.COMMAND, status=Status.DONE).count() + 1  # type: ignore[attr-defined]
        outcome = incident.perform(world, parsed, number, tell)
    _store(action, world, outcome)


def _store(action: Action, world: Incident, outcome: Outcome) -> None:
    """Write outcome, clock, panel and checkpoint in one transaction, if the action is still this try's."""
    attempt = action.attempt
    status = Status.REFUSED if outcome.kind == "refused" else Status.DONE
    data = asdict(outcome)
    if action.kind == Kind.COMMAND and status == Status.DONE:
        data["number"] = attempt.actions.filter(kind=Kind.COMMAND, status=Status.DONE).count() + 1  # type: ignore[attr-defined]
    moves = outcome.cost_s > 0 or action.kind == Kind.BEGIN
    blob = (
        zlib.compress(pickle.dumps(world, protocol=pickle.HIGHEST_PROTOCOL), level=1)
        if moves
        else b""
    )
    shown = panel(world, attempt.panel) if moves else attempt.panel
    with transaction.atomic():
        own = Action.objects.filter(pk=action.pk, tries=action.tries)
        done = own.move(
            Status.RUNNING,
            status,
            outcome=data,
            at_s=outcome.at_s,
            cost_s=outcome.cost_s,
            progress=1.0,
            doing="",
            done_at=timezone.now(),
        )
        if not done:
            raise Stopped
        if moves:
            Attempt.objects.filter(pk=attempt.pk).update(clock_s=world.clock_s, panel=shown)
            Checkpoint.objects.update_or_create(
                attempt_id=attempt.pk,
                defaults={
                    "after_seq": action.seq,
                    "code_digest": world_digest(attempt.lab_slug),
                    "blob": blob,
                },
            )
    if moves:
        _keep(attempt.pk, action.seq, world)


def panel(world: Incident, earlier: dict[str, Any]) -> dict[str, Any]:
    """Return what the room shows free of charge: gauges now, and the alarm's series, extending the earlier one."""
    known = [tuple(point) for point in earlier.get("ttft", [])]
    from_s = known[-1][0] + 1 if known else world.spec.timeline.healthy_from_s
    new = incident.ttft_series(world, from_s=from_s)
    return {"gauges": asdict(incident.gauges(world)), "ttft": [*known, *new]}


def world_before(action: Action, progress: incident.Progress) -> Incident:
    """Return the world as the action finds it: from this process, the checkpoint, or the log, whichever is first."""
    attempt = action.attempt
    log = attempt.actions.filter(
        seq__lt=action.seq, status=Status.DONE, kind__in=(Kind.BEGIN, Kind.COMMAND)
    )  # type: ignore[attr-defined]
    done = [entry for entry in log if entry.kind == Kind.BEGIN or entry.cost_s > 0]
    last_seq = done[-1].seq if done else -1
    kept = _worlds.pop(attempt.pk, None)
    if kept is not None and kept[0] == last_seq:
        return kept[1]
    saved = Checkpoint.objects.filter(
        attempt_id=attempt.pk, after_seq=last_seq, code_digest=world_digest(attempt.lab_slug)
    ).first()
    if saved is not None:
        world: Incident = pickle.loads(zlib.decompress(saved.blob))  # noqa: S301  (our own bytes, from our own table)
        return world
    return rebuild(attempt, done, progress)


def rebuild(
    attempt: Attempt, log: list[Action], progress: incident.Progress | None = None
) -> Incident:
    """Return the world that an attempt's log leads to, computed anew."""
    world = incident.begin(attempt.spec, attempt.seed, progress=progress)
    for entry in log:
        if entry.kind == Kind.COMMAND:
            parsed = console.parse(entry.payload["line"])
            if isinstance(parsed, console.Command):
                incident.perform(world, parsed, (entry.outcome or {}).get("number", 0), progress)
    return world


def _keep(attempt_id: int, seq: int, world: Incident) -> None:
    _worlds[attempt_id] = (seq, world)
    while len(_worlds) > WORLDS_KEPT:
        _worlds.popitem(last=False)


class _Teller:
    """Stores progress and heartbeat while an action runs; stops it when it was cancelled or taken over."""

    def __init__(self, action: Action) -> None:
        self._action = action
        self._told_at = 0.0

    def __call__(self, share: float, doing: str) -> None:
        now = time.monotonic()
        if now - self._told_at < TELL_EVERY_S:
            return
        self._told_at = now
        own = Action.objects.filter(
            pk=self._action.pk, tries=self._action.tries, status=Status.RUNNING
        )
        told = own.filter(cancel_requested=False).update(
            progress=share, doing=doing[:80], heartbeat_at=timezone.now()
        )
        if told != 1:
            raise Stopped
        doorbell.ring(self._action.attempt_id)


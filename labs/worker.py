"""The work behind an action: claimed, performed, stored, cancelled, taken up again.

A worker claims the row by one UPDATE, rebuilds the world (from a checkpoint where there is one), performs the command, and
stores the outcome by one UPDATE that succeeds only while the action is still its own. Messages may be lost or come
twice.

Which world that is, ``Worlds`` says. An action of a live attempt is performed on the engine by whoever holds its lease
(``labs.live_session``); a worker leaves it alone.
"""

from __future__ import annotations

import logging
import time
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import F
from django.utils import timezone

from labs import checkpoints, console, doorbell, incident, outbox
from labs.models import Action, Attempt

if TYPE_CHECKING:
    from collections.abc import Callable

    from labs.incident import Incident, Outcome, Progress

logger = logging.getLogger(__name__)

MAX_TRIES = 3
TELL_EVERY_S = 0.25
Kind, Status = Action.Kind, Action.Status


class Stopped(Exception):  # noqa: N818
    """The action is no longer this worker's: cancelled, or taken up by another."""


class GivenUp(Exception):  # noqa: N818
    """There is no world to perform on any more: its engine is gone, or the lease on it."""


@dataclass(frozen=True)
class Worlds:
    """Where an action finds the world that it is performed on, and what is kept of that afterwards."""

    begin: Callable[[Attempt, Progress], Incident]
    """Bring a new world to its page."""
    before: Callable[[Action, Progress], Incident]
    """Return the world as a command finds it."""
    packed: Callable[[Incident], bytes]
    """Return a world's bytes for a checkpoint; none for a world that is not kept so."""
    keep: Callable[[Action, Incident], None]
    """Keep a world at hand after an action that moved it."""
    forget: Callable[[int], None]
    """Drop the world of an attempt: it may be half-way through an action."""


SIMULATED = Worlds(
    begin=lambda attempt, tell: incident.begin(attempt.spec, attempt.seed, progress=tell),
    before=checkpoints.world_before,
    packed=checkpoints.packed,
    keep=lambda action, world: checkpoints.keep(action.attempt_id, action.seq, world),
    forget=checkpoints.forget,
)


def execute_action(action_id: int) -> None:
    """Perform a queued action on its simulated world, or mark its attempt, and store the outcome.

    Safe to call twice: an action that is not queued is left alone, and so is one that belongs to the holder of a lease.
    """
    if not Action.objects.filter(pk=action_id).for_any_worker().exists():
        logger.info("action %s is for no worker; leaving it alone", action_id)
        return
    work(action_id, SIMULATED)


def work(
    action_id: int,
    worlds: Worlds,
    *,
    doing: str = "Rebuilding the world",
    breathe: Callable[[], None] = lambda: None,
    bear: Callable[[], None] | None = None,
) -> bool:
    """Claim a queued action, perform it on its world, store the outcome; False if it was not queued.

    Each try writes only while the action is still its own, so a try that was given up for dead changes nothing.
    ``breathe`` is called with every progress; a ``GivenUp`` that it or the world raises ends the try and reaches the
    caller, who sees to the action. With ``bear``, a world that cannot be had twice goes on while the database is away:
    it is called instead, again and again, and raises when it was long enough.
    """
    claimed = Action.objects.filter(pk=action_id).move(
        Status.QUEUED,
        Status.RUNNING,
        tries=F("tries") + 1,
        heartbeat_at=timezone.now(),
        progress=0.0,
        doing=doing,
    )
    if not claimed:
        logger.info("action %s is not queued; leaving it alone", action_id)
        return False
    action = Action.objects.select_related("attempt").get(pk=action_id)
    doorbell.ring(action.attempt_id)
    try:
        _perform(action, worlds, _Teller(action, breathe, bear), bear)
    except Stopped:
        worlds.forget(action.attempt_id)
        own = Action.objects.filter(pk=action.pk, tries=action.tries, cancel_requested=True)
        own.move(Status.RUNNING, Status.CANCELLED, done_at=timezone.now())
    except GivenUp:
        worlds.forget(action.attempt_id)
        raise
    except Exception:
        worlds.forget(action.attempt_id)
        logger.exception("action %s could not be run, try %s", action.pk, action.tries)
        _put_back(action, "it raised")
    doorbell.ring(action.attempt_id)
    return True


def tend() -> int:
    """Send what was not sent, and put back what went silent. Returns how many actions were put back."""
    now = timezone.now()
    outbox.send_late(now)
    back = 0
    # Those of live attempts are seen to with their leases.
    ours = Action.objects.for_any_worker()
    silent = ours.silent_since(now - timedelta(seconds=settings.LABS_SILENCE_S))
    for action in silent.only("pk", "tries", "attempt_id"):
        back += _put_back(action, "its worker went silent")
    # A message that the broker lost: the row still waits, and nobody has claimed it.
    long_ago = now - timedelta(seconds=settings.LABS_FORGOTTEN_S)
    forgotten = ours.filter(status=Status.QUEUED, created_at__lt=long_ago)
    for action_id in forgotten.values_list("pk", flat=True):
        if not outbox.posted_since(action_id, long_ago):
            with transaction.atomic():
                outbox.post(action_id)
    return back


def _put_back(action: Action, why: str) -> bool:
    """Queue a running action again, or fail it after MAX_TRIES; False if it has moved meanwhile."""
    rows = Action.objects.filter(pk=action.pk, tries=action.tries)
    with transaction.atomic():
        if action.tries < MAX_TRIES:
            moved = rows.move(Status.RUNNING, Status.QUEUED, progress=0.0, doing="")
            if moved:
                outbox.post(action.pk)
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


def _perform(
    action: Action, worlds: Worlds, tell: Progress, bear: Callable[[], None] | None = None
) -> None:
    if action.kind == Kind.FINISH:
        from labs import marks  # noqa: PLC0415  (numpy is loaded by the workers that mark, not by every page)

        if not marks.mark_attempt(action, tell):
            raise Stopped
        return
    attempt = action.attempt
    number = 0
    if action.kind == Kind.BEGIN:
        world = worlds.begin(attempt, tell)
        outcome = incident.Outcome("begin", "", 0)
    else:
        world = worlds.before(action, tell)
        parsed = console.parse(action.payload["line"])
        if isinstance(parsed, console.Refusal):
            raise TypeError(f"a refused line was queued: {parsed.message}")
        commands = Action.objects.filter(attempt=attempt, kind=Kind.COMMAND, status=Status.DONE)
        number = commands.count() + 1
        outcome = incident.perform(world, parsed, number, tell)
    while True:
        try:
            _store(action, worlds, world, outcome, number)
        except DatabaseError:
            if bear is None:
                raise
            bear()
            time.sleep(TELL_EVERY_S)
        else:
            break
    if outcome.cost_s > 0 or action.kind == Kind.BEGIN:
        worlds.keep(action, world)


def _store(action: Action, worlds: Worlds, world: Incident, outcome: Outcome, number: int) -> None:
    """Write outcome, clock, panel and checkpoint in one transaction, if the action is still this try's."""
    attempt = action.attempt
    status = Status.REFUSED if outcome.kind == "refused" else Status.DONE
    data = asdict(outcome)
    if number and status == Status.DONE:
        data["number"] = number
    moves = outcome.cost_s > 0 or action.kind == Kind.BEGIN
    blob = worlds.packed(world) if moves else b""
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
            if blob:
                checkpoints.store(action, blob)


def panel(world: Incident, earlier: dict[str, Any]) -> dict[str, Any]:
    """Return what the room shows free of charge: gauges now, and the alarm's series, extending the earlier one.

    ``hurt`` is for whoever looks back: [incident second, users hurt since the page, how many more a minute].
    """
    known = [tuple(point) for point in earlier.get("alarm", [])]
    from_s = known[-1][0] + 1 if known else world.spec.timeline.healthy_from_s
    new = incident.alarm_series(world, from_s=from_s)
    now = incident.gauges(world)
    hurt = (world.clock_s, now.users_hurt, now.hurt_per_minute)
    return {
        "gauges": asdict(now),
        "alarm": [*known, *new],
        "hurt": [*earlier.get("hurt", []), hurt],
    }


class _Teller:
    """Stores progress and heartbeat while an action runs; stops it when it was cancelled or taken over."""

    def __init__(
        self, action: Action, breathe: Callable[[], None], bear: Callable[[], None] | None
    ) -> None:
        self._action = action
        self._breathe = breathe
        self._bear = bear
        self._told_at = 0.0
        self.last = (0.0, action.doing)
        """What it was told last: a world whose pieces are long tells it again."""

    def __call__(self, share: float, doing: str) -> None:
        self.last = (share, doing)
        self._breathe()
        now = time.monotonic()
        if now - self._told_at < TELL_EVERY_S:
            return
        self._told_at = now
        own = Action.objects.filter(
            pk=self._action.pk, tries=self._action.tries, status=Status.RUNNING
        )
        try:
            told = own.filter(cancel_requested=False).update(
                progress=share, doing=doing[:80], heartbeat_at=timezone.now()
            )
        except DatabaseError:
            if self._bear is None:
                raise
            self._bear()
            return
        if told != 1:
            raise Stopped
        doorbell.ring(self._action.attempt_id)

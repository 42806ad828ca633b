"""Nothing of a lease outlives it: silent holders are noticed by whoever looks, processes and faults by their box.

``tend`` runs where beat's tasks run, anywhere; ``sweep_box`` on the box, in its supervisor and before each claim.
"""

from __future__ import annotations

import logging
import os
import shutil
import socket
import time
from collections import deque
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from labs import lease_order, leases
from labs.live import guard
from labs.models import Action, Attempt, Lease, Outbox

if TYPE_CHECKING:
    from datetime import datetime

    from labs.live.guard import Process

logger = logging.getLogger(__name__)

LOG_LINES = 200
LOG_BYTES = 200_000
"""The most of a log's end that is read for them."""
FOLDERS_KEPT_S = 7 * 24 * 60 * 60
RING_AGAIN_S = 15
GUARDS_TAKE_S = 2
"""A guard that was told to end needs this much longer than its engine."""
Reason, Status = Lease.Reason, Lease.Status


# -------------------------------------------------------------------------------- from anywhere


def tend() -> int:
    """End what went silent or ran over, and ring again for who waits. Returns how many leases it ended or put back."""
    now = timezone.now()
    silence = timedelta(seconds=settings.LIVE_SILENCE_S)
    moved = sum(lost(each) for each in Lease.objects.silent_since(now - silence))
    for each in Lease.objects.held().filter(deadline_at__lt=now - silence):
        # Its holder lives and does not look: a call to the engine hangs. What it holds is swept once it has ended.
        late = Reason.START_TIMEOUT if each.status == Status.STARTING else Reason.DEADLINE
        moved += leases.end(each, late, of_try=each.tries)
    for each in Lease.objects.queued().exclude(attempt__status=Attempt.Status.OPEN):
        moved += leases.end(each, Reason.FINISHED, while_queued=True)
    _let_strays_go(now)
    _ring_again(now)
    return moved


def lost(lease: Lease) -> bool:
    """See to a lease whose holder is gone: queued again if it had only started, ended otherwise."""
    if lease.cancel_requested:
        return leases.end(lease, Reason.CANCELLED, of_try=lease.tries)
    if lease.status == Status.STARTING and lease.tries < leases.MAX_TRIES:
        return leases.put_back(lease)
    return leases.end(lease, Reason.WORKER_LOST, of_try=lease.tries)


def _let_strays_go(now: datetime) -> None:
    """Cancel actions that were queued for an engine in the instant in which its lease ended."""
    strays = Action.objects.under_way().filter(
        attempt__backend=Attempt.Backend.LIVE,
        created_at__lt=now - timedelta(seconds=settings.LABS_FORGOTTEN_S),
    )
    held = Lease.objects.unended().values("attempt")
    waiting = strays.exclude(kind=Action.Kind.FINISH).exclude(attempt__in=held)
    for attempt_id in set(waiting.values_list("attempt", flat=True)):
        with transaction.atomic():
            leases.let_go(attempt_id)


def _ring_again(now: datetime) -> None:
    """Ring for who is next while a box stands idle: the message may have been lost, or have come to a box that was busy."""
    if not Lease.objects.queued().exists():
        return
    held = set(Lease.objects.held().values_list("box", flat=True))
    lately = now - timedelta(seconds=RING_AGAIN_S)
    rung = Outbox.objects.filter(task=leases.HOLD, created_at__gt=lately).exists()
    if not rung and (not held or lease_order.boxes_up(now) - held):
        with transaction.atomic():
            leases.ring_for_next()


# ---------------------------------------------------------------------------------- on the box


@dataclass
class Swept:
    """What a sweep of a box did."""

    leases: list[str] = field(default_factory=list)
    """Those whose holder was gone."""
    processes: set[int] = field(default_factory=set)
    """Ids of those that it told to end."""
    stuck: list[Process] = field(default_factory=list)
    """Those that SIGKILL did not end."""
    not_undone: list[str] = field(default_factory=list)
    """A sentence for each command of a ledger that failed: what it should have set back is still changed."""
    problems: list[str] = field(default_factory=list)
    """All of it, in sentences."""

    @property
    def in_the_way(self) -> list[str]:
        """Return why this box takes no lease: its devices are not free, or not as they were found."""
        return [*self.told_stuck, *self.not_undone]

    @property
    def told_stuck(self) -> list[str]:
        """Return a sentence for each process that cannot be ended: until it is gone, its devices are not free."""
        return [f"Process {each.pid} has no lease and cannot be ended." for each in self.stuck]


def host() -> str:
    """Return the name of this machine, as leases store it."""
    return socket.gethostname()


def myself() -> list[int]:
    """Return this process as leases store it: its id, and its start."""
    me = guard.process(os.getpid())
    return [os.getpid(), me.started if me else 0]


def folder_of(lease_id: str) -> Path:
    """Return where a box keeps what it needs of a lease: logs, and the ledger of what is to be undone."""
    return Path(settings.LIVE_DIR) / lease_id


def ledger_of(lease_id: str) -> Path:
    return folder_of(lease_id) / "ledger"


def sweep_box(*, idle: bool = False) -> Swept:
    """End leases of this machine whose holder is gone, processes of leases that have ended, and what they left undone.

    With ``idle``, this process is a holder that holds nothing: a lease that names it is lost too.
    """
    swept = Swept()
    for each in Lease.objects.held().filter(host=host()):
        if not _is_held(each, idle=idle) and lost(each):
            swept.leases.append(str(each.public_id))
    _end_processes(swept)
    _undo(swept)
    _keep_logs()
    _forget_folders()
    for problem in swept.problems:
        logger.error("%s", problem)
    if swept.processes:
        logger.warning("ended processes without a lease: %s", sorted(swept.processes))
    return swept


def clear(lease: Lease) -> list[str]:
    """End what is left of one lease's processes, and undo its faults; return what could not be done."""
    name, place = str(lease.public_id), settings.LIVE_DIR
    left = guard.end_all(
        lambda: [each for each, of in guard.marked(place) if of == name],
        grace_s=settings.LIVE_GRACE_S + GUARDS_TAKE_S,
    )
    problems = [f"Process {each.pid} of lease {name} cannot be ended." for each in left]
    return [*problems, *guard.undo(ledger_of(name))]


def tail(path: Path, lines: int = LOG_LINES) -> str:
    """Return the last lines of a log; empty if there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - LOG_BYTES))
            kept = deque(file.read(LOG_BYTES).decode(errors="replace").splitlines(), maxlen=lines)
    except OSError:
        return ""
    # No database takes a null byte in a text.
    return "\n".join(kept).replace("\0", "")


def _is_held(lease: Lease, *, idle: bool) -> bool:
    """Whether the process that holds a lease of this machine is alive; one that does not say which is taken to be."""
    holder = lease.pids.get("holder")
    if not holder:
        return True
    if idle and holder == myself():
        return False
    found = guard.process(holder[0])
    return found is not None and found.started == holder[1]


def _alive() -> set[str]:
    held = Lease.objects.held().filter(host=host())
    return {str(each) for each in held.values_list("public_id", flat=True)}


def _orphans() -> list[Process]:
    """Return the processes of leases that are not held here.

    Looked for before the leases: a lease is claimed before its first process starts, and is held until its last one
    has ended, so that none is found here which is still somebody's.
    """
    found = guard.marked(settings.LIVE_DIR)
    alive = _alive() if found else set()
    return [each for each, lease in found if lease not in alive]


def _end_processes(swept: Swept) -> None:
    def look() -> list[Process]:
        found = _orphans()
        swept.processes |= {each.pid for each in found}
        return found

    swept.stuck = guard.end_all(look, grace_s=settings.LIVE_GRACE_S + GUARDS_TAKE_S)
    swept.problems += swept.told_stuck


def _undo(swept: Swept) -> None:
    """Undo what guards were killed before they could. A guard that still works has its processes, and its turn."""
    ledgers = list(Path(settings.LIVE_DIR).glob("*/ledger"))
    if not ledgers:
        return
    at_work = {lease for _, lease in guard.marked(settings.LIVE_DIR)}
    alive = _alive()
    for each in ledgers:
        if each.parent.name not in alive | at_work:
            swept.not_undone += guard.undo(each)
    swept.problems += swept.not_undone


def _keep_logs() -> None:
    """Store the end of the log of leases that ended without their holder."""
    lately = timezone.now() - timedelta(seconds=FOLDERS_KEPT_S)
    rows = Lease.objects.filter(
        host=host(), status=Status.ENDED, engine_log="", ended_at__gt=lately
    )
    for each in rows.exclude(log_path=""):
        if text := tail(Path(each.log_path)):
            leases.keep_log(each, text)


def _forget_folders() -> None:
    """Delete what leases of more than a week ago left, unless something of it is still to be undone."""
    try:
        folders = [each for each in Path(settings.LIVE_DIR).iterdir() if each.is_dir()]
    except OSError:
        return
    long_ago = time.time() - FOLDERS_KEPT_S
    for each in folders:
        if each.stat().st_mtime < long_ago and not (each / "ledger").exists():
            shutil.rmtree(each, ignore_errors=True)

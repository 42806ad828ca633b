"""The room as a whole: where the attempt stands, and its parts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from labs.models import Action, Attempt, Lease
from labs.room.beliefs import Belief, beliefs_of
from labs.room.chart import Chart
from labs.room.console_log import ConsoleLog
from labs.room.diagnosis import Citable, citable_of, diagnosis_of
from labs.room.gauges import Gauges
from labs.room.lease_card import LeaseCard, card_of
from labs.room.log import Log
from labs.room.notebook import Note, notes_of
from labs.room.phases import Phase, phases_of, wanted_in
from labs.room.tools import Tools
from labs.room.under_way import UnderWay, under_way_of

if TYPE_CHECKING:
    from labs.specs import LabSpec


@dataclass(frozen=True)
class Room:
    """One attempt, as its page shows it."""

    attempt: Attempt
    spec: LabSpec
    log: Log

    @cached_property
    def state(self) -> str:
        """preparing, predict, open, marking, not_graded, marked or given_up."""
        if self.attempt.status != Attempt.Status.OPEN:
            return self.attempt.status
        if not self.log.done(Action.Kind.BEGIN):
            return "preparing"
        return "open" if self.log.prediction else "predict"

    @cached_property
    def version(self) -> str:
        """What a page that shows this room has seen of the log; progress of an action is not in it."""
        last = self.log.actions[-1] if self.log.actions else None
        tail = f"{last.seq}.{last.status}" if last else ""
        lease = (
            f".{self.lease.lease and self.lease.lease.pk}.{self.lease.status}" if self.lease else ""
        )
        return f"{self.attempt.status}.{len(self.log.actions)}.{tail}{lease}"

    @cached_property
    def under_way(self) -> UnderWay | None:
        running = self.log.running
        if running is None or (self.attempt.is_live and _waits_to_begin(running)):
            return None
        return under_way_of(running)

    @cached_property
    def lease(self) -> LeaseCard | None:
        """The card of a live attempt's lease; None for a simulated one, and once the attempt is closed."""
        return card_of(self.attempt) if self.attempt.is_live and self.attempt.is_open else None

    # ------------------------------------------------------------------------------------- the head

    @cached_property
    def gauges(self) -> Gauges:
        begun = self.log.done(Action.Kind.BEGIN)
        runs = self.lease is not None and self.lease.status == Lease.Status.RUNNING
        return Gauges(
            self.attempt, self.spec, self.log, begun[-1].done_at if runs and begun else None
        )

    @cached_property
    def phases(self) -> list[Phase]:
        ended = self.state in {"marking", "not_graded", "marked"}
        return phases_of(self.spec, self.log, ended=ended)

    @property
    def wanted(self) -> str:
        return wanted_in(self.spec, self.log, self.phases)

    # ----------------------------------------------------------------------------------- see

    @cached_property
    def chart(self) -> Chart:
        return Chart(self.attempt, self.spec, self.log, self.gauges)

    @cached_property
    def console(self) -> ConsoleLog:
        return ConsoleLog(self.log, self.spec)

    # --------------------------------------------------------------------------------- think

    @cached_property
    def beliefs(self) -> list[Belief]:
        return beliefs_of(self.spec, self.log)

    @cached_property
    def notebook(self) -> list[Note]:
        return notes_of(self.spec, self.log)

    @cached_property
    def citable(self) -> list[Citable]:
        return citable_of(self.spec, self.log)

    @cached_property
    def diagnosed(self) -> dict[str, Any] | None:
        return diagnosis_of(self.spec, self.log)

    # ----------------------------------------------------------------------------------- act

    @cached_property
    def tools(self) -> Tools:
        return Tools(self.attempt, self.spec, self.log)


def _waits_to_begin(action: Action) -> bool:
    """Whether an action waits for the engine of its attempt: what that waits for, its lease says."""
    return action.kind == Action.Kind.BEGIN and action.status == Action.Status.QUEUED


def room_of(attempt: Attempt) -> Room:
    """Return the room of an attempt with its whole log."""
    return Room(attempt, attempt.spec, Log(list(attempt.actions.order_by("seq"))))

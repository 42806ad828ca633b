"""The session of a lease: real engines and their load behind one attempt, from the start to the stored record."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import DatabaseError, connection

from labs import live_records, live_sweep
from labs.incident import advance
from labs.live import beginning, boxes, guard, offering, servers
from labs.live_session import EngineLost
from labs.models import Lease
from labs.worker import Worlds

if TYPE_CHECKING:
    from pathlib import Path

    from labs.incident import Incident, Progress
    from labs.models import Action, Attempt

logger = logging.getLogger(__name__)

Reason = Lease.Reason
TICK_S = 0.02
ASK_EVERY_S = 0.5
"""How soon an action that is cancelled stops, at most."""
START_MARGIN_S = 10.0
"""The first start is ended by the lease's clock, which says why; this is for restarts."""
KEEP_EVERY_S = 30.0
"""Of the record, beside the end: what is left of a world whose holder is killed."""


def session_of(lease: Lease) -> EngineSession:
    """Return the session of a lease, nothing of it started. Raises EngineLost for an attempt whose lab is gone."""
    return EngineSession(lease)


class EngineSession:
    """The ``Session`` of a live lab; see ``labs.live_session``."""

    def __init__(self, lease: Lease) -> None:
        self.attempt: Attempt = lease.attempt
        self.folder: Path = live_sweep.folder_of(str(lease.public_id))
        self.lease_id = str(lease.public_id)
        self.incident: Incident | None = None
        self.came_to_page = False
        self.kept_at = 0.0
        self.asked_at = 0.0

    # ------------------------------------------------------------------------- what a holder wants

    @property
    def worlds(self) -> Worlds:
        """Where actions are performed: on the one world that there is."""
        return Worlds(
            begin=self._begin,
            before=self._before,
            packed=lambda world: b"",
            keep=lambda action, world: self._keep(),
            forget=lambda attempt_id: None,
        )

    @property
    def pids(self) -> dict[str, list[int]]:
        """Return the guards of its engines, each with its start."""
        found: dict[str, list[int]] = {}
        for replica, each in enumerate(self._replicas()):
            process = None if each.server is None else each.server.process
            if process is not None:
                seen = guard.process(process.pid)
                if seen is not None:
                    found[f"engine-{replica}"] = [seen.pid, seen.started]
        return found

    @property
    def log_path(self) -> str:
        """Return the log of the engine that failed, if one has; else the first one's."""
        failed = [each.log_path for each in self._replicas() if each.failure and each.log_path]
        return str(failed[0] if failed else self.folder / "engine-0.log")

    def start(self, tell: Progress) -> None:
        """Start the engines. Raises EngineLost, or what ``tell`` raises."""
        try:
            box = boxes.box(settings.LIVE_PROFILE)
            self.incident = beginning.waking(
                self.attempt.spec,
                self.attempt.seed,
                box,
                folder=self.folder,
                marks=guard.marks(self.lease_id, settings.LIVE_DIR),
                ledger=live_sweep.ledger_of(self.lease_id),
                ready_within_s=settings.LIVE_START_S + START_MARGIN_S,
            )
            beginning.begin(self.incident, tell)
        except offering.NotServed as exc:
            raise EngineLost(f"This box cannot play the incident: {exc}.") from exc
        except (servers.EngineError, boxes.BoxError, LookupError) as exc:
            raise EngineLost(str(exc)) from exc

    def serve(self, until: float) -> None:
        """Let the load run until ``time.monotonic`` is ``until``. Raises EngineLost once the engine is gone."""
        cluster = beginning.cluster_of(self._world())
        while True:
            cluster.keep_up()
            self._require_engine()
            if time.monotonic() >= until:
                return
            time.sleep(TICK_S)

    def follow(self, tell: Progress) -> None:
        """Let the world run on after "done" for as long as its mark looks. Raises what ``tell`` raises, EngineLost."""
        world = beginning.at_now(self._world())
        plan = world.spec.mitigation
        # What was done last, the mark counts from there: whoever wrote for minutes since has been watched already.
        self.attempt.refresh_from_db(fields=["clock_s"])
        until_s = self.attempt.clock_s + plan.settle_s + plan.window_s + plan.follow_s
        advance(world, until_s, self._breathing(tell, "Watching whether it holds: "))

    def stop(self) -> None:
        """End the load and every engine, and store what was seen until then."""
        if self.incident is None:
            return
        try:
            # Before the streams are cut off: nobody's client has left.
            record = self._taken() if self.came_to_page else None
        finally:
            self._close()
        if record is not None:
            self._store_at_last(record)

    def _close(self) -> None:
        cluster = beginning.cluster_of(self._world())
        try:
            cluster.close()
        except Exception:
            # Whoever holds the lease ends what is left; the record is stored all the same.
            logger.exception("the world of lease %s was not closed by itself", self.lease_id)
        for problem in cluster.not_undone:
            logger.error(
                "lease %s: not undone, and tried again by every sweep: %s", self.lease_id, problem
            )

    # ---------------------------------------------------------------------------------- its world

    def _world(self) -> Incident:
        if self.incident is None:
            raise EngineLost("")
        return self.incident

    def _replicas(self) -> list[beginning.Replica]:
        return [] if self.incident is None else beginning.cluster_of(self.incident).replicas

    def _require_engine(self) -> None:
        for each in self._replicas():
            if each.is_lost:
                raise EngineLost(str(each.failure or ""))

    def _keep(self) -> None:
        """Store the record now and then: a holder that is killed leaves what was seen until the last time."""
        if time.monotonic() - self.kept_at < KEEP_EVERY_S:
            return
        self.kept_at = time.monotonic()
        try:
            live_records.store(self.attempt, self._taken())
        except DatabaseError:
            logger.exception("the record of %s is stored later", self.attempt)

    def _taken(self) -> dict[str, Any]:
        return live_records.taken(
            self._world(), box=settings.LIVE_BOX, profile=settings.LIVE_PROFILE
        )

    def _store_at_last(self, record: dict[str, Any]) -> None:
        """Store the whole record; a database that is away is waited for, as long as a holder may be silent."""
        give_up_at = time.monotonic() + settings.LIVE_SILENCE_S / 2
        while True:
            try:
                live_records.store(self.attempt, record)
            except DatabaseError:
                connection.close()
                if time.monotonic() >= give_up_at:
                    raise
                time.sleep(ASK_EVERY_S)
            else:
                return

    def _breathing(self, tell: Progress, words: str = "") -> Progress:
        """Return ``tell`` as an advance calls it, and have the world call it meanwhile: its pieces may be long.

        So an engine that is lost, a cancelled action and a lease that is over are noticed within a second.
        """
        last = (0.0, "At the engine")

        def told(share: float, doing: str) -> None:
            nonlocal last
            last = (share, doing)
            self._require_engine()
            tell(share, f"{words}{doing}")

        def moment() -> None:
            self._require_engine()
            if time.monotonic() - self.asked_at >= ASK_EVERY_S:
                self.asked_at = time.monotonic()
                tell(*getattr(tell, "last", (last[0], f"{words}{last[1]}")))

        beginning.cluster_of(self._world()).breathe = moment
        return told

    def _begin(self, attempt: Attempt, tell: Progress) -> Incident:
        del attempt
        world = self._world()
        try:
            beginning.come_to_page(world, self._breathing(tell))
        except beginning.NoIncident as exc:
            raise EngineLost(str(exc), Reason.NO_INCIDENT) from exc
        except servers.EngineError as exc:  # A world without its fault would be another one.
            raise EngineLost(str(exc)) from exc
        self.came_to_page = True
        return beginning.at_now(world)

    def _before(self, action: Action, tell: Progress) -> Incident:
        del action
        world = self._world()
        self._breathing(tell)
        self._require_engine()
        return beginning.at_now(world)

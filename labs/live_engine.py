"""The session of a lease: real engines and their load behind one attempt, from the start to the stored record."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from django.conf import settings

from labs import live_records, live_sweep
from labs.incident import advance
from labs.live import beginning, boxes, guard, servers
from labs.live_session import EngineLost
from labs.worker import Worlds

if TYPE_CHECKING:
    from pathlib import Path

    from labs.incident import Incident, Progress
    from labs.models import Action, Attempt, Lease

TICK_S = 0.02


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

    # ------------------------------------------------------------------------- what a holder wants

    @property
    def worlds(self) -> Worlds:
        """Where actions are performed: on the one world that there is."""
        return Worlds(
            begin=self._begin,
            before=self._before,
            packed=lambda world: b"",
            keep=lambda action, world: None,
            forget=lambda attempt_id: None,
        )

    @property
    def pids(self) -> dict[str, list[int]]:
        """Return the guards of its engines, each with its start."""
        found: dict[str, list[int]] = {}
        for replica, each in enumerate(self._replicas()):
            if each.server is not None:
                seen = guard.process(each.server.process.pid)
                if seen is not None:
                    found[f"engine-{replica}"] = [seen.pid, seen.started]
        return found

    @property
    def log_path(self) -> str:
        """Return the log of the first engine."""
        return str(self.folder / "engine-0.log")

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
            )
            beginning.begin(self.incident, tell)
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
        world = self._world()
        plan = world.spec.mitigation
        done_s = beginning.at_now(world).clock_s
        until_s = done_s + plan.settle_s + plan.window_s + plan.follow_s

        def watching(share: float, doing: str) -> None:
            self._require_engine()
            tell(share, f"Watching whether it holds: {doing}")

        advance(world, until_s, watching)

    def stop(self) -> None:
        """Store what was seen, and end the load and every engine."""
        if self.incident is None:
            return
        try:
            if self.came_to_page:
                live_records.store(
                    self.attempt,
                    self.incident,
                    box=settings.LIVE_BOX,
                    profile=settings.LIVE_PROFILE,
                )
        finally:
            beginning.cluster_of(self.incident).close()

    # ---------------------------------------------------------------------------------- its world

    def _world(self) -> Incident:
        if self.incident is None:
            raise EngineLost("")
        return self.incident

    def _replicas(self) -> list[beginning.Replica]:
        return [] if self.incident is None else beginning.cluster_of(self.incident).replicas

    def _require_engine(self) -> None:
        for each in self._replicas():
            if each.is_dead:
                raise EngineLost(str(each.failure or ""))

    def _begin(self, attempt: Attempt, tell: Progress) -> Incident:
        del attempt
        world = self._world()

        def running(share: float, doing: str) -> None:
            self._require_engine()
            tell(share, doing)

        advance(world, 0, running)
        self.came_to_page = True
        return beginning.at_now(world)

    def _before(self, action: Action, tell: Progress) -> Incident:
        del action, tell
        self._require_engine()
        return beginning.at_now(self._world())

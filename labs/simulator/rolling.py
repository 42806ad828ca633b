"""Replicas that are replaced one after another, for ever: a fleet on machines that come and go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labs.simulator.lifetime import ColdRestart, Drain, StartUp, Undrain

if TYPE_CHECKING:
    from labs.simulator.cluster import Cluster


@dataclass(slots=True, frozen=True)
class Rollout:
    """How replicas are replaced from now on; the front keeps it, so that it can be changed between two turns."""

    start_up: StartUp
    drain_s: float
    """From out of rotation to the end of the old process."""

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Keep to it."""
        del at_s
        cluster.front.rollout = self


@dataclass(slots=True, frozen=True)
class Rolling:
    """Every ``every_s`` one replica is drained and replaced, in turn."""

    every_s: float
    replicas: int
    turn: int = 0

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Drain the replica whose turn it is, and come again."""
        rollout, replica = cluster.front.rollout, self.turn % self.replicas
        if rollout is None:
            raise ValueError("a fleet that rolls needs front.rollout")
        Drain(replica).strike(cluster, at_s)
        cluster.schedule(at_s + rollout.drain_s, Replace(replica))
        cluster.schedule(at_s + self.every_s, Rolling(self.every_s, self.replicas, self.turn + 1))


@dataclass(slots=True, frozen=True)
class Replace:
    """One replica ends and starts anew, as the rollout says now; it is in rotation as soon as it says that it is ready."""

    replica: int

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Replace it."""
        rollout = cluster.front.rollout
        if rollout is None:
            raise ValueError("a fleet that rolls needs front.rollout")
        ColdRestart(self.replica, rollout.start_up).strike(cluster, at_s)
        Undrain(self.replica).strike(cluster, at_s)

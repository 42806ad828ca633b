"""Replicas that are taken out, told to stop and replaced in turn, for ever, with streams in flight.

Three clocks run from the moment at which a replica is picked: the router's, which learns after ``removal_s`` that it
must send nothing more there; the stop's, which comes after ``pre_stop_s``; and from the stop on the server's own,
``shutdown_timeout_s``, within which it ends what runs. What a server does with each is ``lifetime.ShutDown``'s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labs.simulator.lifetime import ColdRestart, Drain, ShutDown, StartUp, Undrain

if TYPE_CHECKING:
    from labs.simulator.cluster import Cluster

LOOK_EVERY_S = 1.0
"""How often whoever replaces machines looks whether the old server has gone. Scenario constant."""


@dataclass(slots=True, frozen=True)
class Turnover:
    """How replicas are replaced; the front keeps it, so that it can be changed between two stops."""

    start_up: StartUp
    removal_s: float
    """From the choice of a replica until the router sends nothing more to it."""
    pre_stop_s: float
    """From the choice of a replica until its server gets SIGTERM."""
    shutdown_timeout_s: float
    """``--shutdown-timeout``: from SIGTERM until what still runs is cut off."""
    is_held: bool = False
    """True: nothing is replaced for now."""

    def __post_init__(self) -> None:
        """Refuse negative times."""
        if min(self.removal_s, self.pre_stop_s, self.shutdown_timeout_s) < 0:
            raise ValueError(f"a time cannot be negative: {self}")

    @property
    def stream_allowance_s(self) -> float:
        """How long the last stream that the router sends has, before it is cut off."""
        return max(0.0, self.pre_stop_s - self.removal_s) + self.shutdown_timeout_s

    @property
    def late_s(self) -> float:
        """How long the router may go on sending to a server that was told to stop."""
        return max(0.0, self.removal_s - self.pre_stop_s)

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Keep to it."""
        del at_s
        cluster.front.turnover = self


@dataclass(slots=True, frozen=True)
class Stop:
    """One SIGTERM, as whoever sent it wrote it down. Times are the world's, seconds."""

    replica: int
    chosen_s: float
    """When it was picked to be replaced."""
    removed_s: float
    """When the router learns of it, if the server lives so long."""
    term_s: float
    shutdown_timeout_s: float
    in_flight: int
    """Requests that had not ended at SIGTERM."""


def turnover_of(cluster: Cluster) -> Turnover:
    """Return how replicas are replaced now. Raises ValueError where they are not."""
    turnover = cluster.front.turnover
    if turnover is None:
        raise ValueError("a fleet whose replicas are replaced needs front.turnover")
    return turnover


@dataclass(slots=True, frozen=True)
class Turn:
    """Every ``every_s`` one replica is picked, taken out, told to stop and replaced, in turn."""

    every_s: float
    replicas: int
    turn: int = 0

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Pick the replica whose turn it is, unless all are held, and come again."""
        turnover, replica = turnover_of(cluster), self.turn % self.replicas
        turn = self.turn
        if not turnover.is_held:
            removed_s = at_s + turnover.removal_s
            cluster.schedule(removed_s, Drain(replica))
            cluster.schedule(at_s + turnover.pre_stop_s, Terminate(replica, at_s, removed_s))
            turn += 1
        cluster.schedule(at_s + self.every_s, Turn(self.every_s, self.replicas, turn))


@dataclass(slots=True, frozen=True)
class Terminate:
    """The server of one replica gets SIGTERM, with the time that the turnover gives it by now."""

    replica: int
    chosen_s: float
    removed_s: float

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Write the stop down, and send the signal."""
        timeout_s = turnover_of(cluster).shutdown_timeout_s
        in_flight = cluster.engines[self.replica].num_unfinished
        cluster.front.stops.append(
            Stop(self.replica, self.chosen_s, self.removed_s, at_s, timeout_s, in_flight)
        )
        ShutDown(self.replica, timeout_s).strike(cluster, at_s)
        cluster.schedule(at_s + LOOK_EVERY_S, Renew(self.replica))


@dataclass(slots=True, frozen=True)
class Renew:
    """Another machine takes one replica's place, once its server has gone and the router has taken it out."""

    replica: int

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Start the new server, or look again."""
        is_gone = cluster.engines[self.replica].is_dead
        if not is_gone or self.replica not in cluster.front.drained:
            cluster.schedule(at_s + LOOK_EVERY_S, self)
            return
        ColdRestart(self.replica, turnover_of(cluster).start_up).strike(cluster, at_s)
        Undrain(self.replica).strike(cluster, at_s)

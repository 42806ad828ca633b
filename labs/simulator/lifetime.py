"""The life of a replica: how it starts, when it says that it is ready, and how it ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from labs.simulator.pauses import Pause

if TYPE_CHECKING:
    from labs.simulator.cluster import Cluster
    from labs.simulator.config import EngineConfig
    from labs.simulator.cost_model import CostModel


@dataclass(slots=True, frozen=True)
class StartUp:
    """How long each phase of an engine's start takes, in order, seconds; and which of them readiness waits for.

    The order is vLLM 0.32.0's: process, weights, profile run and KV pool, graph capture and warm-up. The
    durations are a scenario's.
    """

    process_s: float
    """Until the process has its context on the accelerators."""
    weights_s: float
    profile_s: float
    warm_up_s: float
    """Graph capture and the first run of each kernel."""
    readiness: Literal["after_warm_up", "before_warm_up"] = "after_warm_up"
    """Before: the first requests pay for the warm-up, in the first steps that they cause."""
    cold_steps: int = 16
    """Over how many first steps the warm-up is spread if readiness comes before it: shapes met for the first time."""

    def __post_init__(self) -> None:
        """Refuse negative durations."""
        if min(self.process_s, self.weights_s, self.profile_s, self.warm_up_s) < 0:
            raise ValueError(f"a phase cannot take less than no time: {self}")
        if self.cold_steps < 1:
            raise ValueError(f"cold_steps must be at least 1: {self}")

    def phases(self) -> tuple[tuple[str, float, float], ...]:
        """Return (name, from, to) of each phase, seconds after the start; a phase left to requests is not among them."""
        phases = []
        at_s = 0.0
        for name in ("process", "weights", "profile", "warm_up"):
            if name == "warm_up" and self.readiness == "before_warm_up":
                break
            lasts_s = getattr(self, f"{name}_s")
            phases.append((name, at_s, at_s + lasts_s))
            at_s += lasts_s
        return tuple(phases)

    @property
    def ready_after_s(self) -> float:
        """From the start until the readiness probe succeeds, seconds."""
        return self.phases()[-1][2]

    @property
    def cold(self) -> tuple[Pause, ...]:
        """What the first steps lose because they come before the warm-up."""
        if self.readiness == "after_warm_up" or not self.warm_up_s:
            return ()
        return (Pause(self.warm_up_s / self.cold_steps, every_steps=1, times=self.cold_steps),)


@dataclass(slots=True, frozen=True)
class Scale:
    """One more replica starts now; the router uses it from when it says that it is ready."""

    start_up: StartUp
    config: EngineConfig | None = None
    cost: CostModel | None = None

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Start it."""
        replica = cluster.add_replica(at_s + self.start_up.ready_after_s, self.config, self.cost)
        cluster.engines[replica].set_pauses(self.start_up.cold)


@dataclass(slots=True, frozen=True)
class ColdRestart:
    """One replica restarts, with the phases of its start; what waited for it waits on."""

    replica: int
    start_up: StartUp
    config: EngineConfig | None = None
    cost: CostModel | None = None

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Restart it."""
        del at_s
        engine = cluster.engines[self.replica]
        cluster.restart_engine(
            self.replica,
            self.config or engine.config,
            self.cost or engine.cost,
            self.start_up.ready_after_s,
        )
        lasting = tuple(pause for pause in engine.pauses if pause.times is None)
        engine.set_pauses((*lasting, *self.start_up.cold))


@dataclass(slots=True, frozen=True)
class Drain:
    """The router sends nothing more to one replica; what runs there runs on."""

    replica: int

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Take it out of rotation."""
        del at_s
        cluster.front.drained.add(self.replica)


@dataclass(slots=True, frozen=True)
class Undrain:
    """One replica is back in rotation."""

    replica: int

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Put it back."""
        del at_s
        cluster.front.drained.discard(self.replica)


@dataclass(slots=True, frozen=True)
class ShutDown:
    """The server of one replica gets SIGTERM.

    With ``shutdown_timeout_s`` 0 (vLLM's default) the engine is killed at once, its port closes, and clients
    who stream from it hear neither an error nor an end. Above 0, what runs finishes, new requests get 500 while
    ``/health`` stays 200, so that the router goes on sending them; then the process ends.

    Source: vLLM 0.32.0 with ``--shutdown-timeout`` 0, 4 and 30. With 4, streams that came after SIGTERM got 200, no token and
    their end: a gateway that waits for the first token makes a 500 of that.
    """

    replica: int
    shutdown_timeout_s: float = 0.0

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Send the signal."""
        del at_s
        cluster.stop_engine(self.replica, self.shutdown_timeout_s)


@dataclass(slots=True, frozen=True)
class Readiness:
    """The readiness probe of one replica fails, or succeeds again; the engine itself is what it was."""

    replica: int
    is_ready: bool

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Take it out of the router's sight, or put it back."""
        del at_s
        if self.is_ready:
            cluster.front.unready.discard(self.replica)
        else:
            cluster.front.unready.add(self.replica)


@dataclass(slots=True, frozen=True)
class ReadinessFlap:
    """The readiness probe of one replica fails for ``down_s``, every ``every_s`` until ``until_s``."""

    replica: int
    down_s: float
    every_s: float
    until_s: float

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Fail, and come again."""
        Readiness(self.replica, is_ready=False).strike(cluster, at_s)
        cluster.schedule(at_s + self.down_s, Readiness(self.replica, is_ready=True))
        if at_s + self.every_s <= self.until_s:
            cluster.schedule(at_s + self.every_s, self)


@dataclass(slots=True, frozen=True)
class AbortsIgnored:
    """Cancelled requests run on to their length on one replica, and hold their KV till then."""

    replica: int

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Ignore aborts from now on."""
        del at_s
        cluster.engines[self.replica].set_aborts(run_on=True)


@dataclass(slots=True, frozen=True)
class AbortsLoseBlocks:
    """Cancelled requests end on one replica, but their blocks never return to the pool."""

    replica: int

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Lose the blocks of what is aborted from now on."""
        del at_s
        cluster.engines[self.replica].set_aborts(lose_blocks=True)


@dataclass(slots=True, frozen=True)
class AbortsMended:
    """Cancelled requests end and free their KV within a step, as they should; what is lost stays lost."""

    replica: int

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Abort in order from now on."""
        del at_s
        cluster.engines[self.replica].set_aborts()

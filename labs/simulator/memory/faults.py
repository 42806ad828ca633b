"""What can go wrong with a replica's memory, at a time of its own; each needs ``cluster.memory[replica]``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from labs.simulator.memory.growth import FromThen, PerRequest
from labs.simulator.memory.supervise import die, look, out_of_memory, restart

if TYPE_CHECKING:
    from labs.simulator.cluster import Cluster
    from labs.simulator.memory.growth import Growth, Spike
    from labs.simulator.memory.ledger import MemoryFlags
    from labs.simulator.memory.workspaces import MixedSizes

LOOK_EVERY_S = 0.5
"""Less than the prefill of a prompt that is long enough to matter, so that it dies in its first step."""


PROBE_FAILED = "Container atlas failed liveness probe, will be restarted"
"""The kubelet's event."""


@dataclass(slots=True, frozen=True)
class Watch:
    """Follows a replica's memory from a time on: without it nothing is counted and nothing runs out."""

    replica: int
    every_s: float = LOOK_EVERY_S

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Look, and come again."""
        look(cluster, self.replica, at_s)
        cluster.schedule(at_s + self.every_s, self)


@dataclass(slots=True, frozen=True)
class MemoryGrowth:
    """Something of a replica that grows from now on, counted from the start of its process: pools, leaks, caches."""

    replica: int
    growth: Growth
    from_then: bool = False
    """What the present process has served so far left nothing behind (``PerRequest`` only)."""

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Let it grow."""
        memory = cluster.memory[self.replica]
        growth = self.growth
        if self.from_then and isinstance(growth, PerRequest):
            look(cluster, self.replica, at_s)
            served = memory.life.counts_at(at_s).get(growth.request_class, 0.0)
            growth = FromThen(growth, memory.life.index, served)
        memory.grow(growth)


@dataclass(slots=True, frozen=True)
class WorkspaceSpikes:
    """A class of requests whose workspace grows with their length, from now on."""

    replica: int
    spike: Spike

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Let such requests take their workspace."""
        del at_s
        memory = cluster.memory[self.replica]
        memory.spikes = (*memory.spikes, self.spike)


@dataclass(slots=True, frozen=True)
class Fragmentation:
    """A class of requests with workspaces of every size that leave something behind, from now on."""

    replica: int
    mixed_sizes: MixedSizes

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Let such requests go through the allocator."""
        del at_s
        cluster.memory[self.replica].mixed_sizes = self.mixed_sizes


@dataclass(slots=True, frozen=True)
class OtherProcess:
    """Another process on the GPU of a rank: it takes what there is of ``n_bytes`` now, and the rest when it can."""

    replica: int
    rank: int
    pid: int
    name: str
    n_bytes: int

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Let it in."""
        cluster.memory[self.replica].admit(at_s, self.rank, self.pid, self.name, self.n_bytes)


@dataclass(slots=True, frozen=True)
class Redeploy:
    """A restart with other flags (None: the same), by somebody who is not the learner."""

    replica: int
    flags: MemoryFlags | None = None

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Stop and start it."""
        del at_s
        restart(cluster, self.replica, self.flags)


@dataclass(slots=True, frozen=True)
class OutOfMemory:
    """The death of an engine by an allocation that fails now, whatever the reason."""

    replica: int
    tried_bytes: int

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Let it die."""
        out_of_memory(cluster, self.replica, at_s, tried=self.tried_bytes)


@dataclass(slots=True, frozen=True)
class LivenessKills:
    """Somebody's probe takes a busy server for a dead one, and has its process killed every ``every_s``."""

    replica: int
    every_s: float

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Kill it if it serves, and come again."""
        memory = cluster.memory[self.replica]
        if memory.ledger_at(at_s) is not None:
            die(cluster, self.replica, at_s, PROBE_FAILED)
        cluster.schedule(at_s + self.every_s, self)


def evict(cluster: Cluster, replica: int, pid: int) -> int:
    """End another process on a replica's GPUs, now; return the bytes that it held."""
    memory, at_s = cluster.memory[replica], cluster.now_s
    held = [t for t in memory.tenants_at(at_s) if t.pid == pid]
    for tenant in held:
        memory.admit(at_s, tenant.rank, pid, tenant.name, 0)
    return sum(tenant.n_bytes for tenant in held)


def refuse_prompt_logprobs(cluster: Cluster, replica: int) -> None:
    """Let the gateway strip prompt_logprobs from requests, from now on and without a restart."""
    memory = cluster.memory[replica]
    memory.flags = replace(memory.flags, prompt_logprobs=False)
    memory.life.flags = replace(memory.life.flags, prompt_logprobs=False)


def stop_growth(cluster: Cluster, replica: int, owner: str) -> None:
    """Mend what grows under ``owner`` in the code that runs from the next start on, and start it now."""
    memory = cluster.memory[replica]
    memory.growths = tuple(growth for growth in memory.growths if growth.owner != owner)
    restart(cluster, replica)

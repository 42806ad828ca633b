"""What can go wrong with the hardware under a cluster: faults, see ``labs.simulator.faults``.

A fault needs a cluster with hardware: ``strike`` raises ValueError for one without. ``repairs`` undoes them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from labs.simulator.hardware.placement import Environment, Placement, Tenant, XidEvent
from labs.simulator.hardware.repairs import hardware_of, restart

if TYPE_CHECKING:
    from labs.simulator.cluster import Cluster
    from labs.simulator.hardware.boxes import Box

DECODE_POWER = 0.36
"""Of what is between idle and the cap, the share that decode without pause draws. Scenario constant: 337 W of 122 to 700 with llama-70b."""


@dataclass(slots=True, frozen=True)
class Misplacement:
    """A replica starts on these GPUs, as the device plugin gave them; ``down_s`` 0: it has been there since it began."""

    replica: int
    placement: Placement
    down_s: float = 0.0

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Start it there."""
        del at_s
        hardware_of(cluster).plan(self.replica, self.placement)
        restart(cluster, self.replica, self.down_s)


@dataclass(slots=True, frozen=True)
class Throttle:
    """A GPU's SM clock falls: it is hot, or short of power.

    ``reason`` is the field of ``clocks_event_reasons`` that is active.
    """

    node: str
    gpu: int
    sm_clock_mhz: int
    reason: str = "sw_thermal_slowdown"
    power_limit_w: int = 0
    """The limit that holds it down. 0: for ``sw_power_cap`` what a GPU draws that decodes without pause at that clock, else the box's own."""

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Lower the clock. Raises ValueError for a clock that is none of this GPU's."""
        hardware = hardware_of(cluster)
        if not 0 < self.sm_clock_mhz <= hardware.nodes[self.node].max_sm_clock_mhz:
            raise ValueError(f"{self.sm_clock_mhz=}: not a clock of this GPU")
        place = (self.node, self.gpu)
        hardware.change(
            place,
            at_s,
            sm_clock_mhz=self.sm_clock_mhz,
            reason=self.reason,
            power_limit_w=self.power_limit_w or self._default_limit_w(hardware.nodes[self.node]),
        )
        hardware.refresh(cluster, place)

    def _default_limit_w(self, box: Box) -> int:
        if self.reason != "sw_power_cap":
            return 0
        clock = self.sm_clock_mhz / box.max_sm_clock_mhz
        return round(box.idle_power_w + DECODE_POWER * (box.power_cap_w - box.idle_power_w) * clock)


@dataclass(slots=True, frozen=True)
class Neighbour:
    """Somebody else's process shares a GPU by time slices, and is busy in bursts.

    Bursts and the pauses between them last uniformly between half and one and a half of their mean.
    """

    tenant: Tenant
    busy_mean_s: float
    idle_mean_s: float
    seed: int | str

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Let it arrive; its first burst begins after a pause."""
        hardware_of(cluster).tenants.append(self.tenant)
        NeighbourTurn(self).schedule(cluster, at_s)


@dataclass(slots=True, frozen=True)
class NeighbourTurn:
    """The next change of a neighbour between idle and busy. Nothing happens once it is evicted."""

    neighbour: Neighbour
    number: int = 0
    """Even: a burst begins; odd: it ends."""

    def schedule(self, cluster: Cluster, at_s: float) -> None:
        """Let it come after what the neighbour does until then."""
        mean_s = self.neighbour.idle_mean_s if self.number % 2 == 0 else self.neighbour.busy_mean_s
        draw = random.Random(f"neighbour:{self.neighbour.seed}:{self.number}")
        cluster.schedule(at_s + mean_s * draw.uniform(0.5, 1.5), self)

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Begin or end a burst, and plan the next turn."""
        hardware = hardware_of(cluster)
        tenant = self.neighbour.tenant
        if tenant not in hardware.tenants:
            return
        hardware.set_busy(tenant, at_s, busy=self.number % 2 == 0)
        hardware.refresh(cluster, (tenant.node, tenant.gpu))
        NeighbourTurn(self.neighbour, self.number + 1).schedule(cluster, at_s)


@dataclass(slots=True, frozen=True)
class EnvironmentChange:
    """A replica starts with another environment: P2P off in its container, or a process bound to the far socket."""

    replica: int
    environment: Environment = field(default_factory=Environment)
    down_s: float = 0.0

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Start it so."""
        del at_s
        hardware_of(cluster).plan(self.replica, environment=self.environment)
        restart(cluster, self.replica, self.down_s)


def p2p_off(
    replica: int, *, variable: str = "NCCL_P2P_DISABLE=1", custom: bool = True, down_s: float = 0.0
) -> EnvironmentChange:
    """Return the fault that turns NCCL's P2P off for a replica.

    While vLLM's custom all-reduce is on (``custom``), only messages above its limit suffer: prefill, not decode.
    """
    environment = Environment(nccl_p2p_disable=variable, disable_custom_all_reduce=not custom)
    return EnvironmentChange(replica, environment, down_s)


def numa_misbinding(
    replica: int, ranks: tuple[int, ...], *, down_s: float = 0.0
) -> EnvironmentChange:
    """Return the fault that binds the processes of ``ranks`` to the socket that their GPUs are not on."""
    return EnvironmentChange(replica, Environment(far_ranks=ranks), down_s)


@dataclass(slots=True, frozen=True)
class LinkDown:
    """NVLinks of a GPU go down: Xid 74 at both ends. The replicas that use them start again, ``down_s`` seconds."""

    node: str
    gpu: int
    links: tuple[int, ...]
    down_s: float = 0.0

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Take the links down. Raises IndexError for a link that is not there."""
        hardware = hardware_of(cluster)
        touched: set[int] = set()
        for index in self.links:
            for gpu, link in hardware.take_link_down(self.node, (self.gpu, index)):
                detail = f"NVLink: fatal error detected on link {link}(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"
                hardware.events.append(XidEvent(at_s, self.node, gpu, 74, detail))
                replica = hardware.replica_at((self.node, gpu))
                if replica is not None:
                    touched.add(replica)
        for replica in sorted(touched):
            restart(cluster, replica, self.down_s)


@dataclass(slots=True, frozen=True)
class ThrottleEnd:
    """A GPU cools down, or has its power back."""

    node: str
    gpu: int

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Give it its highest clock."""
        hardware = hardware_of(cluster)
        Throttle(self.node, self.gpu, hardware.nodes[self.node].max_sm_clock_mhz, reason="").strike(
            cluster, at_s
        )

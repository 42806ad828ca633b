"""What can go wrong in a world, or change in it, at a time of its own: changes of its parts, never of their outputs.

A fault is a frozen dataclass with one method, ``strike``, which does it to the cluster. Its fields are plain
values, so that its ``repr`` says all that it is: a world's digest holds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from labs.simulator.cluster import Cluster
    from labs.simulator.cost_model import CostModel
    from labs.simulator.router import RouterDelay
    from labs.simulator.workload import RequestClass


class Fault(Protocol):
    """Something that happens to a cluster when its clock reaches a time."""

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Do it to ``cluster``, whose clock is at ``at_s``, seconds."""


@dataclass(slots=True, frozen=True)
class Leak:
    """Blocks that leave the free list, once, or every ``every_s`` until ``until_s``."""

    replica: int
    n_blocks: int
    every_s: float | None = None
    until_s: float | None = None

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Lose the blocks, and come again if there is a next time."""
        cluster.engines[self.replica].leak(self.n_blocks)
        if self.every_s is not None and (
            self.until_s is None or at_s + self.every_s <= self.until_s
        ):
            cluster.schedule(at_s + self.every_s, self)


@dataclass(slots=True, frozen=True)
class RouterDelayChange:
    """The router's delay from now on."""

    delay: RouterDelay

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Set the delay of requests sent from now on."""
        del at_s
        cluster.set_router_delay(self.delay)


@dataclass(slots=True, frozen=True)
class MixChange:
    """The mix of requests from now on."""

    classes: tuple[RequestClass, ...]

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Set the mix of requests not yet made."""
        del at_s
        cluster.workload.set_classes(self.classes)


@dataclass(slots=True, frozen=True)
class RateChange:
    """Requests per second from now on."""

    rate: float

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Set the rate of arrivals."""
        cluster.workload.set_rate(self.rate, at_s)


@dataclass(slots=True, frozen=True)
class CostChange:
    """The cost of a step on one replica from now on."""

    replica: int
    cost: CostModel

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Set what its next step costs."""
        del at_s
        cluster.engines[self.replica].set_cost(self.cost)


@dataclass(slots=True, frozen=True)
class SlowSteps:
    """Every step of one replica costs ``factor`` times what it does now, until it restarts."""

    replica: int
    factor: float

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Scale what its next step costs."""
        del at_s
        engine = cluster.engines[self.replica]
        engine.set_cost(engine.cost.scaled(self.factor))


@dataclass(slots=True, frozen=True)
class Shedding:
    """The router answers 429 to this share of requests from now on."""

    share: float

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Set the share."""
        del at_s
        cluster.shed(self.share)

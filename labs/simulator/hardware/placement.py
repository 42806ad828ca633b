"""Where a replica runs, with what environment, and who else is there."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from labs.simulator.hardware.collectives import MEASURED_LINKS, Route
from labs.simulator.hardware.topology import nvlinks_per_rank

if TYPE_CHECKING:
    from collections.abc import Collection

    from labs.simulator.hardware.boxes import Box
    from labs.simulator.hardware.topology import Link

type Place = tuple[str, int]
"""(node, GPU)."""


@dataclass(slots=True, frozen=True)
class Placement:
    """The GPUs of one replica, in order of rank, on one node."""

    node: str
    gpus: tuple[int, ...]

    @property
    def places(self) -> tuple[Place, ...]:
        """One (node, GPU) for each rank."""
        return tuple((self.node, gpu) for gpu in self.gpus)


@dataclass(slots=True, frozen=True)
class Environment:
    """What of a container's environment reaches the links and the CPUs. It holds from one start to the next."""

    nccl_p2p_disable: str = ""
    """The setting that turns NCCL's P2P off, as it stands in the environment: ``NCCL_P2P_DISABLE=1`` or ``NCCL_P2P_LEVEL=LOC``."""
    disable_custom_all_reduce: bool = False
    """``--disable-custom-all-reduce``; without it vLLM's kernel uses P2P whatever NCCL's environment says."""
    far_ranks: tuple[int, ...] = ()
    """Ranks whose process is bound to the NUMA node that its GPU is not on."""


HEALTHY = Environment()


@dataclass(slots=True, frozen=True)
class Tenant:
    """A process of somebody else on a GPU."""

    pid: int
    name: str
    memory_mib: int
    node: str
    gpu: int


@dataclass(slots=True, frozen=True)
class XidEvent:
    """An Xid that the driver reported."""

    at_s: float
    node: str
    gpu: int
    xid: int
    detail: str


def route(
    box: Box, gpus: tuple[int, ...], environment: Environment, down: Collection[Link]
) -> Route:
    """Return the way that the collectives of a group on ``gpus`` go."""
    return Route(
        ranks=len(gpus),
        links=nvlinks_per_rank(box, gpus, down),
        custom=not environment.disable_custom_all_reduce,
        nccl_p2p=not environment.nccl_p2p_disable,
    )


def healthy_route(box: Box, ranks: int) -> Route:
    """Return the way that a profile's figures hold: the best group of ``ranks`` that the box has.

    Where no such group is joined by NVLink throughout (four ranks on bridged pairs), it is the board on which the profile was
    fitted: all NVLinks of an H100 SXM in use.
    """
    if ranks == 1:
        return Route(1, 0)
    best = max(nvlinks_per_rank(box, gpus) for gpus in combinations(range(len(box.gpus)), ranks))
    return Route(ranks, best or MEASURED_LINKS)

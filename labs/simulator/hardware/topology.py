"""What lies between two GPUs, and between all of a group. In the words of ``nvidia-smi topo -m``."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from labs.simulator.hardware.boxes import Box

type Link = tuple[int, int]
"""(GPU, index of one of its NVLinks)."""


def links_of(box: Box, gpu: int) -> tuple[int, ...]:
    """Return, for each NVLink of ``gpu`` in order of its index, the GPU at its other end."""
    peers: list[int] = []
    for other in range(len(box.gpus)):
        if (min(gpu, other), max(gpu, other)) in box.nvlink_pairs:
            peers += [other] * box.links_per_pair
    return tuple(peers)


def other_end(box: Box, link: Link) -> Link:
    """Return the same NVLink as its other end names it. Raises IndexError for a link that is not there."""
    gpu, index = link
    peers = links_of(box, gpu)
    peer = peers[index]
    return peer, links_of(box, peer).index(gpu) + index - peers.index(peer)


def links_between(box: Box, a: int, b: int, down: Collection[Link] = ()) -> int:
    """Return how many NVLinks join two GPUs; one is down when either end of it is in ``down``."""
    return sum(
        (a, index) not in down and other_end(box, (a, index)) not in down
        for index, peer in enumerate(links_of(box, a))
        if peer == b
    )


def path(box: Box, a: int, b: int, down: Collection[Link] = ()) -> str:
    """Return ``NV<links>``, ``NODE`` (one NUMA node) or ``SYS`` (across the sockets); ``X`` for itself."""
    if a == b:
        return "X"
    links = links_between(box, a, b, down)
    if links:
        return f"NV{links}"
    return "NODE" if box.gpus[a].numa_node == box.gpus[b].numa_node else "SYS"


def worst_path(box: Box, gpus: Sequence[int], down: Collection[Link] = ()) -> str:
    """Return the slowest of the paths between any two of ``gpus``: a ring is as fast as its slowest link."""
    return max(
        (path(box, a, b, down) for a, b in combinations(gpus, 2)), key=_slowness, default="X"
    )


def _slowness(name: str) -> tuple[int, int]:
    if name.startswith("NV"):
        return 0, -int(name[2:])
    return ("NV", "NODE", "SYS").index(name), 0


def nvlinks_per_rank(box: Box, gpus: Sequence[int], down: Collection[Link] = ()) -> int:
    """Return the NVLinks that a rank can use towards the others of its group; 0 if some pair has none.

    The pair with the fewest counts for all: each part of an all-reduce ends with its slowest.
    """
    fewest = min((links_between(box, a, b, down) for a, b in combinations(gpus, 2)), default=0)
    return fewest * (len(gpus) - 1)

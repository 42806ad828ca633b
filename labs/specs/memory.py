"""The memory of a lab's ranks, where its worlds follow it, and what goes wrong with it."""

from __future__ import annotations

from labs.specs.base import Frozen


class MemoryFleet(Frozen):
    """How the memory of the replicas is followed."""


class MemoryWorld(Frozen):
    """What goes wrong with a replica's memory. Nothing set: healthy."""

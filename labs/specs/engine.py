"""What is special about the engine of a lab: caches, kernels, pauses, prefill; and what goes wrong within it."""

from __future__ import annotations

from labs.specs.base import Frozen


class EngineFleet(Frozen):
    """The engine's knobs beyond the common ones."""


class EngineWorld(Frozen):
    """What goes wrong within the engines. Nothing set: healthy."""

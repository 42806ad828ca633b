"""What stands between people and engines in a lab: clients, gateway, router, lifetime; and what goes wrong there."""

from __future__ import annotations

from labs.specs.base import Frozen


class FrontFleet(Frozen):
    """Clients, gateway and router of a lab."""


class FrontWorld(Frozen):
    """What goes wrong in front of the engines, or in their lifetime. Nothing set: healthy."""

"""The hardware that a lab's cluster runs on, and what ails it in a world."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from labs.specs.base import Frozen, Range


class HardwareFleet(Frozen):
    """Boxes by name, and the GPUs of each replica on them."""

    box: Literal["h100-sxm-4", "h100-nvl-4"]
    nodes: Annotated[int, Field(ge=1)] = 1
    placement: tuple[tuple[int, tuple[int, ...]], ...]
    """For each replica: (node from 0 on, GPU indices)."""


class Neighbour(Frozen):
    """Another tenant's process on one GPU of the sick replica, busy in bursts."""

    busy_mean_s: Range
    idle_mean_s: Range
    memory_mib: Range
    name: str


class HardwareWorld(Frozen):
    """What ails the hardware of one replica, drawn by the seed. Nothing set: healthy."""

    misplaced_gpus: tuple[int, ...] = ()
    """The sick replica runs on these GPUs instead of its own."""
    throttled_mhz: Range | None = None
    """The SM clock of one of its GPUs."""
    throttle_reason: Literal["sw_thermal_slowdown", "hw_thermal_slowdown", "sw_power_cap"] = (
        "sw_thermal_slowdown"
    )
    throttled_whole: bool = False
    """All of its GPUs have that clock, not one."""
    neighbour: Neighbour | None = None
    p2p_disabled: bool = False
    """NCCL_P2P_DISABLE=1 in its container."""
    custom_all_reduce_disabled: bool = False
    far_numa: bool = False
    """Its processes are bound to the CPU socket that its GPUs are not on."""
    links_down: tuple[int, ...] = ()
    """NVLinks of one of its GPUs that are inactive."""

"""Views of small clusters on known hardware, each with one thing wrong."""

from functools import cache

from labs.instruments.signals import View
from labs.simulator.hardware.faults import (
    LinkDown,
    Misplacement,
    Neighbour,
    Throttle,
    numa_misbinding,
    p2p_off,
)
from labs.simulator.hardware.placement import Placement, Tenant
from tests.simulator.hardware.worlds import nvl, sxm

NEIGHBOUR = Neighbour(Tenant(4242, "python", 6000, "node-0", 2), 8.0, 12.0, 5)
FAULTS = {
    "pairs": None,
    "board": None,
    "split": Misplacement(1, Placement("node-1", (0, 2))),
    "split-other": Misplacement(0, Placement("node-0", (1, 3))),
    "hot": Throttle("node-0", 1, 900),
    "hot-other": Throttle("node-0", 3, 900),
    "capped": Throttle("node-0", 1, 1200, "sw_power_cap", power_limit_w=300),
    "neighbour": NEIGHBOUR,
    "p2p": p2p_off(0),
    "p2p-all": p2p_off(0, variable="NCCL_P2P_LEVEL=LOC", custom=False),
    "numa": numa_misbinding(0, (1, 2)),
    "link": LinkDown("node-0", 0, (7,)),
}
ON_PAIRS = {"pairs", "split", "split-other"}


@cache
def view(name, at_s=300.0):
    """The world of a fault that came at 5 s, at ``at_s``. Look only: it is shared."""
    faults = ((5.0, FAULTS[name]),) if FAULTS[name] else ()
    world = nvl(rate=1.2, faults=faults) if name in ON_PAIRS else sxm(rate=2.5, faults=faults)
    world.advance(at_s)
    return View(world, None, at_s, 0.1)

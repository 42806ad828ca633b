"""``dmesg``: what the driver told the kernel. Slow links, clocks and neighbours leave nothing here; an Xid does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.instruments.clock import time_of
from labs.instruments.gpu_tables import DRIVER, by_node

if TYPE_CHECKING:
    from datetime import datetime

    from labs.instruments.signals import View

_BOOT_S = -86_400.0


def dmesg(view: View) -> str:
    """Return ``dmesg -T`` of every node, the driver's lines. Raises ValueError where the world has no hardware."""
    hardware = view.cluster.hardware
    if hardware is None:
        raise ValueError("dmesg: this cluster's kernel log is not recorded.")
    texts = []
    for node, box in hardware.nodes.items():
        lines = [
            f"[{_stamp(time_of(_BOOT_S))}] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  {DRIVER}"
        ]
        for event in hardware.events:
            if event.node == node and event.at_s <= view.now_s:
                bus = box.gpus[event.gpu].bus_id[4:].removesuffix(".0").lower()
                lines.append(
                    f"[{_stamp(time_of(event.at_s))}] NVRM: Xid (PCI:{bus}): {event.xid}, "
                    f"pid='<unknown>', name=<unknown>, {event.detail}"
                )
        texts.append((node, "\n".join(lines)))
    return by_node(texts)


def _stamp(at: datetime) -> str:
    return at.strftime("%a %b %e %H:%M:%S %Y")

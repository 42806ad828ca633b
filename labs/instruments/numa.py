"""On which CPUs the workers run: ``taskset -cp`` of each. ``topo -m`` says which CPUs are near which GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.instruments.gpu_readings import readings
from labs.instruments.gpu_tables import by_node

if TYPE_CHECKING:
    from labs.instruments.gpu_readings import GpuReading
    from labs.instruments.signals import View


def affinity(view: View) -> str:
    """Return a line for each worker of every node, in order of its GPU. Raises ValueError where the world has no hardware."""
    hardware = view.cluster.hardware
    if hardware is None:
        raise ValueError("taskset: this cluster's processes are not recorded.")
    rows = [row for row in readings(view) if row.rank is not None and row.processes]
    return by_node(
        [
            (node, "\n".join(_line(row) for row in rows if row.node == node))
            for node in hardware.nodes
        ]
    )


def _line(row: GpuReading) -> str:
    near = row.box.gpus[row.gpu]
    cpus = near.cpu_affinity
    if row.state.far_cpu:
        cpus = next(slot.cpu_affinity for slot in row.box.gpus if slot.numa_node != near.numa_node)
    return f"pid {row.processes[0][0]}'s current affinity list: {cpus}"

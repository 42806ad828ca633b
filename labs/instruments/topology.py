"""What joins the GPUs: ``nvidia-smi topo -m`` and ``nvidia-smi nvlink -s``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.instruments.gpu_tables import by_node, uuid_of
from labs.simulator.hardware.topology import links_of, other_end, path

if TYPE_CHECKING:
    from labs.instruments.signals import View
    from labs.simulator.hardware.state import Hardware

_LEGEND = """
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge
  NV#  = Connection traversing a bonded set of # NVLinks"""


def topo_matrix(view: View) -> str:
    """Return ``topo -m`` of every node. Raises ValueError where the world does not know its hardware."""
    hardware = _hardware(view)
    return by_node([(node, _matrix(hardware, node)) for node in hardware.nodes])


def _matrix(hardware: Hardware, node: str) -> str:
    box, down = hardware.nodes[node], hardware.links_down[node]
    gpus = range(len(box.gpus))
    lines = [
        "\t"
        + "\t".join(
            [*(f"GPU{gpu}" for gpu in gpus), "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"]
        )
    ]
    for gpu, slot in enumerate(box.gpus):
        cells = [" X " if gpu == other else path(box, gpu, other, down) for other in gpus]
        lines.append(
            "\t".join([f"GPU{gpu}", *cells, slot.cpu_affinity, str(slot.numa_node), "\tN/A"])
        )
    return "\n".join(lines).expandtabs(8) + "\n" + _LEGEND


def nvlink_status(view: View) -> str:
    """Return ``nvlink -s`` of every node: each link's speed, or that it is inactive. Raises ValueError, see above."""
    hardware = _hardware(view)
    return by_node([(node, _status(hardware, node)) for node in hardware.nodes])


def _status(hardware: Hardware, node: str) -> str:
    box, down = hardware.nodes[node], hardware.links_down[node]
    lines: list[str] = []
    for gpu in range(len(box.gpus)):
        lines.append(f"GPU {gpu}: {box.gpu_name} (UUID: {uuid_of(node, gpu)})")
        for index in range(len(links_of(box, gpu))):
            gone = (gpu, index) in down or other_end(box, (gpu, index)) in down
            lines.append(
                f"\t Link {index}: {'<inactive>' if gone else f'{box.nvlink_gb_s:.3f} GB/s'}"
            )
    return "\n".join(lines)


def _hardware(view: View) -> Hardware:
    if view.cluster.hardware is None:
        raise ValueError("nvidia-smi: this cluster's links are not recorded.")
    return view.cluster.hardware

"""The order in which a model's parameters take their memory, and what the driver gives at least."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.simulator.memory.ledger import MIB

if TYPE_CHECKING:
    from labs.simulator.memory.ledger import MemoryFlags, ModelShape


def pages(n_bytes: int) -> int:
    """Round up to 2 MiB: the allocator asks the driver for whole pages."""
    return -(-n_bytes // (2 * MIB)) * 2 * MIB


def first_tensor_beyond(shape: ModelShape, flags: MemoryFlags, room: int) -> tuple[int, int]:
    """Return (bytes allocated, bytes tried) where a model's parameters, made in order, first exceed ``room``."""
    ranks, width = flags.tensor_parallel_size, 1 if flags.quantization else 2
    d, heads, kv, head_dim = shape.hidden, shape.heads, shape.kv_heads, shape.head_dim
    layer = (
        (heads + 2 * kv) * head_dim * d * width // ranks,
        heads * head_dim * d * width // ranks,
        2 * shape.ffn * d * width // ranks,
        shape.ffn * d * width // ranks,
    )
    outer = 2 * shape.vocab * d // ranks
    allocated = 0
    for tensor in (outer, *(layer * shape.layers), outer):
        if allocated + pages(tensor) > room:
            return allocated, pages(tensor)
        allocated += pages(tensor)
    # Rounding hides a few MiB of norms and scales; the head is what fails last.
    return room - outer // 2, pages(outer)

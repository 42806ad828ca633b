"""The words of torch and vLLM when memory does not suffice, and the log lines that carry them.

Formats: torch's CUDACachingAllocator and vLLM 0.32, as users' logs and our captures print them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from labs.simulator.memory.ledger import GIB, KIB, MIB

CONSERVING = "See https://docs.vllm.ai/en/latest/configuration/conserving_memory/ for more details."


@dataclass(slots=True, frozen=True)
class LogLine:
    """One line of an engine's log, its time left to whoever prints it."""

    after_s: float
    """Seconds after the start of the process."""
    who: str
    """``Worker_TP0``, ``EngineCore`` or ``APIServer``."""
    level: str
    source: str
    """File and line of vLLM 0.32 that wrote it, as our captures have them; empty for a line that they do not hold."""
    text: str


def size(n_bytes: int) -> str:
    """Return bytes in torch's way: the largest unit that is at least 1, two decimals."""
    if n_bytes < KIB:
        return f"{n_bytes} bytes"
    for unit, name in ((GIB, "GiB"), (MIB, "MiB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:.2f} {name}"
    return f"{n_bytes / KIB:.2f} KiB"


_STATED = {
    "tried": r"Tried to allocate ([\d.]+) (\w+)\.",
    "unallocated": r"([\d.]+) (\w+) is reserved by PyTorch but unallocated",
}
_MIB_OF = {"bytes": 1 / MIB, "KiB": KIB / MIB, "MiB": 1.0, "GiB": float(GIB // MIB)}


def stated_mib(message: str, part: str) -> float | None:
    """Return a size that ``cuda_out_of_memory`` states, ``tried`` or ``unallocated``, MiB; None in another message."""
    found = re.search(_STATED[part], message)
    return None if found is None else round(float(found[1]) * _MIB_OF[found[2]], 1)


def gib(n_bytes: int) -> str:
    """Return GiB in vLLM's way: rounded to two decimals, zeros at the end left out but one."""
    return str(round(n_bytes / GIB, 2))


def cuda_out_of_memory(
    *,
    tried: int,
    gpu: int,
    capacity: int,
    free: int,
    in_use: int,
    allocated: int,
    reserved: int,
    others: tuple[tuple[int, int], ...] = (),
) -> str:
    """Return the text of ``torch.OutOfMemoryError``, all sizes in bytes.

    ``capacity`` and ``free`` are the device's, ``in_use`` this process's with what is outside torch, ``allocated``
    and ``reserved`` its allocator's; ``others`` are (pid, bytes) of the other processes on the GPU.
    """
    foreign = "".join(f"Process {pid} has {size(held)} memory in use. " for pid, held in others)
    return (
        f"CUDA out of memory. Tried to allocate {size(tried)}. GPU {gpu} has a total capacity of {size(capacity)} "
        f"of which {size(max(0, free))} is free. {foreign}"
        f"Including non-PyTorch memory, this process has {size(in_use)} memory in use. "
        f"Of the allocated memory {size(allocated)} is allocated by PyTorch, and {size(max(0, reserved - allocated))} "
        "is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory "
        "Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
    )


def free_memory_on_device(
    *, gpu: int, free: int, total: int, utilization: float, requested: int
) -> str:
    """Return the text of vLLM's check before anything is loaded."""
    return (
        f"Free memory on device cuda:{gpu} ({gib(free)}/{gib(total)} GiB) on startup is less than desired GPU memory "
        f"utilization ({utilization}, {gib(requested)} GiB). Decrease GPU memory utilization or reduce GPU memory "
        "used by other processes."
    )


def no_available_memory() -> str:
    """Return the text of vLLM's check that anything is left for the pool."""
    return (
        "No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the "
        f"engine. {CONSERVING}"
    )


def to_serve_at_least_one(
    *, max_model_len: int, needed: int, available: int, estimated_len: int
) -> str:
    """Return the text of vLLM's check that the pool holds one request of the greatest length."""
    return (
        f"To serve at least one request with the model's max seq len ({max_model_len}), ({gib(needed)} GiB KV cache "
        f"is needed, which is larger than the available KV cache memory ({gib(available)} GiB). Based on the available "
        f"memory, the estimated maximum model length is {estimated_len}. Try increasing `gpu_memory_utilization` (which "
        "also controls CPU memory on the CPU backend) or decreasing `max_model_len` when initializing the engine. "
        f"{CONSERVING}"
    )

"""Which kernels a server chose at its start, and the lines that tell it: a fallback is silent but for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labs.instruments.logs.entries import Entry

if TYPE_CHECKING:
    from collections.abc import Iterator

FP8_KERNELS = ("CutlassFP8ScaledMMLinearKernel", "MarlinFP8ScaledMMLinearKernel")
"""vLLM's kernels for FP8 linear layers: native, and weights only."""
ATTENTION_BACKENDS = ("FLASH_ATTN", "FLASHINFER", "TRITON_ATTN", "FLEX_ATTENTION")
"""vLLM's attention backends on an H100, in its order of preference."""


@dataclass(frozen=True)
class Kernels:
    """The choices of one replica.

    Formats: vLLM's kernel registry and platform code. The lines are of servers that we did not run: their wording is
    sourced, their numbers of source lines are not.
    """

    attention_backend: str = ATTENTION_BACKENDS[0]
    attention_unsupported: tuple[tuple[str, str], ...] = ()
    """Backends before the one chosen, each with why it was passed over."""
    linear_kernel: str = ""
    """For a model quantized to FP8; empty for one in BF16."""
    linear_unsupported: tuple[tuple[str, str], ...] = ()
    full_graphs: bool = True
    """False: the attention backend allows no full CUDA graph of a decode step, so vLLM records pieces only."""

    def __post_init__(self) -> None:
        """Refuse a backend or a kernel that vLLM does not have."""
        if self.attention_backend not in ATTENTION_BACKENDS:
            raise ValueError(f"no attention backend {self.attention_backend!r}")
        if self.linear_kernel and self.linear_kernel not in FP8_KERNELS:
            raise ValueError(f"no FP8 kernel {self.linear_kernel!r}")


def lines(kernels: Kernels, t_s: float) -> Iterator[Entry]:
    """Return the lines of one start at ``t_s``, in vLLM's order: linear layers, attention, graphs."""
    if kernels.linear_kernel:
        if kernels.linear_kernel.startswith("Marlin"):
            yield Entry(
                t_s,
                "WARNING",
                "marlin_utils_fp8.py:96",
                "Weight-only FP8 compression will be used leveraging the Marlin kernel. "
                "This may degrade performance for compute-heavy workloads.",
            )
        yield Entry(
            t_s, "INFO", "__init__.py:405", f"Selected {kernels.linear_kernel} for Fp8LinearMethod"
        )
    possible = [
        name for name in ATTENTION_BACKENDS if name not in dict(kernels.attention_unsupported)
    ]
    yield Entry(
        t_s,
        "INFO",
        "cuda.py:351",
        f"Using {kernels.attention_backend} attention backend out of potential backends: {possible}.",
    )
    if not kernels.full_graphs:
        yield Entry(
            t_s,
            "WARNING",
            "gpu_model_runner.py:5243",
            f"CUDAGraphMode.FULL_AND_PIECEWISE is not supported with {kernels.attention_backend} backend; "
            "setting cudagraph_mode=PIECEWISE",
        )

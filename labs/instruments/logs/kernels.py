"""Which kernels a server chose at its start, and the lines that tell it: a fallback is silent but for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.instruments.logs.entries import Entry
from labs.simulator.kernels import ATTENTION_BACKENDS, FP8_KERNELS, Kernels

__all__ = ["ATTENTION_BACKENDS", "FP8_KERNELS", "Kernels", "lines"]

if TYPE_CHECKING:
    from collections.abc import Iterator


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

"""Which kernels a replica runs with, and what a step costs with them: a fallback is slower and, but for a log line, silent.

A model's profile is that of the best kernels for its hardware. What others cost is said by ``Kernels``: factors on
the terms of a step. A choice is made when a server starts and holds until it starts with another image or environment.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labs.simulator.cluster import Cluster
    from labs.simulator.cost_model import CostModel

PS_PER_MS = 1_000_000_000
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
    attention_factor: float = 1.0
    """How much longer it takes to read KV than with the best backend. Scenario constant."""
    prefill_factor: float = 1.0
    """How much longer the matrix products of prefill take than with the best kernel. Scenario constant."""
    launch_ms: float = 0.0
    """What each step takes more, for what no full graph launches. Scenario constant."""

    def __post_init__(self) -> None:
        """Refuse a backend or a kernel that vLLM does not have."""
        if self.attention_backend not in ATTENTION_BACKENDS:
            raise ValueError(f"no attention backend {self.attention_backend!r}")
        if self.linear_kernel and self.linear_kernel not in FP8_KERNELS:
            raise ValueError(f"no FP8 kernel {self.linear_kernel!r}")

    def cost(self, best: CostModel) -> CostModel:
        """Return what a step costs with these kernels; ``best`` is with the best for the hardware."""
        return replace(
            best,
            base_ps=best.base_ps + round(self.launch_ms * PS_PER_MS),
            per_kv_token_ps=round(best.per_kv_token_ps * self.attention_factor),
            per_prefill_token_ps=round(best.per_prefill_token_ps * self.prefill_factor),
        )


@dataclass(slots=True, frozen=True)
class KernelsChosen:
    """A replica is deployed again, and its server chooses these kernels at its start."""

    replica: int
    kernels: Kernels
    down_s: float

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Restart the replica with what it runs with now."""
        del at_s
        engine = cluster.engines[self.replica]
        cluster.kernels[self.replica] = self.kernels
        cluster.restart_engine(self.replica, engine.config, cluster.cost, self.down_s)

"""What a cluster runs with: drawn by the seed, replaced by changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labs.simulator.cost_model import ModelProfile, profile

if TYPE_CHECKING:
    from labs.simulator.cost_model import CostModel
    from labs.simulator.scheduler import EngineConfig


@dataclass(frozen=True)
class Fleet:
    """What the seed drew, and what the cluster runs with. A change replaces it by another."""

    profile_name: str
    pool_blocks: int
    """Usable KV blocks at the model's own KV type, per rank."""
    config: EngineConfig
    fp8_kv: bool = False
    tensor_parallel_size: int = 4
    engine: str = "vllm"
    """Whose names, addresses and log the servers have: vllm or sglang. The rules underneath are vLLM's."""
    full_pool_seqs: int = 0
    """How many sequences fill the pool: where each costs a step a good part, Little's law must count them."""

    @property
    def pool_tokens(self) -> int:
        """KV tokens that requests can hold now, on one replica."""
        return self.config.usable_blocks * self.config.block_size

    @property
    def profile(self) -> ModelProfile:
        return profile(self.profile_name)

    @property
    def cost(self) -> CostModel:
        """What a step costs on healthy hardware."""
        return self.profile.cost_model(fp8_kv=self.fp8_kv)

    @property
    def full_pool_step_s(self) -> float:
        """The seconds of one decode step while every block of the pool is in use."""
        picoseconds = self.cost.step_ps(
            kv_tokens=self.pool_tokens, prefill_tokens=0, sequences=self.full_pool_seqs, tokens=0
        )
        return picoseconds / 1e12

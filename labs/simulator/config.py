"""An engine's knobs, by vLLM's names."""

from dataclasses import dataclass
from typing import Literal


@dataclass(slots=True, frozen=True)
class EngineConfig:
    """An engine's knobs, by vLLM's names. Raises ValueError for a value that vLLM refuses."""

    num_gpu_blocks: int
    """KV blocks in the pool, the reserved null block 0 included."""
    max_num_seqs: int = 256
    """Most requests running at once."""
    max_num_batched_tokens: int = 512
    """Token budget of one step; with chunked prefill, the chunk."""
    block_size: int = 16
    """Tokens in a KV block."""
    max_model_len: int = 32_768
    """Longest prompt plus outputs, tokens."""
    policy: Literal["fcfs", "priority"] = "fcfs"
    """Order of the waiting queue, and choice of the victim."""
    enable_prefix_caching: bool = False
    """Share full blocks of equal prefixes."""
    prefix_hashing: Literal["token_ids", "groups"] = "token_ids"
    """By what a block is known: by ``prompt_token_ids``, as in vLLM, or by the named texts in ``prefix``."""
    enable_chunked_prefill: bool = True
    """Cut a prefill that exceeds what is left of the budget."""
    allow_whole_prefill: bool = False
    """Do not cut the prefill of a request with ``whole_prefill``. No vLLM has this: home-made priority paths do."""
    max_num_queued_reqs: int | None = None
    """Answer 503 to what comes while so many wait; None: no limit."""
    long_prefill_token_threshold: int = 0
    """Most tokens of one prefill in a step; 0 for no limit."""
    scheduler_reserve_full_isl: bool = True
    """Admit only what fits as a whole (the full-length gate), not only its first chunk."""
    watermark: float = 0.0
    """Share of num_gpu_blocks kept free at admission while anything runs."""

    def __post_init__(self) -> None:
        """Refuse what vLLM refuses."""
        for name in ("max_num_seqs", "max_num_batched_tokens", "block_size", "max_model_len"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.num_gpu_blocks <= 1:
            raise ValueError(f"num_gpu_blocks must be at least 2, got {self.num_gpu_blocks}")
        if self.policy not in ("fcfs", "priority"):
            raise ValueError(f"policy must be fcfs or priority, got {self.policy!r}")
        if self.long_prefill_token_threshold < 0:
            raise ValueError("long_prefill_token_threshold must not be negative")
        if self.max_num_queued_reqs is not None and self.max_num_queued_reqs < 1:
            raise ValueError("max_num_queued_reqs must be at least 1")
        if not 0.0 <= self.watermark < 1.0:
            raise ValueError(f"watermark must be in [0, 1), got {self.watermark}")

    @property
    def needs_token_ids(self) -> bool:
        """True if requests must say their tokens."""
        return self.enable_prefix_caching and self.prefix_hashing == "token_ids"

    @property
    def usable_blocks(self) -> int:
        """Blocks that requests can hold: all but the null block."""
        return self.num_gpu_blocks - 1

    @property
    def watermark_blocks(self) -> int:
        """Blocks kept free at admission while anything runs."""
        return int(self.watermark * self.num_gpu_blocks)

"""The memory of a lab's ranks, where its worlds follow it, and what goes wrong with it."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from labs.specs.base import Frozen, Range


class MemoryFleet(Frozen):
    """How the memory of the replicas is followed, and the flags that it depends on beside the common ones."""

    follows: tuple[int, ...] = (0,)
    """Replicas whose memory the world knows; something can go wrong with the last of them."""
    lived_h: Range
    """How long their processes have been up when the world begins, hours."""
    gpu_memory_utilization: Range = (0.92, 0.92)
    max_cudagraph_capture_size: Annotated[int, Field(gt=0)] = 512
    lazy_capture: bool = False
    """An engine that captures a graph for each batch shape that it has not seen. vLLM pads instead."""
    look_every_s: Annotated[float, Field(gt=0)] = 0.5
    """How often requests are counted; a workspace must be seen before its prefill is over."""
    supervised: bool = True
    """Whether somebody starts a replica again whose start failed, with a back-off that doubles."""
    sizes_pool: bool = False
    """The pool is what the start-up's ledger leaves; else ``fleet.pool_blocks``, by ``--num-gpu-blocks-override``."""


class Deploy(Frozen):
    """A restart of the sick replica with other values; what is not given stays as it was."""

    tensor_parallel_size: Annotated[int, Field(ge=1)] | None = None
    max_model_len: Annotated[int, Field(ge=1)] | None = None
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] | None = None
    estimate_cudagraphs: bool | None = None
    num_gpu_blocks_override: Annotated[int, Field(ge=2)] | None = None


class OtherProcess(Frozen):
    """Somebody else's process on one GPU of the sick replica."""

    name: str
    memory_mib: Range


class MixedSizes(Frozen):
    """Workspaces as long as the request, and an entry of each in a bounded cache beside the KV pool."""

    workspace_bytes_per_token: Annotated[int, Field(gt=0)]
    entry_bytes_per_token: Annotated[int, Field(gt=0)]
    entries_kept: Annotated[int, Field(gt=0)] | None = None
    tokens_kept: Annotated[int, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _is_bounded(self) -> Self:
        if (self.entries_kept is None) == (self.tokens_kept is None):
            raise ValueError("the cache is bounded by entries_kept or by tokens_kept, one of them")
        return self


class Giants(Frozen):
    """A few requests of a client that are far longer than its others."""

    share: Range
    """Of the client's requests."""
    prompt_tokens: Range


class Client(Frozen):
    """Requests of a kind that was not there before, in place of a share of the others."""

    name: str
    share: Range
    prompt_tokens: Range
    prompt_cv: Annotated[float, Field(ge=0)]
    prompt_max_tokens: Annotated[int, Field(gt=0)] | None = None
    """The longest that it sends; giants are not held to it."""
    giants: Giants | None = None
    output_tokens: Range
    spike: Literal["prompt_logprobs", "attention_scores"] | None = None
    """What each of its prefills takes beside its ordinary activations."""
    mixed_sizes: MixedSizes | None = None


class Leak(Frozen):
    """Memory that every request leaves behind, counted from the start of the process."""

    owner: str
    """As a memory snapshot names it."""
    mib_per_request: Range
    where: Literal["gpu", "host"] = "gpu"
    client_only: bool = False
    """Only the world's new client leaves it behind."""
    from_then: bool = False
    """What the process has served before the fault left nothing behind."""


class UnseenShapes(Frozen):
    """Batch shapes that the warm-up of a lazily capturing engine has left out: each takes a pool when it first comes."""

    warmed_share: Range
    """Decode tokens that the warm-up covers, over the requests that run on average."""


class MemoryWorld(Frozen):
    """What goes wrong with the sick replica's memory. Nothing set: healthy."""

    other_process: OtherProcess | None = None
    """Comes first: a deploy after it finds it there."""
    deploy: Deploy | None = None
    client: Client | None = None
    leak: Leak | None = None
    unseen_shapes: UnseenShapes | None = None
    liveness_kills_every_s: Range | None = None
    """A probe has the process killed, again and again."""

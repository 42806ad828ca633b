"""The memory budget of one rank, line by line, for any model: what is spent on what, what is left, and what refuses.

The sums and the refusals are those of ``labs.simulator.memory``, which the labs run on; here they are laid out as lines,
for shapes and precisions that a learner chooses, and counted in sequences.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from labs.simulator.kv_cache import blocks_for
from labs.simulator.memory.ledger import (
    ATLAS_70B,
    GIB,
    H100_NVL,
    H100_SXM,
    LLAMA_70B,
    Device,
    Ledger,
    MemoryFlags,
    ModelShape,
    ledger,
)
from labs.simulator.memory.startup import start_up

if TYPE_CHECKING:
    from labs.simulator.memory.phases import Failure, Others

type Precision = Literal["bf16", "fp8", "int4"]
"""Of the linear layers' weights. Embedding and head stay in BF16, as published checkpoints leave them."""

LLAMA_8B = ModelShape("llama-8b", 8_030_000_000, 32, 4096, 32, 8, 128, 14_336, 128_256)
"""Llama-3.1-8B. Source: its config.json; 8.03e9 parameters."""
MODELS = {shape.name: shape for shape in (LLAMA_70B, ATLAS_70B, LLAMA_8B)}
H200_SXM = Device("NVIDIA H200", 143_771, round(139.8 * GIB))
"""Source: nvidia-smi shows 143771MiB, torch's errors a capacity of 139.80 GiB."""
DEVICES = {device.name: device for device in (H100_SXM, H100_NVL, H200_SXM)}

INT4_GROUP = 128
"""Weights that share a scale and a zero point: what AWQ checkpoints are published with."""
INT4_BITS = 4 + (16 + 4) / INT4_GROUP
"""Bits a weight: 4.156, with a scale of 16 bits and a zero point of 4 in each group. Source: AutoAWQ's format."""


@dataclass(slots=True, frozen=True)
class PackedShape(ModelShape):
    """A model whose linear layers are packed to INT4, whatever the engine is told."""

    def weights_bytes(self, *, tensor_parallel_size: int, fp8: bool = False) -> int:
        """Return the bytes of one rank's weights: 4.156 bits each, embedding and head in BF16."""
        del fp8
        outer = 2 * self.vocab * self.hidden
        total = (self.parameters - outer) * INT4_BITS / 8 + 2 * outer
        return int(total) // tensor_parallel_size


def shape(
    name: str,
    *,
    parameters: int,
    layers: int,
    hidden: int,
    kv_heads: int,
    head_dim: int,
    vocab: int = 128_256,
) -> ModelShape:
    """Return a decoder's shape from what its card states; query heads fill the width, the MLP has the remaining weights.

    For a gated MLP without biases: parameters = layers x (2 d² + 2 d x kv heads x head dim + 3 d x ffn) + 2 vocab x d.
    Raises ValueError for dimensions that no such model has.
    """
    if min(parameters, layers, hidden, kv_heads, head_dim, vocab) < 1 or hidden % head_dim:
        raise ValueError(f"{name}: every dimension is at least 1, and heads fill the width")
    heads = hidden // head_dim
    attention = 2 * hidden * hidden + 2 * hidden * kv_heads * head_dim
    ffn = ((parameters - 2 * vocab * hidden) // layers - attention) // (3 * hidden)
    if ffn < 1 or heads % kv_heads:
        raise ValueError(f"{name}: {parameters:,} parameters do not fit these dimensions")
    return ModelShape(name, parameters, layers, hidden, heads, kv_heads, head_dim, ffn, vocab)


@dataclass(frozen=True)
class Line:
    """One entry of a budget."""

    name: str
    n_bytes: int
    """Negative for what is missing."""
    counted: bool
    """True if it follows from the model and the flags; False for a scenario constant of the simulator's ledger."""

    @property
    def gib(self) -> float:
        """In GiB."""
        return self.n_bytes / GIB


@dataclass(frozen=True)
class Budget:
    """One rank's budget; ``lines`` add up to what the engine may take, ``requested``."""

    sums: Ledger
    lines: tuple[Line, ...]
    flags: MemoryFlags
    refusal: Failure | None
    """Where and with which words the engine refuses to start; None if it starts."""

    @property
    def requested(self) -> int:
        """Bytes that the engine may take: the fraction of what torch sees of the device."""
        return self.sums.requested

    @property
    def kv_tokens(self) -> int:
        """Tokens that the pool holds; 0 if nothing is left for it."""
        return self.sums.kv_tokens

    @property
    def kv_bytes_per_token(self) -> int:
        """On this rank."""
        return self.sums.kv_bytes_per_token

    def sequences_of(self, tokens: int) -> int:
        """Return how many sequences of ``tokens`` tokens the pool holds in whole blocks; one block is never given out."""
        usable = max(0, self.sums.num_gpu_blocks - 1)
        return usable // blocks_for(tokens, self.sums.block_size)

    def needed_for(self, tokens: int) -> int:
        """Return the bytes of KV that one sequence of ``tokens`` takes on this rank, in whole blocks."""
        block_size = self.sums.block_size
        return blocks_for(tokens, block_size) * block_size * self.kv_bytes_per_token


def budget(
    model: ModelShape,
    flags: MemoryFlags,
    device: Device = H100_SXM,
    *,
    precision: Precision = "bf16",
    others: Others = (),
) -> Budget:
    """Return the budget of one rank of ``model``, and whether the engine starts; ``precision`` overrides the flag.

    ``others`` are processes that share the GPUs, by rank. Takes under 1 ms.
    """
    if precision == "int4":
        fields = {name: getattr(model, name) for name in ModelShape.__dataclass_fields__}
        model = PackedShape(**fields)
    flags = replace(flags, quantization="fp8" if precision == "fp8" else None)
    sums = ledger(model, flags, device)
    spent = (
        Line("weights", sums.weights, counted=True),
        Line("activations", sums.activation_peak, counted=True),
        Line("workspace", sums.workspace, counted=False),
        Line("graphs", sums.graphs_estimate, counted=False),
        Line("context", sums.cuda_context, counted=False),
        Line("nccl", sums.nccl, counted=False),
    )
    pool = Line("pool", sums.requested - sum(line.n_bytes for line in spent), counted=True)
    started = start_up(model, flags, device, others=others)
    return Budget(sums, (*spent, pool), flags, started.failure)


def least_ranks(
    model: ModelShape,
    flags: MemoryFlags,
    device: Device = H100_SXM,
    *,
    precision: Precision = "bf16",
    most: int = 8,
) -> int | None:
    """Return the least tensor-parallel size, of 1, 2, 4 ... ``most``, at which the engine starts; None if none does."""
    ranks = 1
    while ranks <= most:
        tried = replace(flags, tensor_parallel_size=ranks)
        if budget(model, tried, device, precision=precision).refusal is None:
            return ranks
        ranks *= 2
    return None


# ---------------------------------------------------------- sequences that grow while they run


def held_tokens(running: int, *, prompt_tokens: int, generated_tokens: int) -> int:
    """Return the tokens of ``running`` equal sequences that have come as far as ``generated_tokens``."""
    return running * (prompt_tokens + generated_tokens)


def safe_sequences(kv_tokens: int, *, prompt_tokens: int, output_tokens: int) -> int:
    """Return how many sequences fit even if all of them reach their end at once: pool / (prompt + output)."""
    return kv_tokens // (prompt_tokens + output_tokens)


def staggered_sequences(kv_tokens: int, *, prompt_tokens: int, output_tokens: int) -> int:
    """Return how many fit if their ages are spread evenly: pool / (prompt + output / 2).

    It holds only on average, and just after a burst it does not hold at all.
    """
    return int(kv_tokens / (prompt_tokens + output_tokens / 2))


def full_after_tokens(kv_tokens: int, running: int, *, prompt_tokens: int) -> int:
    """Return after how many output tokens each the pool is full and the first sequence is preempted.

    Raises ValueError if not even the prompts fit, or nobody runs.
    """
    if running < 1 or running * prompt_tokens > kv_tokens:
        raise ValueError(f"{running} prompts of {prompt_tokens} tokens in {kv_tokens}")
    return kv_tokens // running - prompt_tokens


def recompute_ms(
    computed_tokens: int, *, prefill_ms_per_token: float, cached_tokens: int = 0
) -> float:
    """Return what a preemption costs the engine, milliseconds: the victim's tokens again, but for those still cached."""
    return max(0, computed_tokens - cached_tokens) * prefill_ms_per_token

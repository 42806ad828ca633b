"""The bytes of one rank by owner: from a model's shape and an engine's flags to the blocks of its KV pool.

The reference point is Llama-70B on H100 SXM with vLLM's defaults, whose ledger is 3 GiB of activations and
workspace, 2 GiB of CUDA graphs and 0.6 GiB outside torch. The tensors are counted; what is not a tensor (workspace,
a graph, the context) is a scenario constant that closes that ledger, and its docstring says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from labs.simulator.cost_model import kv_bytes_per_token
from labs.simulator.memory.phases import DEVICE_INIT_S, PROCESSOR_INIT_S

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

SAMPLER_BYTES_PER_LOGIT = 2 + 4 + 4 + 4 + 8
"""Per row and vocabulary entry: BF16 logits, FP32 logits, probabilities, sorted values, int64 indices (top-p's sort)."""
WORKSPACE_BYTES = 3 * GIB - 1024 * 128_256 * SAMPLER_BYTES_PER_LOGIT - 2 * 8192 * 8192 * 2
"""60.5 MiB: cuBLAS (32 MiB on Hopper) and split buffers of attention. Scenario constant: closes the reference's 3 GiB."""
GRAPH_BYTES = 2 * GIB // 51
"""One captured size on one rank. Scenario constant: 2 GiB for the 51 default sizes; logs of vLLM show 1.3 to 2.4 GiB."""
NCCL_BYTES = 392_000_000
"""Buffers of a communicator of four or eight ranks. Source: AIConfigurator's system files (342 MB for two)."""
CONTEXT_BYTES = 3 * GIB // 5 - NCCL_BYTES
"""A CUDA context as the profile run sees it. Scenario constant: with NCCL it closes the reference's 0.6 GiB."""
LATE_BYTES = 298 * MIB
"""CUDA modules and buffers loaded after the profile run. Scenario constant: 0.92 of an H100 then shows 74,911 MiB."""


@dataclass(slots=True, frozen=True)
class ModelShape:
    """A decoder's dimensions, as its config states them."""

    name: str
    parameters: int
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocab: int
    stated_kv_bytes: int | None = None
    """KV bytes per token and rank that a fictional model's card states, whatever its heads."""

    def weights_bytes(self, *, tensor_parallel_size: int, fp8: bool = False) -> int:
        """Return the bytes of one rank's weights: BF16, or FP8 with embedding and head left in BF16."""
        unquantized = 2 * self.vocab * self.hidden
        total = self.parameters + unquantized if fp8 else 2 * self.parameters
        return total // tensor_parallel_size

    def kv_bytes_per_token(self, *, tensor_parallel_size: int, fp8: bool = False) -> int:
        """Return the KV bytes of one token on one rank; heads are replicated where ranks outnumber them."""
        if self.stated_kv_bytes is not None:
            return self.stated_kv_bytes // (2 if fp8 else 1)
        return kv_bytes_per_token(
            layers=self.layers,
            kv_heads=max(1, self.kv_heads // tensor_parallel_size),
            head_dim=self.head_dim,
            dtype_bytes=1 if fp8 else 2,
        )


LLAMA_70B = ModelShape("llama-70b", 70_550_000_000, 80, 8192, 64, 8, 128, 28_672, 128_256)
"""Llama-3.1-70B. Source: its config.json; 70.55e9 parameters."""
ATLAS_70B = ModelShape(
    "atlas-70b", 70_000_000_000, 80, 8192, 64, 8, 128, 28_672, 128_256, stated_kv_bytes=320 * KIB
)
"""The fictional Atlas: Llama's shape, but its card states 35 GB of weights and 320 KiB of KV per token, both per rank."""
SMALL_LLAMA = ModelShape("small-llama-cpu", 38_000_000, 12, 512, 8, 4, 64, 1536, 512)
"""The model of random weights that a box without GPUs serves. Its processor keeps no ledger: only the pool matters there."""
SHAPES = {shape.name: shape for shape in (LLAMA_70B, ATLAS_70B, SMALL_LLAMA)}


@dataclass(slots=True, frozen=True)
class Device:
    """A GPU's memory."""

    name: str
    total_mib: int
    """What nvidia-smi prints as its total."""
    usable_bytes: int
    """What torch prints as its total capacity: the driver keeps the rest."""
    init_s: float = DEVICE_INIT_S
    """Of a start, until the memory is looked at."""
    captures: bool = True
    """Whether an engine captures graphs on it, unless its flags say otherwise."""


H100_SXM = Device("NVIDIA H100 80GB HBM3", 81_559, round(79.2 * GIB))
H100_NVL = Device("NVIDIA H100 NVL", 95_830, round(93.02 * GIB))
"""Source of 93.02 GiB: error text of a user's two H100 NVL under vLLM."""
PROCESSOR = Device("processor", 16_384, 16 * GIB, init_s=PROCESSOR_INIT_S, captures=False)
"""No GPU: 16 GiB of the host's memory, more than any pool of a lab takes there."""
DEVICES = {SMALL_LLAMA.name: PROCESSOR}
"""By the name of a shape; those that are not in it are on an H100 SXM."""


@dataclass(slots=True, frozen=True)
class MemoryFlags:
    """The flags of an engine that its memory depends on, by vLLM's names; its defaults on an H100 but for the context."""

    tensor_parallel_size: int = 4
    gpu_memory_utilization: float = 0.92
    max_num_batched_tokens: int = 8192
    max_num_seqs: int = 1024
    max_model_len: int = 32_768
    quantization: Literal["fp8"] | None = None
    kv_cache_dtype: Literal["auto", "fp8"] = "auto"
    block_size: int = 16
    enforce_eager: bool = False
    max_cudagraph_capture_size: int = 512
    estimate_cudagraphs: bool = True
    """VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS: keep room for graphs before the pool is sized."""
    expandable_segments: bool = False
    """PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True."""
    prompt_logprobs: bool = True
    """Whether requests may ask for them; False stands for ``--max-logprobs 0`` or a gateway that refuses."""
    lazy_capture: bool = False
    """A home-made engine that captures a graph for each new batch shape. vLLM pads instead, and never does."""
    num_gpu_blocks_override: int | None = None

    def __post_init__(self) -> None:
        """Refuse sizes below 1 and shares outside (0, 1]."""
        for name in (
            "tensor_parallel_size",
            "max_num_batched_tokens",
            "max_num_seqs",
            "max_model_len",
        ):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not 0.0 < self.gpu_memory_utilization <= 1.0:
            raise ValueError(
                f"gpu_memory_utilization must be in (0, 1], got {self.gpu_memory_utilization}"
            )


def capture_sizes(flags: MemoryFlags) -> tuple[int, ...]:
    """Return the batch sizes that vLLM captures: 1, 2, 4, by 8 below 256, by 16 up to the cap; none when eager.

    The cap is the least of ``max_cudagraph_capture_size``, twice ``max_num_seqs`` and the token budget.
    """
    if flags.enforce_eager:
        return ()
    cap = min(
        flags.max_cudagraph_capture_size, 2 * flags.max_num_seqs, flags.max_num_batched_tokens
    )
    sizes = (1, 2, 4, *range(8, 256, 8), *range(256, cap + 1, 16))
    return tuple(size for size in sizes if size <= cap)


def activation_peak_bytes(shape: ModelShape, flags: MemoryFlags) -> int:
    """Return the most that the profile run's tensors take at once on one rank, bytes.

    Hidden states and residual of the whole token budget, and then the larger of a layer's own tensors
    (QKV, or gate, up and their product, over the ranks) and the sampler's rows for ``max_num_seqs``, which every rank
    holds for the whole vocabulary.
    """
    tokens, ranks = flags.max_num_batched_tokens, flags.tensor_parallel_size
    resident = 2 * tokens * shape.hidden * 2
    qkv = (shape.heads + 2 * shape.kv_heads) * shape.head_dim
    layer = tokens * (max(3 * shape.ffn, qkv + shape.hidden) // ranks + shape.hidden) * 2
    sampler = min(flags.max_num_seqs, tokens) * shape.vocab * SAMPLER_BYTES_PER_LOGIT
    return resident + max(layer, sampler)


@dataclass(slots=True, frozen=True)
class Ledger:
    """One rank's memory once its engine is ready, bytes by owner."""

    device: Device
    requested: int
    """gpu_memory_utilization of what torch can use."""
    weights: int
    kv_cache: int
    activation_peak: int
    workspace: int
    cuda_graphs: int
    graphs_estimate: int
    """What the profile run kept free for graphs; 0 if it does not look."""
    cuda_context: int
    nccl: int
    late: int
    kv_bytes_per_token: int
    block_size: int
    available_kv: int
    """What is left of ``requested`` for the pool; may be negative."""

    @property
    def num_gpu_blocks(self) -> int:
        """Blocks of the pool, the null block among them; 0 if there is no room."""
        return self.kv_cache // (self.kv_bytes_per_token * self.block_size)

    @property
    def kv_tokens(self) -> int:
        """Tokens of the pool in whole blocks, as vLLM logs them."""
        return self.num_gpu_blocks * self.block_size

    @property
    def non_torch(self) -> int:
        """What the process holds beside torch: context, NCCL, modules loaded late."""
        return self.cuda_context + self.nccl + self.late

    @property
    def allocated(self) -> int:
        """``torch.cuda.memory_allocated`` of an idle engine: a graph's tensors are free between replays."""
        return self.weights + self.kv_cache + self.workspace

    @property
    def reserved(self) -> int:
        """``torch.cuda.memory_reserved``: graphs keep their pools, the allocator the peak of activations."""
        return self.allocated + self.cuda_graphs + self.activation_peak

    @property
    def process(self) -> int:
        """What nvidia-smi shows for the engine's process."""
        return self.reserved + self.non_torch

    @property
    def free(self) -> int:
        """What is left of the device with this process alone on it."""
        return self.device.usable_bytes - self.process


def ledger(shape: ModelShape, flags: MemoryFlags, device: Device = H100_SXM) -> Ledger:
    """Return what one rank holds once started, as far as the sums go; ``startup`` says whether it starts.

    The pool gets what ``gpu_memory_utilization`` leaves after weights, the activation peak, workspace, the
    estimate for graphs, context and NCCL. Leaving the peak and the context out overstates it (LLMServingSim issue 59).
    """
    ranks = flags.tensor_parallel_size
    requested = round(flags.gpu_memory_utilization * device.usable_bytes)
    weights = shape.weights_bytes(tensor_parallel_size=ranks, fp8=flags.quantization is not None)
    peak = activation_peak_bytes(shape, flags)
    graphs = GRAPH_BYTES * len(capture_sizes(flags))
    estimate = graphs if flags.estimate_cudagraphs else 0
    nccl = NCCL_BYTES if ranks > 1 else 0
    available = requested - weights - peak - WORKSPACE_BYTES - estimate - CONTEXT_BYTES - nccl
    per_token = shape.kv_bytes_per_token(
        tensor_parallel_size=ranks, fp8=flags.kv_cache_dtype == "fp8"
    )
    block = per_token * flags.block_size
    blocks = max(0, available) // block
    if flags.num_gpu_blocks_override is not None:
        blocks = flags.num_gpu_blocks_override
    return Ledger(
        device=device,
        requested=requested,
        weights=weights,
        kv_cache=blocks * block,
        activation_peak=peak,
        workspace=WORKSPACE_BYTES,
        cuda_graphs=graphs,
        graphs_estimate=estimate,
        cuda_context=CONTEXT_BYTES,
        nccl=nccl,
        late=LATE_BYTES,
        kv_bytes_per_token=per_token,
        block_size=flags.block_size,
        available_kv=available,
    )


def mib(n_bytes: float) -> int:
    """Return whole MiB, rounded, as nvidia-smi prints them."""
    return round(n_bytes / MIB)

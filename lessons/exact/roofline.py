"""Rooflines: how long a kernel must take, what memory latency allows, and a decode step by class of kernel.

A kernel moves bytes and does arithmetic at the same time, so it takes max(bytes / bandwidth, FLOP / peak), and no less than
a launch. A decode step is a sum of such kernels on one rank, and the gaps between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from labs.simulator.cost_model import PS_PER_MS, interpolate, profile
from labs.simulator.hardware.boxes import box
from labs.simulator.hardware.collectives import MEASURED_LINKS, Route, step_collectives
from labs.simulator.memory.ledger import LLAMA_70B, ModelShape
from lessons.exact.ledger import INT4_BITS

if TYPE_CHECKING:
    from labs.simulator.cost_model import Knots

type Weights = Literal["bf16", "fp8", "int4"]
type Activations = Literal["none", "static", "dynamic", "dynamic per tensor"]
"""How activations are quantized: not, by scales from calibration, by each token's maximum, by the maximum over all tokens."""

BANDWIDTH_SHARE = 0.80
"""What a good kernel reaches of peak bandwidth. Source: AIConfigurator's h100_sxm.yaml; the profiles of the labs use it too."""
COMPUTE_SHARE = 0.60
"""What a good matrix product reaches of peak arithmetic. Scenario constant."""
QUANT_US = 3.0
"""A kernel that only quantizes activations, at decode's few rows. Scenario constant; a poor one takes 8."""
HOST_US = 15.0
"""The host's work for one kernel without graphs: 5 for the launch call, the rest Python and dispatch. Scenario constant."""
LATENCY_S = 600e-9
"""From a load to its data in loaded HBM. Parameter, not measured here: 600 to 800 ns on an H100."""
LAYER_KERNELS = (
    "rms_norm", "qkv_proj", "rotary_embedding", "reshape_and_cache", "attention", "attention combine", "o_proj",
    "all_reduce", "rms_norm", "gate_up_proj", "silu_and_mul", "down_proj", "all_reduce",
)  # fmt: skip
"""Kernels of one layer of a Llama without quantization."""
QUANT_SITES = 4
"""Inputs of matrix products in a layer: QKV, output, gate and up, down."""


@dataclass(frozen=True)
class Accelerator:
    """A GPU's peaks, dense."""

    name: str
    hbm_bytes_per_s: float
    bf16_flops: float
    """FLOP per second."""
    fp8_flops: float
    sms: int


def _of_box(name: str, *, fp8_tflops: float, sms: int) -> Accelerator:
    found = box(name)
    return Accelerator(
        found.gpu_name, found.memory_gb_s * 1e9, found.bf16_tflops * 1e12, fp8_tflops * 1e12, sms
    )


H100_SXM = _of_box("h100-sxm-4", fp8_tflops=1979.0, sms=132)
"""Source: the box's file; FP8 and SMs from the data sheet."""
H200_SXM = Accelerator("NVIDIA H200", 4.8e12, 989.5e12, 1979e12, 132)
"""Source: NVIDIA's data sheet: the H100's arithmetic with faster and larger memory."""
A100_SXM = Accelerator("NVIDIA A100-SXM4-80GB", 2.039e12, 312e12, 312e12, 108)
"""Source: NVIDIA's data sheet. It has no FP8: such weights are multiplied in BF16."""
ACCELERATORS = {found.name: found for found in (H100_SXM, H200_SXM, A100_SXM)}


def kernel_s(
    n_bytes: float,
    flop: float,
    *,
    bytes_per_s: float,
    flops: float,
    launch_s: float = 0.0,
) -> float:
    """Return max(bytes / bandwidth, FLOP / peak) + launch, seconds. Raises ValueError for a rate that is not above 0.

    Source: Williams, Waterman and Patterson 2009, the roofline model.
    """
    if bytes_per_s <= 0 or flops <= 0:
        raise ValueError("a kernel needs a bandwidth and a peak above 0")
    return max(n_bytes / bytes_per_s, flop / flops) + launch_s


def ridge_tokens(accelerator: Accelerator, weights: Weights = "bf16") -> float:
    """Return the tokens in a step above which matrix products are bound by arithmetic: peak / (2 x weights a second).

    A weight of b bytes is read once and costs 2 FLOP a token. INT4 weights are multiplied in BF16.
    """
    flops = accelerator.fp8_flops if weights == "fp8" else accelerator.bf16_flops
    return flops * _width_bytes(weights) / (2 * accelerator.hbm_bytes_per_s)


def _width_bytes(weights: Weights) -> float:
    return {"bf16": 2.0, "fp8": 1.0, "int4": INT4_BITS / 8}[weights]


# -------------------------------------------------------------- bandwidth from bytes in flight


def in_flight_bytes(
    *, blocks_per_sm: int, threads: int, loads_per_thread: int, bytes_per_load: int
) -> int:
    """Return the bytes that one SM has asked for and not yet got, if every thread waits for all of its loads."""
    return blocks_per_sm * threads * loads_per_thread * bytes_per_load


def bandwidth_in_flight(
    accelerator: Accelerator, in_flight: float, *, latency_s: float = LATENCY_S
) -> float:
    """Return the bytes a second that ``in_flight`` bytes of each SM sustain: min(peak, bytes x SMs / latency).

    Little's law for memory. Raises ValueError for a latency that is not above 0.
    """
    if latency_s <= 0:
        raise ValueError("memory answers after a time above 0")
    return min(accelerator.hbm_bytes_per_s, in_flight * accelerator.sms / latency_s)


def needed_in_flight(accelerator: Accelerator, *, latency_s: float = LATENCY_S) -> float:
    """Return the bytes that each SM must have in flight for all of the bandwidth: peak x latency / SMs."""
    return accelerator.hbm_bytes_per_s * latency_s / accelerator.sms


def last_wave(
    blocks: int,
    accelerator: Accelerator,
    in_flight: float,
    *,
    blocks_per_sm: int = 1,
    latency_s: float = LATENCY_S,
    bytes_per_s: float | None = None,
) -> float:
    """Return how long a grid's last wave takes, over a full one: 0 if all are full, 1 if bytes in flight bind both.

    Each block reads as many bytes. A full wave moves them at ``bytes_per_s`` (the peak, unless told otherwise) or at
    what ``in_flight`` bytes of each SM sustain; a few blocks have memory for themselves, and are bound by latency
    only. Raises ValueError for an empty grid.
    """
    left = _left_over(blocks, accelerator, blocks_per_sm)
    if not left:
        return 0.0
    peak = accelerator.hbm_bytes_per_s if bytes_per_s is None else bytes_per_s
    places = accelerator.sms * blocks_per_sm
    full = min(peak, bandwidth_in_flight(accelerator, in_flight, latency_s=latency_s))
    few = min(peak, left * in_flight / blocks_per_sm / latency_s)
    return (left / few) / (places / full)


def wave_share(
    blocks: int, accelerator: Accelerator, *, blocks_per_sm: int = 1, last: float = 1.0
) -> float:
    """Return which share of the GPU's places a grid keeps busy, over the time of all its waves.

    ``last`` is the time of a partly filled last wave over that of a full one. 1 holds if every block takes equally long in
    any company; it is what profilers assume, and the least that the share can be. A kernel bound by memory empties sooner:
    see :func:`last_wave`. Raises ValueError for an empty grid.
    """
    left = _left_over(blocks, accelerator, blocks_per_sm)
    places = accelerator.sms * blocks_per_sm
    if not left:
        return 1.0
    whole = blocks // places
    return (whole * places + left * last) / ((whole + last) * places)


def _left_over(blocks: int, accelerator: Accelerator, blocks_per_sm: int) -> int:
    if blocks < 1:
        raise ValueError("a grid has at least one block")
    return blocks % (accelerator.sms * blocks_per_sm)


# -------------------------------------------------------------------------- a decode step


@dataclass(frozen=True)
class Setup:
    """How a model is served, as far as the kernels of a decode step go."""

    weights: Weights = "bf16"
    activations: Activations = "none"
    fused: bool = False
    """Quantization is folded into the kernel before it, where that can be."""
    native: bool = True
    """FP8 products run in FP8. False: weights are widened to BF16 in the kernel, as Marlin does, and nothing is quantized."""
    graphs: bool = True
    """The whole step is one CUDA graph."""
    quant_us: float = QUANT_US
    host_us: float = HOST_US

    def __post_init__(self) -> None:
        """Refuse activations that the kernel would not use."""
        multiplies_fp8 = self.weights == "fp8" and self.native
        if (self.activations == "none") == multiplies_fp8:
            raise ValueError(
                f"{self.weights} weights, native {self.native}: no {self.activations} activations"
            )

    @property
    def quant_kernels_per_layer(self) -> int:
        """Kernels that do nothing but quantize.

        A scale of calibration or of one token takes one kernel each; one over all tokens takes two, the maximum first, and
        cannot be folded into a kernel that works row by row. vLLM folds a calibrated scale into both norms and the
        activation, a token's scale into the norms only; attention as it runs on Hopper takes neither.
        Source: vLLM's page on fusions, support matrix, SM90.
        """
        match self.activations:
            case "none":
                return 0
            case "static":
                return 1 if self.fused else QUANT_SITES
            case "dynamic":
                return 2 if self.fused else QUANT_SITES
            case "dynamic per tensor":
                return 2 * QUANT_SITES


@dataclass(frozen=True)
class Part:
    """One class of kernels in a step, or its gaps."""

    name: str
    """The words of ``labs.instruments.profile_trace``, and lm_head."""
    kernels: int
    ms: float


@dataclass(frozen=True)
class StepTable:
    """A decode step of one rank, by class; the parts add up to the step."""

    parts: tuple[Part, ...]

    @property
    def step_ms(self) -> float:
        """The whole step."""
        return sum(part.ms for part in self.parts)

    def ms(self, name: str) -> float:
        """Return the time of one class. Raises KeyError for a class that is not there."""
        return {part.name: part.ms for part in self.parts}[name]


def _beside_ms(batch: int) -> float:
    """Return what a step of the profile llama-70b takes beside weights, KV and the collectives that its fit holds."""
    llama = profile("llama-70b")
    ranks = llama.tensor_parallel_size
    healthy_ps = interpolate(_collectives(llama.num_hidden_layers, llama.hidden_size, ranks), batch)
    fitted_ms = llama.base_ms - llama.weight_read_ms + batch * llama.sequence_ms
    return max(0.0, fitted_ms - healthy_ps / PS_PER_MS)


def _collectives(layers: int, hidden: int, ranks: int) -> Knots:
    route = Route(ranks=ranks, links=MEASURED_LINKS)
    return step_collectives(num_hidden_layers=layers, hidden_size=hidden, route=route)


def decode_step(
    setup: Setup,
    *,
    batch: int,
    context_tokens: int,
    model: ModelShape = LLAMA_70B,
    tensor_parallel_size: int = 4,
    accelerator: Accelerator = H100_SXM,
    bandwidth_share: float = BANDWIDTH_SHARE,
) -> StepTable:
    """Return a decode step of ``batch`` sequences of ``context_tokens`` each, by class, on one rank.

    The embedding is looked up, not read; the head is read, and stays in BF16. Collectives are those of the labs' table
    over NVLink. Small kernels and the host's work come from the profile llama-70b, whatever the model. Without graphs the host
    launches kernel by kernel, ahead of the GPU while it can: what it needs beyond the kernels' own time is
    gaps. Takes under 1 ms. Raises ValueError for a batch or a context below 1.
    """
    if batch < 1 or context_tokens < 1:
        raise ValueError("a decode step has a sequence with a token")
    bytes_per_s = accelerator.hbm_bytes_per_s * bandwidth_share
    fp8 = setup.weights == "fp8" and setup.native
    flops = (accelerator.fp8_flops if fp8 else accelerator.bf16_flops) * COMPUTE_SHARE
    bf16 = accelerator.bf16_flops * COMPUTE_SHARE
    head = model.vocab * model.hidden / tensor_parallel_size
    inner = (model.parameters - 2 * model.vocab * model.hidden) / tensor_parallel_size
    kv_bytes = model.kv_bytes_per_token(tensor_parallel_size=tensor_parallel_size)
    scores = 4 * model.layers * model.heads * model.head_dim / tensor_parallel_size
    tokens = batch * context_tokens
    quants = model.layers * setup.quant_kernels_per_layer
    ranks = tensor_parallel_size
    reduces = 2 * model.layers if ranks > 1 else 0
    reduce_ps = interpolate(_collectives(model.layers, model.hidden, ranks), batch)
    parts = [
        Part("gemm", 4 * model.layers, 1e3 * kernel_s(
            inner * _width_bytes(setup.weights), 2 * inner * batch, bytes_per_s=bytes_per_s, flops=flops)),
        Part("attention", 2 * model.layers, 1e3 * kernel_s(
            tokens * kv_bytes, tokens * scores, bytes_per_s=bytes_per_s, flops=bf16)),
        Part("all-reduce", reduces, reduce_ps / PS_PER_MS),
        Part("quant", quants, quants * setup.quant_us / 1e3),
        Part("lm_head", 1, 1e3 * kernel_s(
            2 * head, 2 * head * batch, bytes_per_s=bytes_per_s, flops=bf16)),
    ]  # fmt: skip
    gaps_ms = _beside_ms(batch)
    if not setup.graphs:
        busy_ms = sum(part.ms for part in parts)
        gaps_ms += max(0.0, host_ms(setup, model.layers, ranks=ranks) - busy_ms)
    return StepTable((*parts, Part("gaps", 0, gaps_ms)))


def host_ms(setup: Setup, layers: int, *, ranks: int = 4) -> float:
    """Return what the host needs to launch a step kernel by kernel, milliseconds."""
    reduces = 0 if ranks > 1 else LAYER_KERNELS.count("all_reduce")
    kernels = layers * (len(LAYER_KERNELS) - reduces + setup.quant_kernels_per_layer)
    return kernels * setup.host_us / 1e3

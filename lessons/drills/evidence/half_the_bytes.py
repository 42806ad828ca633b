"""Drill 4.1: an FP8 checkpoint is live and tokens come no faster. A decode step by class, as its kernels compute it.

Every step is ``lessons.exact.roofline.decode_step`` of a 70B at TP4 on H100s. The calm world quantizes by scales from
calibration, folded in, under a full graph. Scenario constants: 1,100 tokens of context, 28 to 36 sequences, a poor
quantization kernel of 7.5 to 9 µs, a host of 11.7 to 13 µs a launch, an attention backend 5 to 6 times as slow, and as many
sequences as make a batch of 140 to 190 where the cache allows it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from labs.simulator.kernels import FP8_KERNELS
from labs.simulator.memory.ledger import GIB, LLAMA_70B
from lessons.drills.evidence import Observed
from lessons.exact.draws import generator
from lessons.exact.roofline import Setup, StepTable, decode_step

if TYPE_CHECKING:
    from labs.marking.table import Value

CONTEXT = 1_100
RANKS = 4
BF16 = Setup()
CALM = Setup("fp8", "static", fused=True)
CLASSES = ("gemm", "quant", "attention", "all-reduce", "gaps")
BEYOND_MS = 1.0
"""What a class may take more than the table before it is called out."""


@dataclass(frozen=True)
class Case:
    """One world: how FP8 runs, and beside how many."""

    setup: Setup
    usual_batch: int
    """Sequences in a step before the change, and in every world but one after it."""
    batch: int
    attention_factor: float
    """Time of attention over the table's."""
    util: float
    score: float
    compared_at_equal_batch: bool = False

    def step(self, batch: int | None = None) -> StepTable:
        """Return the decode step."""
        found = decode_step(self.setup, batch=batch or self.batch, context_tokens=CONTEXT)
        return StepTable(
            tuple(
                replace(part, ms=part.ms * self.attention_factor)
                if part.name == "attention"
                else part
                for part in found.parts
            )
        )

    @property
    def ratio(self) -> float:
        """Time a token over that of the BF16 service as it was."""
        batch = self.usual_batch if self.compared_at_equal_batch else self.batch
        before = decode_step(BF16, batch=self.usual_batch, context_tokens=CONTEXT)
        return self.step(batch).step_ms / before.step_ms

    @property
    def beyond(self) -> str:
        """Return the class that takes most over what it should at this batch."""
        table, step = decode_step(CALM, batch=self.batch, context_tokens=CONTEXT), self.step()
        more = {name: step.ms(name) - table.ms(name) for name in CLASSES}
        most = max(more, key=lambda name: more[name])
        return most if more[most] > BEYOND_MS else "none"

    @property
    def kernel(self) -> str:
        """Return what the start named for the linear layers."""
        return FP8_KERNELS[0] if self.setup.weights == "fp8" else "UnquantizedLinearMethod"

    @property
    def weights_gib(self) -> float:
        """Of one rank."""
        fp8 = self.setup.weights == "fp8"
        return LLAMA_70B.weights_bytes(tensor_parallel_size=RANKS, fp8=fp8) / GIB


def _case(world: str, seed: int) -> Case:
    rng = generator("drill-4.1", seed)
    usual = int(rng.integers(28, 37))
    crowd = int(rng.integers(140, 191))
    quant_us = float(rng.uniform(7.5, 9.0))
    host_us = float(rng.uniform(11.7, 13.0))
    slower = float(rng.uniform(5.0, 6.0))
    calm = Case(CALM, usual, usual, 1.0, float(rng.uniform(96, 100)), float(rng.uniform(-0.4, 0.4)))
    poor = Setup("fp8", "dynamic per tensor", quant_us=quant_us)
    match world:
        case "quantizers":
            return replace(calm, setup=poor)
        case "eager":
            return replace(calm, setup=replace(CALM, graphs=False, host_us=host_us))
        case "attention":
            return replace(calm, attention_factor=slower)
        case "widened":
            return replace(calm, setup=BF16)
        case "fuller":
            return replace(calm, batch=crowd)
    raise KeyError(world)


def _changed(case: Case, fix: str) -> Case:
    match fix:
        case "calibrate":
            if case.setup.weights != "fp8":
                return case
            return replace(case, setup=replace(case.setup, activations="static", fused=True))
        case "graph":
            return replace(case, setup=replace(case.setup, graphs=True))
        case "backend":
            return replace(case, attention_factor=1.0)
        case "loader":
            return case if case.setup.weights == "fp8" else replace(case, setup=CALM)
        case "leave":
            return replace(case, compared_at_equal_batch=True)
    raise KeyError(fix)


def observe(world: str, seed: int, fix: str | None = None) -> Observed:
    """Return what a world reads. A fix changes how the step is run, or at which batch it is compared. Takes 1 ms."""
    case = _case(world, seed)
    if fix is not None:
        case = _changed(case, fix)
    step = case.step()
    values: dict[str, Value] = {
        "tpot_ratio": case.ratio,
        "beyond": case.beyond,
        "linear_kernel": case.kernel,
        "weights_gib": case.weights_gib,
        "full_graph": 1.0 if case.setup.graphs else 0.0,
        "running": float(case.batch),
        "gpu_util": case.util,
        "score_change": case.score,
    }
    quants = next(part.kernels for part in step.parts if part.name == "quant")
    prints = {
        "trace": (
            f"one decode step, {step.step_ms:.2f} ms, batch {case.batch}",
            f"matrix products   {step.ms('gemm') + step.ms('lm_head'):>7.2f} ms",
            f"quantisation      {step.ms('quant'):>7.2f} ms in {quants} kernels",
            f"attention         {step.ms('attention'):>7.2f} ms",
            f"all-reduce        {step.ms('all-reduce'):>7.2f} ms",
            f"gaps              {step.ms('gaps'):>7.2f} ms",
        ),
        "kernel": (
            f"INFO [__init__.py:405] Selected {case.kernel} for Fp8LinearMethod"
            if case.setup.weights == "fp8"
            else f"(no line of a linear kernel; layers are of {case.kernel})",
        ),
        "weights": (f"(Worker_TP0) INFO Model loading took {case.weights_gib:.2f} GiB memory",),
        "graphs": (
            f"steps of the last minute in a full graph: {100 if case.setup.graphs else 0} %",
        ),
        "running": (f"vllm:num_requests_running {case.batch}",),
        "utilisation": (f"GPU utilisation: {case.util:.0f} %",),
        "quality": (f"evaluation suite: {case.score:+.1f} points against BF16; passed",),
    }
    return Observed(values, prints)

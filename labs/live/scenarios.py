"""What can be compared: the reference storm, and the traffic of any lab that can run live."""

from __future__ import annotations

from dataclasses import replace

from labs.live.comparison import Run, Scenario
from labs.simulator.config import EngineConfig
from labs.simulator.request import Request

STORM = "storm"
_BASE = EngineConfig(
    num_gpu_blocks=128,
    max_num_seqs=32,
    max_num_batched_tokens=2048,
    block_size=32,
    max_model_len=1024,
)
_APART_S = 1e-6
"""Requests of one instant reach a server one after the other: its first step sees the first of them alone."""


def storm() -> Scenario:
    """Return 48 streams of 64 prompt and 512 output tokens at once, in a pool that holds a tenth of what they want.

    Its four configurations: the storm, a cap on sequences, a watermark, and five times the pool.
    """
    return Scenario(
        STORM,
        "48 streams at once, 64 tokens in and 512 out, small-llama",
        tuple(Request(f"r{i:03}", i * _APART_S, 64, 512) for i in range(48)),
        (
            Run("A", "storm: 128 blocks, 32 sequences", _BASE),
            Run("B", "cap: 7 sequences", replace(_BASE, max_num_seqs=7)),
            Run("C", "watermark 0.25", replace(_BASE, watermark=0.25)),
            Run("D", "five times the pool: 640 blocks", replace(_BASE, num_gpu_blocks=640)),
        ),
    )

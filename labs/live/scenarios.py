"""What can be compared: the reference storm, and the traffic of any lab that can run live."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labs import worlds
from labs.live.comparison import Run, Scenario, sent_at
from labs.simulator.config import EngineConfig
from labs.simulator.request import Request

if TYPE_CHECKING:
    from labs.specs import LabSpec

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


def of_lab(spec: LabSpec, seed: int) -> Scenario:
    """Return the traffic of a live lab's world from its start to its page, under the knobs that its engine begins with.

    What its router adds is left out: both backends get each request when its client sent it.
    """
    name = worlds.hypothesis_of(spec, seed)
    world = worlds.build(spec, name, seed)
    start_s = float(spec.timeline.starts_at_s)
    requests = tuple(
        sent_at(each, each.arrival_s - start_s) for each in world.cluster.workload.until(0.0)
    )
    return Scenario(
        spec.slug,
        f"{spec.title}: {spec.hypotheses[name].title}, seed {seed}",
        requests,
        (Run(name, spec.hypotheses[name].title, world.fleet.config),),
        is_exact=False,
    )

"""What a profiler shows of an engine's steps: the kernels of each rank by class, as a trace and as a table.

A step's time is taken apart by the cost model that made it: reading the weights and prefill are matrix products
(gemm), reading KV is attention, the terms per sequence and token are other kernels, and what a step takes beyond
them are gaps, in which the GPU waits for the host. All ranks of a group end their step together: a rank that
is done early waits within its all-reduce, so that the slowest rank has the shortest.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from labs.simulator.cost_model import interpolate
from labs.simulator.request import PS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from labs.simulator.cost_model import CostModel
    from labs.simulator.telemetry import StepRecord

CLASSES = ("gemm", "attention", "all-reduce", "quant", "other", "gaps")
KERNELS = {
    "gemm": "nvjet_tst_TNT",
    "attention": "flash::FlashAttnFwdSm90",
    "all-reduce": "all_reduce",
    "quant": "vllm::dynamic_per_token_scaled_fp8_quant_kernel",
    "other": "vllm::fused_add_rms_norm_kernel",
}
"""A kernel that stands for its class."""
BLOCKS = 4
"""A trace shows the layers in so many blocks: all layers apart would be a hundred thousand kernels a second."""
_PS_PER_US = 1_000_000


@dataclass(frozen=True)
class Profiler:
    """A profiler, and what it costs the engine that it looks at."""

    name: str
    slowdown: float
    """Factor on every step while it runs."""
    sees_kernels: bool
    source: str


PROFILERS = {
    "torch": Profiler(
        "torch.profiler", 1.30, True,
        "scenario constant: CPU and CUDA activities with shapes cost an engine some tens of percent",
    ),
    "nsys": Profiler(
        "nsys", 1.04, True,
        "scenario constant: CUDA and NVTX tracing at the level of graphs costs a few percent; of each node 10 to 20",
    ),
    "py-spy": Profiler(
        "py-spy", 1.0, False,
        "scenario constant: it reads the process from outside; a hundred samples a second do not show in a step",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Rank:
    """One rank of a group, and what a step would cost on it alone."""

    index: int
    cost: CostModel
    quant_ps: int = 0
    """The part of ``base_ps`` that quantizes activations in kernels of its own."""


type Parts = dict[str, int]
"""Picoseconds by class."""


def parts(record: StepRecord, rank: Rank, layout_ps: int | None = None) -> Parts:
    """Return the time of a step by class on one rank, whole picoseconds; the sum is the step.

    ``layout_ps`` overrides the step's own length. Work that does not fit into it is cut in proportion, which
    happens only if ``rank.cost`` is not what the step was made with.
    """
    step_ps = layout_ps or round((record.end_s - record.start_s) * PS_PER_S)
    cost, tokens = rank.cost, record.scheduled_tokens
    prefill_ps = record.prefill_tokens * cost.per_prefill_token_ps
    sequences = record.running + len(record.finished)
    other_ps = sequences * cost.per_sequence_ps + tokens * cost.per_token_ps
    launch_ps = max(0, cost.base_ps - cost.weight_read_ps - rank.quant_ps)
    # The profile's terms hold the collectives of healthy links: they are taken out where they can have been.
    included_ps = interpolate(cost.collectives_included, tokens)
    launch_ps, included_ps = _less(launch_ps, included_ps)
    prefill_ps, included_ps = _less(prefill_ps, included_ps)
    other_ps, included_ps = _less(other_ps, included_ps)
    found = {
        "gemm": cost.weight_read_ps + prefill_ps,
        "attention": record.kv_tokens * cost.per_kv_token_ps,
        "all-reduce": cost.collectives_ps(tokens),
        "quant": rank.quant_ps,
        "other": other_ps,
        "gaps": launch_ps,
    }
    total_ps = sum(found.values())
    if total_ps > step_ps:
        found = {name: took_ps * step_ps // total_ps for name, took_ps in found.items()}
    waits = "all-reduce" if cost.collectives else "gaps"
    found[waits] += step_ps - sum(found.values())
    return found


def _less(took_ps: int, out_ps: int) -> tuple[int, int]:
    """Take ``out_ps`` out of ``took_ps``; return what is left of both."""
    taken = min(took_ps, out_ps)
    return took_ps - taken, out_ps - taken


def totals(records: Sequence[StepRecord], rank: Rank) -> Parts:
    """Return the time of all steps by class on one rank, picoseconds; pauses between steps count as gaps."""
    found = dict.fromkeys(CLASSES, 0)
    for record in records:
        for name, took_ps in parts(record, rank).items():
            found[name] += took_ps
    for before, after in pairwise(records):
        found["gaps"] += max(0, round((after.start_s - before.end_s) * PS_PER_S))
    return found


def trace(
    records: Sequence[StepRecord], ranks: Sequence[Rank], profiler: Profiler
) -> dict[str, object]:
    """Return the steps as Chrome's trace events, which Perfetto opens: plain values, ready for ``json.dumps``.

    A process for each rank, in it a thread of steps and one of kernels; times are microseconds from
    the first step on. Raises ValueError for a profiler that sees no kernels.
    """
    if not profiler.sees_kernels:
        raise ValueError(f"{profiler.name} samples the host's stacks: it sees no kernel")
    events: list[dict[str, object]] = []
    for rank in ranks:
        events += _names(rank)
        events += _events(records, rank)
    return {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {
            "profiler": profiler.name,
            "slowdown": profiler.slowdown,
            "note": f"Every step took {100 * (profiler.slowdown - 1):.0f} % longer while {profiler.name} ran.",
        },
    }


def _names(rank: Rank) -> Iterator[dict[str, object]]:
    named = (
        ("process_name", 0, f"rank {rank.index}"),
        ("thread_name", 1, "steps"),
        ("thread_name", 7, "stream 7"),
    )
    for what, tid, name in named:
        yield {"ph": "M", "name": what, "pid": rank.index, "tid": tid, "args": {"name": name}}


def _events(records: Sequence[StepRecord], rank: Rank) -> Iterator[dict[str, object]]:
    origin_s = records[0].start_s if records else 0.0
    for record in records:
        start_ps = round((record.start_s - origin_s) * PS_PER_S)
        found = parts(record, rank)
        yield {
            "ph": "X", "cat": "step", "name": f"step {record.step}", "pid": rank.index, "tid": 1,
            "ts": start_ps / _PS_PER_US, "dur": sum(found.values()) / _PS_PER_US,
            "args": {
                "scheduled_tokens": record.scheduled_tokens, "prefill_tokens": record.prefill_tokens,
                "kv_tokens": record.kv_tokens, "running": record.running,
            },
        }  # fmt: skip
        for block in range(BLOCKS):
            # The host launches, the layer computes, and ends in its all-reduce.
            for name in ("gaps", "quant", "gemm", "attention", "other", "all-reduce"):
                took_ps = _share(found[name], block)
                if took_ps and name in KERNELS:
                    yield {
                        "ph": "X", "cat": "kernel", "name": KERNELS[name], "pid": rank.index, "tid": 7,
                        "ts": start_ps / _PS_PER_US, "dur": took_ps / _PS_PER_US,
                        "args": {"class": name, "block": f"{block + 1} of {BLOCKS}"},
                    }  # fmt: skip
                start_ps += took_ps


def _share(took_ps: int, block: int) -> int:
    return took_ps * (block + 1) // BLOCKS - took_ps * block // BLOCKS


def table(records: Sequence[StepRecord], ranks: Sequence[Rank], profiler: Profiler) -> str:
    """Return the time by class, milliseconds a step, one column a rank; a note on what the profiler cost above it."""
    if not records or not ranks:
        return f"{profiler.name}: no step ran in this window"
    count = len(records)
    took_s = records[-1].end_s - records[0].start_s
    cost = f"every step {100 * (profiler.slowdown - 1):.0f} % longer meanwhile"
    if profiler.slowdown == 1.0:
        cost = "at no cost that shows"
    head = f"{profiler.name}, {took_s:.1f} s: {count} steps, mean {1000 * took_s / count:.1f} ms; {cost}"
    found = [totals(records, rank) for rank in ranks]
    if not profiler.sees_kernels:
        return "\n".join([head, *_stacks(found[0])])
    rows = [
        f"{'ms a step':12}{'share':>7}" + "".join(f"{f'rank {rank.index}':>10}" for rank in ranks)
    ]
    whole = sum(found[0].values())
    for name in CLASSES:
        cells = "".join(f"{each[name] / count / 1e9:10.2f}" for each in found)
        rows.append(f"{name:12}{100 * found[0][name] / whole:5.1f} %{cells}")
    return "\n".join([head, *rows])


def _stacks(found: Parts) -> Iterator[str]:
    """Say what a sampler of the host's stacks sees: it waits for the GPU, or it does not."""
    whole = sum(found.values())
    gaps = 100 * found["gaps"] / whole
    yield f"{100 - gaps:5.1f} %  execute_model, waiting for the GPU"
    yield f"{gaps:5.1f} %  schedule, prepare inputs, launch, sample"

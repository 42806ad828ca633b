"""A step on a time axis: calls of the host, kernels and copies of the GPU, made for a seed, and the analysis of its gaps.

The host works through a list of operations in order: it prepares and launches kernels, which the GPU runs in
that order once they are there; a synchronizing call holds the host until the GPU is done with all before it. Gaps follow from
that and are not drawn: the GPU waits where the host was late, and why it was late is to be seen in its calls.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from labs.instruments.profile_trace import KERNELS
from lessons.exact.draws import generator

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np

type Kind = Literal["kernel", "copy", "launch", "sync", "host"]
type Cause = Literal["normal", "launch", "sync", "copy", "host"]
"""Why the GPU waits: between any two kernels; for late launches; for the host that had waited for it; for a copy; for other work."""

CAUSES: tuple[Cause, ...] = ("normal", "launch", "sync", "copy", "host")
ON_GPU: tuple[Kind, ...] = ("kernel", "copy")
NORMAL_US = 2.0
"""Gaps up to this length stand between any two kernels of a stream."""
CALLED_US = 3.0
"""A kernel that starts within this time of the end of its launch was waited for."""
GRAPH_LAUNCH_US = 10.0
"""The host's call for a whole graph; one that stops for a value needs two graphs. Scenario constant."""
LAYER = ("gemm", "other", "attention", "gemm", "all-reduce", "other", "gemm", "gemm", "all-reduce")
"""Classes of the nine kernels of a layer in the scenario: 720 in 80 layers."""


@dataclass(frozen=True)
class Interval:
    """Something that took time, microseconds from the start of the step."""

    kind: Kind
    name: str
    start_us: float
    end_us: float
    correlation: int = -1
    """Joins a launch and its kernel; -1: none."""

    @property
    def took_us(self) -> float:
        """Its length."""
        return self.end_us - self.start_us


@dataclass(frozen=True)
class Scenario:
    """What makes the gaps of a step. Every number is a scenario constant."""

    layers: int = 80
    kernel_us: float = 14.0
    """Mean time of a kernel; all of a class take about as long."""
    launch_us: float = 16.0
    """Mean time in which the host prepares and launches one kernel; 0 for a graph, which needs one launch in all."""
    scheduling_us: float = 900.0
    """The host's work before the first launch: schedule, prepare inputs."""
    sync_after: int | None = 40
    """Layer after which something asks the GPU for a value and waits; None: nothing does."""
    sync_work_us: float = 1_390.0
    """What the host does with that value before it goes on launching."""
    copy_us: float = 0.0
    """A blocking copy from pageable memory before the first kernel, in the stream; 0: none."""


HEALTHY = Scenario(launch_us=0.0, scheduling_us=200.0, sync_after=None)
SCENARIOS = {
    "healthy": HEALTHY,
    "launch": replace(HEALTHY, launch_us=20.0),
    "sync": replace(HEALTHY, sync_after=40),
    "copy": replace(HEALTHY, copy_us=1_400.0),
    "host": replace(HEALTHY, scheduling_us=1_800.0),
    "several": Scenario(),
}
"""One cause each, and the step in which all but a copy come together."""


@dataclass(frozen=True)
class Timeline:
    """A step's intervals in order of their start, and its end."""

    intervals: tuple[Interval, ...]
    step_us: float

    def of(self, *kinds: Kind) -> tuple[Interval, ...]:
        """Return the intervals of these kinds."""
        return tuple(one for one in self.intervals if one.kind in kinds)


_SHARE_OF_MEAN = {"gemm": 1.55, "attention": 1.0, "all-reduce": 0.55, "other": 0.35}
"""How long a kernel of a class takes over the mean of a layer's nine, about. Scenario constants: the nine add up to 9."""


def timeline(scenario: Scenario, seed: int) -> Timeline:
    """Return one step of ``scenario``; the same kernels and launches whatever is switched off. Takes 0.01 s for 720 kernels."""
    kernels, launches = generator("kernels", seed), generator("launches", seed)
    count = scenario.layers * len(LAYER)
    took_us = _kernel_us(scenario, kernels)
    # Python's work for a launch varies: mostly short, sometimes long.
    launch_us = (scenario.launch_us * (0.5 + 0.5 * launches.standard_exponential(count))).tolist()
    found: list[Interval] = []
    host_us = gpu_us = 0.0

    def host(kind: Kind, name: str, took: float, correlation: int = -1) -> None:
        nonlocal host_us
        if took > 0:
            found.append(Interval(kind, name, host_us, host_us + took, correlation))
            host_us += took

    host("host", "schedule and prepare inputs", scenario.scheduling_us)
    if scenario.copy_us:
        found.append(Interval("copy", "Memcpy HtoD", host_us, host_us + scenario.copy_us))
        gpu_us = host_us + scenario.copy_us
        host("sync", "cudaMemcpy", scenario.copy_us)
    if not scenario.launch_us:
        host("launch", "cudaGraphLaunch", GRAPH_LAUNCH_US)
    for index in range(count):
        if scenario.launch_us:
            host("launch", "cudaLaunchKernel", launch_us[index], index)
        # Between two kernels of a stream the hardware needs about a microsecond.
        start_us = max(host_us, gpu_us + 1.0 if index else gpu_us)
        gpu_us = start_us + took_us[index]
        name = KERNELS[LAYER[index % len(LAYER)]]
        found.append(Interval("kernel", name, start_us, gpu_us, index))
        if scenario.sync_after is not None and index + 1 == scenario.sync_after * len(LAYER):
            host("sync", "cudaStreamSynchronize", max(0.0, gpu_us - host_us) + 5.0)
            host("host", "tensor.item() and what follows", scenario.sync_work_us)
            if not scenario.launch_us:
                host("launch", "cudaGraphLaunch", GRAPH_LAUNCH_US)
    host("sync", "cudaStreamSynchronize", max(0.0, gpu_us - host_us))
    found.sort(key=lambda one: (one.start_us, one.end_us))
    return Timeline(tuple(found), max(host_us, gpu_us))


def _kernel_us(scenario: Scenario, rng: np.random.Generator) -> list[float]:
    count = scenario.layers * len(LAYER)
    mean = sum(_SHARE_OF_MEAN[name] for name in LAYER) / len(LAYER)
    spread = (1 + 0.05 * rng.standard_normal(count)).clip(0.5).tolist()
    return [
        scenario.kernel_us * _SHARE_OF_MEAN[LAYER[index % len(LAYER)]] / mean * spread[index]
        for index in range(count)
    ]


# ------------------------------------------------------------------------------ the analyser


def union(intervals: Iterable[Interval]) -> tuple[tuple[float, float], ...]:
    """Return what ``intervals`` cover together, as (start, end) in order: overlapping streams count once."""
    found: list[tuple[float, float]] = []
    for start_us, end_us in sorted((one.start_us, one.end_us) for one in intervals):
        if found and start_us <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end_us))
        else:
            found.append((start_us, end_us))
    return tuple(found)


@dataclass(frozen=True)
class Gap:
    """A time in which no kernel runs."""

    start_us: float
    end_us: float
    cause: Cause

    @property
    def took_us(self) -> float:
        """Its length."""
        return self.end_us - self.start_us


def gaps(found: Timeline) -> tuple[Gap, ...]:
    """Return all time in which no kernel runs, in order, each piece with its cause.

    A copy that no kernel hides is a piece of its own. Of the others, in this order: up to 2 us, normal; a synchronizing call
    ended within it, so that nothing more was launched, sync; the next kernel starts as its launch ends, and launches
    fill half of it, launch; else host. Takes 0.01 s for 720 kernels.
    """
    kernels = found.of("kernel")
    called = {one.correlation: one.end_us for one in found.of("launch")}
    starts = {one.start_us: one.correlation for one in kernels}
    launches, syncs = union(found.of("launch")), found.of("sync")
    pieces = [Gap(a, b, "copy") for one in found.of("copy") for a, b in _holes(
        kernels, one.start_us, one.end_us)]  # fmt: skip
    for a, b in _holes(found.of(*ON_GPU), 0.0, found.step_us):
        pieces.append(Gap(a, b, _cause(a, b, launches, syncs, called.get(starts.get(b, -1)))))
    return tuple(sorted(pieces, key=lambda gap: gap.start_us))


def _holes(
    intervals: Iterable[Interval], from_us: float, to_us: float
) -> list[tuple[float, float]]:
    """Return what ``intervals`` leave open between two times."""
    edges = [from_us]
    for start_us, end_us in union(intervals):
        if end_us > from_us and start_us < to_us:
            edges += [max(start_us, from_us), min(end_us, to_us)]
    edges.append(to_us)
    return [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if b > a]


def _cause(
    start_us: float,
    end_us: float,
    launches: Sequence[tuple[float, float]],
    syncs: Sequence[Interval],
    launched_us: float | None,
) -> Cause:
    if end_us - start_us <= NORMAL_US:
        return "normal"
    if any(start_us < one.end_us < end_us for one in syncs):
        return "sync"
    covered_us = sum(max(0.0, min(b, end_us) - max(a, start_us)) for a, b in launches)
    waited_for = launched_us is not None and end_us - launched_us <= CALLED_US
    return "launch" if waited_for and covered_us >= (end_us - start_us) / 2 else "host"


@dataclass(frozen=True)
class Analysis:
    """A step in sums, microseconds; ``idle_us`` by cause adds up to the step less ``busy_us``."""

    step_us: float
    busy_us: float
    """Of the union of kernels."""
    summed_us: float
    """Of all kernels one by one: more than ``busy_us`` where streams overlap."""
    idle_us: dict[Cause, float]
    longest: Gap

    def worth(self, cause: Cause) -> float:
        """Return the share of the step that gaps of ``cause`` are: what removing the cause is worth, about.

        Not exactly: kernels still keep a microsecond apart, and a host that need not wait gets further ahead.
        ``removed`` gives the step itself.
        """
        return self.idle_us[cause] / self.step_us


def analyse(found: Timeline) -> Analysis:
    """Return what a step was made of. Raises ValueError for one without a gap."""
    kernels = found.of("kernel")
    all_gaps = gaps(found)
    if not all_gaps:
        raise ValueError("a step without a gap needs no analysis")
    idle: dict[Cause, float] = dict.fromkeys(CAUSES, 0.0)
    for gap in all_gaps:
        idle[gap.cause] += gap.took_us
    return Analysis(
        step_us=found.step_us,
        busy_us=sum(b - a for a, b in union(kernels)),
        summed_us=sum(one.took_us for one in kernels),
        idle_us=idle,
        longest=max(all_gaps, key=lambda gap: gap.took_us),
    )


def removed(scenario: Scenario, cause: Literal["launch", "sync", "copy", "host"]) -> Scenario:
    """Return ``scenario`` without what makes ``cause``: the same step again, to be measured instead of estimated."""
    match cause:
        case "launch":
            return replace(scenario, launch_us=0.0)
        case "sync":
            return replace(scenario, sync_after=None)
        case "copy":
            return replace(scenario, copy_us=0.0)
        case "host":
            return replace(scenario, scheduling_us=0.0)


_THREADS: dict[Kind, int] = {"kernel": 7, "copy": 7, "launch": 1, "sync": 1, "host": 1}


def trace(found: Timeline) -> dict[str, object]:
    """Return the step as Chrome's trace events, in the layout of ``labs.instruments.profile_trace``: host on thread 1.

    Plain values, ready for ``json.dumps``; times are microseconds, rounded to a nanosecond.
    """
    events: list[dict[str, object]] = [
        {"ph": "M", "name": what, "pid": 0, "tid": tid, "args": {"name": name}}
        for what, tid, name in (
            ("process_name", 0, "rank 0"),
            ("thread_name", 1, "host"),
            ("thread_name", 7, "stream 7"),
        )
    ]
    for one in found.intervals:
        event: dict[str, object] = {
            "ph": "X", "cat": one.kind, "name": one.name, "pid": 0, "tid": _THREADS[one.kind],
            "ts": round(one.start_us, 3), "dur": round(one.took_us, 3),
        }  # fmt: skip
        if one.correlation >= 0:
            event["args"] = {"correlation": one.correlation}
        events.append(event)
    return {"traceEvents": events, "displayTimeUnit": "ms"}

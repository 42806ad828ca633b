"""Which tool sees which layer, and over which lengths of time: a figure drawn by the template. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lessons.quantities import step_ms

if TYPE_CHECKING:
    from collections.abc import Sequence

_FROM_S, _TO_S = 1e-6, 1e6
_MINUTE_S, _HOUR_S, _DAY_S = 60.0, 3_600.0, 86_400.0


@dataclass(frozen=True)
class Tool:
    """A tool: the shortest thing that it tells apart and the longest stretch that it keeps, seconds.

    Orders of magnitude. What sets them stands beside each.
    """

    name: str
    sees: str
    layers: tuple[str, ...]
    shortest_s: float
    longest_s: float
    because: str


TOOLS: tuple[Tool, ...] = (
    Tool("Nsight Systems", "kernels, calls, transfers of all processes",
         ("compatibility", "overload"), 1e-6, 60.0, "single kernels; a minute fills gigabytes"),
    Tool("torch.profiler", "kernels and the Python that launched them",
         ("compatibility", "overload"), 1e-6, 10.0, "single kernels; ten seconds are long to flush"),
    Tool("py-spy", "what each thread of a process does, from outside",
         ("lifetime", "overload"), 1e-2, 10 * _MINUTE_S, "a hundred samples a second"),
    Tool("Histograms of the engine", "first tokens, gaps, queue times: every event, by size",
         ("overload", "memory"), 1e-2, 14 * _DAY_S, "counts events, so their length does not need a scrape"),
    Tool("Gauges of the engine", "running, waiting, KV usage",
         ("overload", "memory"), 15.0, 14 * _DAY_S, "one value a scrape, 15 s apart"),
    Tool("nvidia-smi", "memory, clocks, links, whether any kernel ran",
         ("memory", "compatibility"), 1 / 6, _HOUR_S, "samples of a sixth of a second or more, while you look"),
    Tool("DCGM and its exporter", "which part of the chip worked",
         ("overload", "compatibility"), 30.0, 14 * _DAY_S, "read every 30 s by default"),
    Tool("Memory history of torch", "allocations, and whose they are",
         ("memory",), 1e-5, _HOUR_S, "every allocation, until its buffer is full"),
    Tool("Start-up record and engine log", "what was chosen; a summary every 10 s",
         ("compatibility", "lifetime", "memory"), 10.0, 7 * _DAY_S, "until it rolls over"),
    Tool("Request log of the gateway", "who asked what, status and times, per request",
         ("boundary", "lifetime", "overload"), 1e-3, 14 * _DAY_S, "one line a request"),
)  # fmt: skip
"""From the finest to the widest, about."""


@dataclass(frozen=True)
class Mark:
    """Something of a known length, on the axis."""

    name: str
    seconds: float
    anchor: str = "middle"
    """Of its word: start, middle or end."""

    @property
    def at(self) -> str:
        return _place(self.seconds)


@dataclass(frozen=True)
class Reach:
    """A tool as the template draws it; ``start`` and ``width`` in per cent of the drawing."""

    tool: Tool
    start: str
    width: str
    spoken: str


@dataclass(frozen=True)
class Reaches:
    """The figure."""

    tools: Sequence[Reach]
    marks: Sequence[Mark]
    ticks: Sequence[Mark]


def _share(seconds: float) -> float:
    low, high = math.log10(_FROM_S), math.log10(_TO_S * 10)
    return (math.log10(seconds) - low) / (high - low)


def _place(seconds: float) -> str:
    return f"{100 * _share(seconds):.2f}%"


def length(seconds: float) -> str:
    """Return a length of time in words: one figure and the largest unit that fits."""
    for unit, size in (
        ("days", _DAY_S),
        ("h", _HOUR_S),
        ("min", _MINUTE_S),
        ("s", 1.0),
        ("ms", 1e-3),
    ):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds / 1e-6:.0f} µs"


def reaches() -> Reaches:
    """Return every tool on one axis of time, with a kernel, a step, an answer and an incident marked on it."""
    kernel_s = 14e-6
    step_s = step_ms(kv_tokens=112_000) / 1e3
    answer_s = step_s * 1_600
    drawn = [
        Reach(
            tool,
            _place(tool.shortest_s),
            f"{100 * (_share(tool.longest_s) - _share(tool.shortest_s)):.2f}%",
            f"{tool.name}: {tool.sees}. From {length(tool.shortest_s)} to {length(tool.longest_s)}; {tool.because}.",
        )
        for tool in TOOLS
    ]
    marks = [
        Mark("kernel", kernel_s),
        Mark("step", step_s),
        Mark("answer", answer_s, "end"),
        Mark("incident", 15 * _MINUTE_S, "start"),
    ]
    ticks = [
        Mark("1 µs", 1e-6, "start"),
        Mark("1 ms", 1e-3),
        Mark("1 s", 1.0),
        Mark("1 h", _HOUR_S),
        Mark("14 d", 14 * _DAY_S, "end"),
    ]
    return Reaches(drawn, marks, ticks)

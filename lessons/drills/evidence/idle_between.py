"""Drill 4.5: kernels of 10 ms in a step of 14. Steps of the course's timeline generator, taken apart by its analyser.

All steps have the same kernels; a world adds one cause of gaps, as large as a seed drew. The control is a healthy step seen
through a tracer that holds each kernel up. Scenario constants: the sizes of the causes; 4 to 5 µs of a tracer at each of 720
graph nodes; 2 % that a tracer of launches alone takes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from lessons.drills.evidence import Observed
from lessons.exact.draws import generator
from lessons.exact.timelines import (
    HEALTHY,
    NORMAL_US,
    Analysis,
    Interval,
    Scenario,
    Timeline,
    analyse,
    gaps,
    removed,
    timeline,
)

if TYPE_CHECKING:
    from labs.marking.table import Value

_SIZES = (0, 1, 2)
"""How large a cause is, in thirds of its range."""
_TIMELINES = 2
TRACED = 1.02
"""What a step with the tracer takes over one without, where it does not look into graphs. Scenario constant."""


@dataclass(frozen=True)
class Case:
    """One world: what makes the gaps, and how it was looked at."""

    scenario: Scenario
    node_us: float
    """By which the tracer holds up each kernel; 0: it does not."""
    drawn: int
    """Which of the generator's steps."""
    clock_mhz: float
    noise: float
    """Of one step against another, 1 on average."""
    without_tracer: bool = False


@dataclass(frozen=True)
class Seen:
    """A step as the trace has it."""

    found: Analysis
    gaps: int
    """Longer than normal."""
    launches: int
    copy_us: float


@lru_cache(maxsize=128)
def seen(scenario: Scenario, node_us: float, drawn: int) -> Seen:
    """Return a step taken apart. Takes 0.02 s."""
    step = _held_up(timeline(scenario, drawn), node_us)
    long = [gap for gap in gaps(step) if gap.took_us > NORMAL_US]
    copies = sum(one.took_us for one in step.of("copy"))
    return Seen(analyse(step), len(long), len(step.of("launch")), copies)


def _held_up(step: Timeline, node_us: float) -> Timeline:
    """Return ``step`` with each kernel ``node_us`` later than the one before it would let it be."""
    if not node_us:
        return step
    late_us, found = 0.0, list[Interval]()
    for one in step.intervals:
        if one.kind == "kernel":
            late_us += node_us
            found.append(replace(one, start_us=one.start_us + late_us, end_us=one.end_us + late_us))
        else:
            found.append(one)
    last = found[-1]
    if last.kind == "sync":
        found[-1] = replace(last, end_us=last.end_us + late_us)
    return Timeline(tuple(found), step.step_us + late_us)


def _case(world: str, seed: int) -> Case:
    rng = generator("drill-4.5", seed)
    size = _SIZES[int(rng.integers(len(_SIZES)))] / (len(_SIZES) - 1)
    drawn = int(rng.integers(_TIMELINES))
    calm = Case(HEALTHY, 0.0, drawn, float(rng.uniform(1965, 1980)), float(rng.normal(1, 0.01)))
    more_us = 2_600.0 + 1_000.0 * size
    match world:
        case "sync":
            return replace(calm, scenario=replace(HEALTHY, sync_after=40, sync_work_us=more_us))
        case "launch":
            return replace(calm, scenario=replace(HEALTHY, launch_us=18.8 + 1.4 * size))
        case "host":
            slow = replace(HEALTHY, scheduling_us=HEALTHY.scheduling_us + more_us)
            return replace(calm, scenario=slow)
        case "copy":
            return replace(calm, scenario=replace(HEALTHY, copy_us=more_us))
        case "tracer":
            return replace(calm, node_us=4.0 + size)
    raise KeyError(world)


def _changed(case: Case, fix: str) -> Case:
    match fix:
        case "graph":
            return replace(case, scenario=removed(case.scenario, "launch"))
        case "no_wait":
            return replace(case, scenario=removed(case.scenario, "sync"))
        case "overlap":
            # Scheduling of the next step beside this one: what is hidden is what was too much.
            least = min(case.scenario.scheduling_us, HEALTHY.scheduling_us)
            return replace(case, scenario=replace(case.scenario, scheduling_us=least))
        case "pinned":
            return replace(case, scenario=removed(case.scenario, "copy"))
        case "leave":
            return replace(case, without_tracer=True)
    raise KeyError(fix)


def observe(world: str, seed: int, fix: str | None = None) -> Observed:
    """Return what a world reads. A fix takes its cause out of the generator, or the tracer away. Takes 0.03 s at first."""
    case = _case(world, seed)
    if fix is not None:
        case = _changed(case, fix)
    node_us = 0.0 if case.without_tracer else case.node_us
    looked, bare = seen(case.scenario, node_us, case.drawn), seen(case.scenario, 0.0, case.drawn)
    found = looked.found
    step_ms = found.step_us * case.noise / 1e3
    untraced_ms = bare.found.step_us * case.noise / 1e3 / TRACED
    causes = {name: us for name, us in found.idle_us.items() if name != "normal"}
    main = max(causes, key=lambda name: causes[name])
    values: dict[str, Value] = {
        "step_ms": step_ms,
        "main_cause": main,
        "gaps": float(looked.gaps),
        "untraced_ms": untraced_ms,
        "launches": float(looked.launches),
        "copy_ms": looked.copy_us / 1e3,
        "kernel_us": found.summed_us / 720,
        "clock_mhz": case.clock_mhz,
    }
    prints = {
        "gaps": (
            f"step {step_ms:.2f} ms, union of kernels {found.busy_us / 1e3:.2f} ms",
            *(f"idle, {name:<7} {us / 1e3:>6.2f} ms" for name, us in found.idle_us.items()),
            f"{looked.gaps} gaps above {NORMAL_US:.0f} µs, the longest {found.longest.took_us:,.0f} µs",
        ),
        "untraced": (
            "Iteration(4711): 0 context requests, 0 context tokens, 32 generation requests,",
            f"iteration elapsed time: {untraced_ms:.2f} ms",
        ),
        "api": (f"cudaLaunchKernel, cudaGraphLaunch: {looked.launches} calls in the step",),
        "copies": (f"[CUDA memcpy HtoD] {looked.copy_us / 1e3:.2f} ms in the step",),
        "kernels": (
            f"720 kernels, {found.summed_us / 1e3:.2f} ms, mean {found.summed_us / 720:.1f} µs",
            f"in the benchmark: mean {HEALTHY.kernel_us:.1f} µs",
        ),
        "clocks": (f"SM clock {case.clock_mhz:.0f} MHz of 1980; no throttle reason",),
    }
    return Observed(values, prints)

"""Replay of a recording of vLLM's own scheduler: the same requests, and every decision compared."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labs.simulator.request import Request, Status
from labs.simulator.scheduler import Scheduler, StepPlan
from labs.simulator.trace_file import Trace, TraceError, read_trace

__all__ = ["Difference", "ReplayResult", "TraceError", "replay", "replay_trace"]


USAGE_TOLERANCE = 1.5e-6
"""Recordings round the usage to six places."""


@dataclass(slots=True, frozen=True)
class Difference:
    """The first thing that is not as recorded."""

    step: int | None
    """The recorded step; None for the summary."""
    field: str
    ours: object
    theirs: object

    def __str__(self) -> str:
        where = "summary" if self.step is None else f"step {self.step}"
        return f"{where}, {self.field}: ours {self.ours!r}, theirs {self.theirs!r}"


@dataclass(slots=True, frozen=True)
class ReplayResult:
    """What a replay found."""

    name: str
    steps: int
    """Steps that are identical: all of them if there is no difference."""
    difference: Difference | None


@dataclass(slots=True)
class _Summary:
    preemptions: int = 0
    finished: int = 0
    min_free: int | None = None
    max_waiting: int = 0
    first_token_step: dict[str, int] = field(default_factory=dict)
    finish_step: dict[str, int] = field(default_factory=dict)


def replay(path: Path) -> ReplayResult:
    """Replay the recording at ``path`` (.json or .json.gz).

    Raises TraceError, whose one-line message names the file and the key, if it cannot be used.
    """
    return replay_trace(read_trace(path))


def replay_trace(trace: Trace) -> ReplayResult:
    """Run our scheduler on the requests of ``trace`` and compare each step and the summary."""
    scheduler = Scheduler(trace.config)
    requests = _requests(trace)
    pending = list(reversed(requests))
    summary = _Summary()
    number = -1
    for done, theirs in enumerate(trace.steps):
        number += 1
        if not scheduler.running and not scheduler.waiting and pending:
            # Whether a recording writes down the steps in which nothing was there to do is its own choice.
            number = max(number, min(theirs["step"], int(pending[-1].arrival_s)))
        arrived = []
        while pending and pending[-1].arrival_s <= number:
            request = pending.pop()
            scheduler.add(request)
            arrived.append(request.request_id)
        for key, ours in _step(scheduler, number, arrived, summary):
            if not _same(ours, theirs[key]):
                return ReplayResult(
                    trace.name, done, Difference(theirs["step"], key, ours, theirs[key])
                )
    ours_summary = {
        "steps": len(trace.steps)
        if summary.finished == len(requests)
        else f"more than {len(trace.steps)}",
        "requests": len(requests),
        "finished": summary.finished,
        "preemptions": summary.preemptions,
        "prefix_queries": scheduler.prefix_queries,
        "prefix_hits": scheduler.prefix_hits,
        "first_token_step": summary.first_token_step,
        "finish_step": summary.finish_step,
        "min_free": summary.min_free
        if summary.min_free is not None
        else trace.config.usable_blocks,
        "max_waiting": summary.max_waiting,
    }
    for key, value in ours_summary.items():
        if not _same(value, trace.summary[key]):
            return ReplayResult(
                trace.name, len(trace.steps), Difference(None, key, value, trace.summary[key])
            )
    return ReplayResult(trace.name, len(trace.steps), None)


def _requests(trace: Trace) -> list[Request]:
    """Return the requests in order of (arrival, id), which is also the order of the fake tokens."""
    requests = []
    for index, row in enumerate(sorted(trace.requests, key=lambda row: (row["arrive"], row["id"]))):
        request = Request(
            request_id=row["id"],
            arrival_s=float(row["arrive"]),
            prompt_tokens=row["prompt_len"],
            max_tokens=row["out"],
            priority=row["priority"],
        )
        request.index = index
        if trace.config.enable_prefix_caching:
            request.prompt_token_ids = tuple(row["prompt"])
            request.output_token_ids = []
        requests.append(request)
    return requests


def _step(
    scheduler: Scheduler,
    number: int,
    arrived: list[str],
    summary: _Summary,
) -> Iterator[tuple[str, Any]]:
    """Run one step and yield each field of its record, in the recording's order of fields."""
    yield "step", number
    yield "arrived", arrived
    plan: StepPlan = scheduler.schedule()
    free = scheduler.pool.num_free
    waiting = [request.request_id for request in scheduler.waiting]
    summary.preemptions += len(plan.preempted)
    summary.min_free = free if summary.min_free is None else min(summary.min_free, free)
    summary.max_waiting = max(summary.max_waiting, len(waiting))
    yield "scheduled", {request.request_id: n for request, n in plan.scheduled.items()}
    yield "total", plan.total
    yield "new", [request.request_id for request in plan.new]
    yield "resumed", [request.request_id for request in plan.resumed]
    yield (
        "computed_before",
        {request.request_id: request.num_computed_tokens for request in plan.scheduled},
    )
    # vLLM hands the preempted over as a set; the recordings hold it sorted.
    yield "preempted", sorted(request.request_id for request in plan.preempted)
    yield "free_blocks_after_schedule", free
    yield "blocks", {request.request_id: request.num_blocks for request in scheduler.running}
    yield "running", [request.request_id for request in scheduler.running]
    yield "waiting", waiting
    yield "usage", round(1.0 - free / scheduler.config.usable_blocks, 6)
    emitted, finished = scheduler.update(plan)
    for request in emitted:
        summary.first_token_step.setdefault(request.request_id, number)
    for request in finished:
        summary.finish_step[request.request_id] = number
    summary.finished += len(finished)
    yield (
        "finished",
        [request.request_id for request in finished if request.status is Status.FINISHED],
    )
    yield "free_blocks_end", scheduler.pool.num_free


def _same(ours: object, theirs: object) -> bool:
    """Equal, the order of lists and of an object's keys included; a usage may differ in its last digit."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return list(ours.items()) == list(theirs.items())
    if isinstance(ours, float) and isinstance(theirs, int | float):
        return abs(ours - theirs) < USAGE_TOLERANCE
    return ours == theirs

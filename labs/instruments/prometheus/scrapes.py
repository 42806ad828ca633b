"""What one read of an engine's ``/metrics`` finds: the sample, less what was counted before the process began."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from labs.simulator.request import Status, to_ps

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from labs.instruments.signals import View
    from labs.simulator.engine import Engine
    from labs.simulator.request import Request
    from labs.simulator.telemetry import Process, Sample

EPOCH_S = 1_767_610_800
"""Unix time of the page: Monday 5 January 2026, 11:00 UTC."""


@dataclass(frozen=True)
class Scrape:
    """One read of one engine's metrics."""

    engine: Engine
    process: Process
    """The life of the server that answers."""
    sample: Sample
    model_name: str
    fp8_kv: bool
    rejections_s: tuple[float, ...] = ()
    """When the replica's queue limit rejected a request, in order; incident seconds."""

    @property
    def rejections(self) -> int:
        """How many requests the queue limit has rejected since the process began."""
        first = bisect_left(self.rejections_s, self.process.stopped_s)
        return bisect_right(self.rejections_s, self.sample.t_s) - first

    def since(self, name: str) -> float:
        """Return what a counter of ``Sample`` has grown to since the process began."""
        base = self.process.base
        value: float = getattr(self.sample, name)
        return float(value - getattr(base, name)) if base is not None else float(value)

    def counts_since(self, name: str) -> tuple[int, ...]:
        """Return the observations per bucket of ``Sample`` since the process began."""
        counts: tuple[int, ...] = getattr(self.sample, name)
        base = self.process.base
        if base is None:
            return counts
        return tuple(b - a for a, b in zip(getattr(base, name), counts, strict=True))


def instance_of(replica: int) -> str:
    """Return the ``instance`` label that Prometheus gives to what it scrapes from a replica."""
    return f"atlas-{replica}:8000"


def process_at(engine: Engine, t_s: float) -> Process | None:
    """Return the process that answers at ``t_s``, or None while the server is down."""
    index = bisect_right(engine.processes, t_s, key=lambda process: process.stopped_s) - 1
    if index < 0 or engine.processes[index].up_s > t_s:
        return None
    return engine.processes[index]


def scrape_at(view: View, engine: Engine, t_s: float) -> Scrape | None:
    """Return what a read at ``t_s`` finds, or None if nobody answers then."""
    process = process_at(engine, t_s)
    index = bisect_right(engine.samples, t_s, key=lambda sample: sample.t_s) - 1
    if process is None or index < 0:
        return None
    sample = engine.samples[index]
    if process.base is not None and sample.t_s < process.up_s:
        sample = replace(process.base, running=0, waiting=0, kv_cache_usage_perc=0.0)
    fleet, rejected = view.fleet, _rejections_s(view, engine)
    return Scrape(engine, process, sample, fleet.profile_name, fleet.fp8_kv, rejected)


def _rejections_s(view: View, engine: Engine) -> tuple[float, ...]:
    if engine.config.max_num_queued_reqs is None:
        return ()
    replica = view.cluster.engines.index(engine)
    return tuple(
        sorted(
            request.finish_s
            for request in view.cluster.requests
            if request.refusal == "queue_full"
            and request.replica == replica
            and request.finish_s is not None
        )
    )


def scrapes(view: View, engine: Engine, from_s: float, to_s: float) -> list[Scrape]:
    """Return the reads on the grid of samples after ``from_s`` and by ``to_s``; none while the server is down."""
    samples = engine.samples
    first = bisect_right(samples, from_s, key=lambda sample: sample.t_s)
    last = bisect_right(samples, to_s, key=lambda sample: sample.t_s)
    fleet, rejected = view.fleet, _rejections_s(view, engine)
    found: list[Scrape] = []
    for sample in samples[first:last]:
        process = process_at(engine, sample.t_s)
        if process is not None:
            found.append(
                Scrape(engine, process, sample, fleet.profile_name, fleet.fp8_kv, rejected)
            )
    return found


def finished_in(engine: Engine, process: Process, until_s: float) -> list[Request]:
    """Return the requests that ``process`` has finished by ``until_s``, in order of finishing.

    A client that goes away is not among them: vLLM 0.32 neither counts nor observes it (measured:
    after a disconnect ``request_success_total{finished_reason="abort"}`` stays 0).
    """
    from_ps, until_ps = to_ps(process.stopped_s), to_ps(until_s)
    first = process.base is None
    done = [
        request
        for request in engine.requests
        if request.finish_ps is not None
        and request.status is Status.FINISHED
        and (first or request.finish_ps > from_ps)
        and request.finish_ps <= until_ps
    ]
    return sorted(done, key=lambda request: (request.finish_ps or 0, request.index))


def counted(values: Iterable[float], bounds: Sequence[float]) -> tuple[list[int], float]:
    """Return how many values fall into each bucket (upper bounds inclusive, +Inf last), and their sum."""
    counts, total = [0] * (len(bounds) + 1), 0.0
    for value in values:
        counts[bisect_left(bounds, value)] += 1
        total += value
    return counts, total

"""Runs of the simulator that the lessons need: one atlas-70b replica under chat-like traffic.

Pure. A run is a generator: it yields :class:`Progress` once per simulated minute and returns what
it computed, so that whoever drives it can store progress without the run knowing how.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labs.simulator.engine import Engine
from labs.simulator.request import Status
from labs.simulator.scheduler import EngineConfig
from labs.simulator.workload import LengthDistribution, RequestClass, Workload, WorkloadSpec
from lessons.quantities import ATLAS

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from labs.simulator.request import Request
    from labs.simulator.telemetry import Sample

CHAT = (
    RequestClass(
        name="chat",
        share=1.0,
        prompt=LengthDistribution(mean=2_000, cv=0.5, minimum=16, maximum=16_000),
        output=LengthDistribution(mean=1_600, cv=0.5, minimum=16, maximum=16_000),
    ),
)
"""Prompts of 2,000 tokens and answers of 1,600 on average, lognormal."""
TICK_S = 60
SAMPLE_S = 5


@dataclass(frozen=True)
class Progress:
    """How far a computation has come, in seconds of its own world."""

    done_s: int
    total_s: int

    @property
    def share(self) -> float:
        return self.done_s / self.total_s if self.total_s else 0.0

    @property
    def words(self) -> str:
        return f"Simulating {clock(self.done_s)} of {clock(self.total_s)}"


type Steps[R] = Generator[Progress, None, R]


@dataclass(frozen=True)
class Traffic:
    """Poisson arrivals of CHAT requests. ``rates`` holds (from second, requests per second)."""

    rates: tuple[tuple[float, float], ...]
    seed: int

    def requests(self, until_s: float) -> list[Request]:
        """Return the requests that arrive before ``until_s``; the same ones every time."""
        return list(Workload(WorkloadSpec(self.rates, CHAT), self.seed).until(until_s))


@dataclass
class Run:
    """An engine and what it was given."""

    engine: Engine
    requests: list[Request]

    @property
    def samples(self) -> Sequence[Sample]:
        return self.engine.samples


def start(traffic: Traffic, *, max_num_seqs: int, until_s: float) -> Run:
    """Return an empty engine of atlas-70b with its traffic submitted."""
    config = EngineConfig(
        num_gpu_blocks=ATLAS.num_gpu_blocks(),
        max_num_seqs=max_num_seqs,
        max_num_batched_tokens=ATLAS.max_num_batched_tokens,
        max_model_len=ATLAS.max_model_len,
        block_size=ATLAS.block_size,
    )
    engine = Engine(config, ATLAS.cost_model(), sample_every_s=SAMPLE_S)
    requests = traffic.requests(until_s)
    for request in requests:
        engine.submit(request)
    return Run(engine, requests)


def advance(run: Run, from_s: int, to_s: int, *, before_s: int, total_s: int) -> Steps[None]:
    """Advance a run; ``before_s`` of ``total_s`` were done by runs before it."""
    for now_s in range(from_s, to_s, TICK_S):
        until_s = min(now_s + TICK_S, to_s)
        run.engine.advance(float(until_s))
        yield Progress(before_s + until_s, total_s)


# ------------------------------------------------------------------------------------------ measures


def clock(seconds: float) -> str:
    """Return minutes and seconds, as the pages write them."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes:02d}:{rest:02d}"


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which ``share`` of the values lie, interpolated linearly."""
    if not values:
        raise ValueError("a percentile of nothing")
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def ttfts_s(run: Run, from_s: float, to_s: float) -> list[float]:
    """Return the times to first token of those whose first token came in the window, seconds."""
    return [
        request.first_token_s - request.sent_s
        for request in run.requests
        if request.first_token_s is not None and from_s <= request.first_token_s < to_s
    ]


def gaps_s(run: Run, from_s: float, to_s: float) -> list[float]:
    """Return the longest gap of each stream that ended in the window, seconds."""
    return [
        request.longest_gap_s
        for request in run.requests
        if request.finish_s is not None and from_s <= request.finish_s < to_s
    ]


def tpots_ms(run: Run, from_s: float, to_s: float) -> list[float]:
    """Return the time per output token of each stream that ended in the window, milliseconds."""
    found = []
    for request in run.requests:
        first_s, last_s, end_s = request.first_token_s, request.last_token_s, request.finish_s
        if first_s is None or last_s is None or end_s is None or not from_s <= end_s < to_s:
            continue
        if request.num_output_tokens > 1:
            found.append((last_s - first_s) / (request.num_output_tokens - 1) * 1e3)
    return found


def window(run: Run, from_s: float, to_s: float) -> list[Sample]:
    """Return the samples of a window."""
    return [sample for sample in run.samples if from_s <= sample.t_s <= to_s]


def mean_step_ms(samples: Sequence[Sample]) -> float:
    """Return the mean time of a step between the first and the last sample, milliseconds."""
    steps = samples[-1].steps - samples[0].steps
    return (samples[-1].busy_s - samples[0].busy_s) / steps * 1e3 if steps else 0.0


def running_at(run: Run) -> list[Request]:
    """Return the requests that run now."""
    return [request for request in run.requests if request.status is Status.RUNNING]

"""What a step of this engine costs on this machine: a short run, and the simulator's linear model fitted to it."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from labs.live import driving
from labs.live.iterations import iterations
from labs.simulator.cost_model import CostModel
from labs.simulator.request import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from labs.live.iterations import Iteration
    from labs.simulator.config import EngineConfig

PS_PER_MS = 1_000_000_000

BATCHES = (
    *((1, 64, 80), (2, 64, 50), (4, 64, 50), (7, 64, 60), (12, 64, 60), (20, 64, 60)),
    *((32, 64, 60), (7, 448, 60), (16, 448, 60), (32, 256, 40)),
    *((1, 256, 4), (1, 512, 4), (1, 900, 4), (4, 256, 4)),
)
"""(requests at once, prompt tokens, output tokens): few and many, short and long. About half a minute on two cores."""
WARM_UP = (4, 64, 20)
"""The first steps after a start are slower: they are not counted."""


@dataclass(frozen=True)
class Step:
    """One measured step, and what it was made of."""

    took_ms: float
    kv_tokens: int
    """Read by the step, those that it writes included."""
    prefill_tokens: int
    sequences: int


@dataclass(frozen=True)
class Seen:
    """What batches showed of an engine."""

    steps: tuple[Step, ...] = ()
    gaps: tuple[tuple[float, int, int], ...] = ()
    """(milliseconds, KV tokens, sequences) of decode steps, as a client saw them."""


@dataclass(frozen=True)
class Fit:
    """The simulator's step costs for an engine, and how far they are off."""

    base_ms: float
    kv_us_per_token: float
    prefill_ms_per_token: float
    sequence_ms: float
    steps: int
    """How many steps it is fitted to."""
    median_error: float
    """Median of |fitted - measured| / measured."""
    jitter: tuple[float, ...] = ()
    """What a decode step took, as a client of it saw, beyond what was fitted: ms, one for each measured step, rising. A hitch
    is as long whatever the step takes."""

    pace: float = 1.0
    """How many times as long as when its costs were fitted."""

    def cost(self) -> CostModel:
        """Return the costs as the simulator takes them. Nobody told which part of a step reads the weights."""
        return CostModel(
            base_ps=round(self.base_ms * PS_PER_MS),
            weight_read_ps=0,
            per_kv_token_ps=round(self.kv_us_per_token * PS_PER_MS / 1000),
            per_prefill_token_ps=round(self.prefill_ms_per_token * PS_PER_MS),
            per_sequence_ps=round(self.sequence_ms * PS_PER_MS),
        )

    def with_jitter(self, seed: str) -> CostModel:
        """Return the costs with the spread of measured steps: each decode step is as much longer as one of them was."""
        steady = self.cost()
        return Jittered(
            steady.base_ps,
            steady.weight_read_ps,
            steady.per_kv_token_ps,
            steady.per_prefill_token_ps,
            steady.per_sequence_ps,
            jitter=self.jitter,
            stream=random.Random(seed),
        )

    def step_ms(self, step: Step) -> float:
        """Return what a step takes."""
        decode_ms = self.decode_ms(step.kv_tokens, step.sequences)
        return decode_ms + self.prefill_ms_per_token * step.prefill_tokens

    def decode_ms(self, kv_tokens: int, sequences: int) -> float:
        """Return what a step without prefill takes."""
        return self.base_ms + self.kv_us_per_token * kv_tokens / 1000 + self.sequence_ms * sequences


@dataclass(slots=True, frozen=True)
class Jittered(CostModel):
    """Step costs that spread: for an engine that runs every step by itself (``closed_form=False``)."""

    jitter: tuple[float, ...] = ()
    stream: random.Random = field(default_factory=random.Random, compare=False)

    def step_ps(self, *, kv_tokens: int, prefill_tokens: int, sequences: int, tokens: int) -> int:
        """Return the time of one step, picoseconds; of a decode step, with a draw of the spread."""
        took_ps = CostModel.step_ps(
            self,
            kv_tokens=kv_tokens,
            prefill_tokens=prefill_tokens,
            sequences=sequences,
            tokens=tokens,
        )
        if prefill_tokens or not self.jitter:
            return took_ps
        spread_ps = round(self.stream.choice(self.jitter) * PS_PER_MS)
        return max(took_ps // 2, took_ps + spread_ps)


def steps_of(batch: Sequence[Iteration], wall_ms: float, requests: int) -> list[Step]:
    """Return the steps of one batch of equal requests that began together in an ample pool.

    The log times the model's execution; what a step takes besides (scheduler, outputs, the server on the same
    cores) is the rest of the wall time, shared out evenly. KV tokens follow from counting: until the first request
    ends, all that was computed is held; steps after that are left out.
    """
    besides_ms = max(0.0, wall_ms - sum(each.elapsed_ms for each in batch)) / max(1, len(batch))
    found: list[Step] = []
    held, full = 0, False
    for each in batch:
        held += each.tokens
        sequences = each.decoding + each.prefilling
        full = full or sequences == requests
        if full and sequences < requests:
            break
        found.append(Step(each.elapsed_ms + besides_ms, held, each.prefill_tokens, sequences))
    return found


def fit(steps: Iterable[Step]) -> Fit:
    """Fit the four costs to steps by least squares of the relative error, none below 0.

    Raises ValueError for fewer steps than costs.
    """
    rows = list(steps)
    if len(rows) < 4:  # noqa: PLR2004
        raise ValueError(f"{len(rows)} steps are too few to fit four costs to")
    took = np.array([each.took_ms for each in rows])
    design = np.array([(1.0, each.kv_tokens, each.prefill_tokens, each.sequences) for each in rows])
    # As many groups as there are kinds of steps: a thousand decode steps must not outvote ten prefills.
    groups = [(each.prefill_tokens > 0, each.sequences) for each in rows]
    sizes = {group: groups.count(group) for group in set(groups)}
    weight = np.array([1.0 / sizes[group] ** 0.5 for group in groups]) / took
    costs = _not_negative(design * weight[:, None], took * weight)
    error = np.abs(design @ costs - took) / took
    return Fit(
        base_ms=float(costs[0]),
        kv_us_per_token=float(costs[1]) * 1000,
        prefill_ms_per_token=float(costs[2]),
        sequence_ms=float(costs[3]),
        steps=len(rows),
        median_error=float(np.median(error)),
    )


def _not_negative(design: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the least-squares solution without the columns whose costs come out below 0."""
    kept = list(range(design.shape[1]))
    while True:
        found, *_ = np.linalg.lstsq(design[:, kept], target, rcond=None)
        if found.min() >= 0 or len(kept) == 1:
            break
        kept.remove(kept[int(found.argmin())])
    costs = np.zeros(design.shape[1])
    costs[kept] = np.maximum(found, 0.0)
    return costs


def measure(
    base_url: str,
    log_path: Path,
    *,
    model: str,
    config: EngineConfig,
    tell: Callable[[float, str], None] | None = None,
) -> Seen:
    """Run the batches that an engine of this config holds at once, and return what it showed of its steps.

    It must log its iterations and serve nobody else.
    """
    fitting = [each for each in BATCHES if holds(config, *each)]
    rounds: list[Seen] = []
    for number, (count, prompt, output) in enumerate((WARM_UP, *fitting)):
        if tell is not None:
            tell(number / len(fitting), f"Measuring steps: {count} requests of {prompt} tokens")
        at = log_path.stat().st_size
        requests = [Request(f"calibrate-{number}-{i}", 0.0, prompt, output) for i in range(count)]
        # Scraped as often as a run is: on a small machine that is part of what a step costs.
        drive = driving.drive(base_url, requests, model=model)
        with log_path.open("rb") as log:
            log.seek(at)
            batch = list(iterations(log.read().decode(errors="replace")))
        if number:
            rounds.append(
                Seen(
                    tuple(steps_of(batch, 1000 * drive.wall_s, count)),
                    tuple(gaps_of(list(drive.tokens_ps.values()), prompt)),
                )
            )
    return joined(rounds)


def holds(config: EngineConfig, count: int, prompt: int, output: int) -> bool:
    """Return whether an engine computes so many requests at once to their end, none waiting and none preempted."""
    blocks = count * -(-(prompt + output) // config.block_size) + config.watermark_blocks
    fits = prompt + output <= config.max_model_len and blocks <= config.usable_blocks
    return fits and count <= config.max_num_seqs


def joined(rounds: Iterable[Seen]) -> Seen:
    """Return several rounds as one."""
    all_of = list(rounds)
    return Seen(
        tuple(step for each in all_of for step in each.steps),
        tuple(gap for each in all_of for gap in each.gaps),
    )


def fitted(seen: Seen) -> Fit:
    """Fit an engine's costs to what it showed. Raises ValueError for fewer steps than costs."""
    found = fit(seen.steps)
    return replace(found, jitter=tuple(sorted(_beyond(found, seen))))


def _beyond(found: Fit, seen: Seen) -> list[float]:
    return [took_ms - found.decode_ms(kv, sequences) for took_ms, kv, sequences in seen.gaps]


def paced(shape: Fit, seen: Seen) -> Fit:
    """Return costs as fast or slow as an engine was in some rounds: all times the median of what its steps took over what was fitted.

    For rounds of too few kinds to fit costs to. Raises ValueError for none at all.
    """
    if not seen.steps:
        raise ValueError("no step was measured")
    pace = float(np.median([each.took_ms / shape.step_ms(each) for each in seen.steps]))
    found = replace(
        shape,
        base_ms=shape.base_ms * pace,
        kv_us_per_token=shape.kv_us_per_token * pace,
        prefill_ms_per_token=shape.prefill_ms_per_token * pace,
        sequence_ms=shape.sequence_ms * pace,
        pace=pace,
    )
    return replace(found, jitter=tuple(sorted(_beyond(found, seen))))


def gaps_of(tokens_ps: Sequence[Sequence[int]], prompt_tokens: int) -> list[tuple[float, int, int]]:
    """Return (milliseconds, KV tokens, sequences) of the steps of a batch as the first of its clients saw them.

    From when every stream had begun until the first one ended: all decode then, and a step is a gap.
    """
    from_ps = max(each[0] for each in tokens_ps)
    to_ps = min(each[-1] for each in tokens_ps)
    first, count = tokens_ps[0], len(tokens_ps)
    return [
        ((b - a) / PS_PER_MS, count * (prompt_tokens + number), count)
        for number, (a, b) in enumerate(pairwise(first), start=1)
        if from_ps <= a and b <= to_ps
    ]

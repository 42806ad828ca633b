"""Drill 3.2: requests evicted again and again at the peak. A pool of blocks, played step by step.

A request is admitted if what it has so far fits; every 16 tokens it takes one block more; when the pool is over, the
latest to join loses all of his and waits in front. As many users as run stay in the system. Scenario constants: the pool
of a 70B at TP4 (28,671 blocks of 16 tokens handed out), the users and lengths below, steps of 23 to 28 ms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from labs.simulator.kv_cache import blocks_for
from lessons.drills.evidence import Observed
from lessons.exact.draws import generator

if TYPE_CHECKING:
    from labs.marking.table import Value

BLOCK = 16
POOL = 28_671
SEATS = 1024
"""vLLM's default for --max-num-seqs on an H100."""
STRIDE = 32
"""Tokens that a step of this model stands for."""
WARM_STEPS, STEPS = 40, 120
PREFILL_MS = 0.071
_VARIANTS = ((205, 1_500), (210, 1_800), (215, 1_700), (225, 1_600))
"""Users at the peak, and how long answers become where they grow."""


@dataclass(frozen=True)
class Case:
    """One world: who is there, how long they are, what the pool has."""

    users: int
    prompt: int
    answer: int
    pool: int
    lost: int
    """Blocks of the pool that nobody uses and nobody gave back."""
    seats: int
    crowd: int
    """Users beside these for a while, and gone."""
    crowd_share: float
    """Of the quarter of an hour."""
    step_ms: float
    variant: int

    @property
    def now(self) -> tuple[float, float]:
        """Evictions a minute as it stands, and the share of the pool in use."""
        free = self.pool - self.lost
        found, used = played(
            self.users, self.prompt, self.answer, free, self.seats, seed=self.variant
        )
        return self._a_minute(found), (used + self.lost) / self.pool

    @property
    def evictions_15m(self) -> float:
        """Evictions a minute, mean of the last quarter of an hour."""
        now = self.now[0]
        if not self.crowd:
            return now
        found, _ = played(
            self.users + self.crowd,
            self.prompt,
            self.answer,
            self.pool - self.lost,
            self.seats,
            seed=self.variant,
        )
        share = self.crowd_share
        return share * self._a_minute(found) + (1 - share) * now

    def _a_minute(self, found: int) -> float:
        return found / (STEPS * STRIDE * self.step_ms / 60e3)

    @property
    def at_the_door(self) -> int:
        """Blocks of all users' prompts."""
        return self.users * blocks_for(self.prompt, BLOCK)

    @property
    def at_the_end(self) -> int:
        """Blocks of all users, if all had come to their last token; that one needs none."""
        return self.users * blocks_for(self.prompt + self.answer - 1, BLOCK)


@lru_cache(maxsize=256)
def played(
    users: int, prompt: int, answer: int, pool: int, seats: int, *, seed: int
) -> tuple[int, int]:
    """Return the evictions of 120 steps, after 40 to settle, and the blocks held in them, mean. Takes 0.1 s."""
    rng = generator("drill-3.2 ages", seed)
    age = np.floor(rng.random(users) * answer / STRIDE) * STRIDE
    queue = rng.permutation(users).astype(float)
    runs, joined = np.zeros(users, dtype=bool), np.zeros(users)
    evictions, used = 0, 0.0
    for step in range(WARM_STEPS + STEPS):
        blocks = np.ceil((prompt + age) / BLOCK)
        waits = np.flatnonzero(~runs)
        waits = waits[np.argsort(queue[waits])]
        fits = blocks[runs].sum() + np.cumsum(blocks[waits]) <= pool
        fits &= np.count_nonzero(runs) + np.arange(1, waits.size + 1) <= seats
        # First come, first served: nobody overtakes one who does not fit.
        admitted = waits[np.logical_and.accumulate(fits)]
        runs[admitted] = True
        joined[admitted] = step * users + np.arange(admitted.size)
        age[runs] += STRIDE
        done = runs & (age >= answer)
        age[done], runs[done] = 0, False
        queue[done] = (step + 1) * users + np.arange(np.count_nonzero(done))
        blocks = np.ceil((prompt + age) / BLOCK)
        running = np.flatnonzero(runs)
        running = running[np.argsort(joined[running])]
        held = np.cumsum(blocks[running])
        over = running[held > pool]
        runs[over] = False
        queue[over] = -step * users - np.arange(over.size)
        evictions += over.size if step >= WARM_STEPS else 0
        used += float(blocks[runs].sum()) / STEPS if step >= WARM_STEPS else 0.0
    return evictions, round(used)


def _case(world: str, seed: int) -> Case:
    rng = generator("drill-3.2", seed)
    variant = int(rng.integers(len(_VARIANTS)))
    users, longer = _VARIANTS[variant]
    step_ms = float(rng.uniform(23, 28))
    share = float(rng.uniform(0.5, 0.7))
    calm = Case(users, 1_500, 500, POOL, 0, SEATS, 0, 0.0, step_ms, variant)
    match world:
        case "answers":
            return replace(calm, answer=longer)
        case "small":
            return replace(calm, pool=13_000 - 400 * variant)
        case "leak":
            return replace(calm, lost=15_500 + 400 * variant)
        case "prompts":
            return replace(calm, prompt=3_000 + 100 * variant)
        case "crowd":
            return replace(calm, crowd=130, crowd_share=share)
    raise KeyError(world)


def cap(seed: int) -> int:
    """Return how many of the longer requests may reach their end together: pool over blocks."""
    case = _case("answers", seed)
    return POOL // (case.at_the_end // case.users)


def _changed(case: Case, world: str, seed: int, fix: str) -> Case:
    match fix:
        case "cap":
            # What is over cannot be capped: those minutes stay in the window.
            return replace(case, seats=cap(seed))
        case "pool":
            return replace(case, pool=POOL)
        case "restart":
            return replace(case, lost=0)
        case "split":
            return replace(case, prompt=1_500)
        case "leave":
            return replace(case, crowd=0) if world == "crowd" else case
    raise KeyError(fix)


def _rate(case: Case, before: Case) -> float:
    """Return the evictions a minute; a crowd that is over counts as it was."""
    return before.evictions_15m if case.crowd else case.evictions_15m


def observe(world: str, seed: int, fix: str | None = None) -> Observed:
    """Return what a world reads. The cap is the same number everywhere. Takes 0.1 s at first, then under 1 ms."""
    before = _case(world, seed)
    case = before if fix is None else _changed(before, world, seed, fix)
    rate_15m, (rate_1m, usage) = _rate(case, before), case.now
    lost = case.lost / case.pool
    values: dict[str, Value] = {
        "evictions_15m": rate_15m,
        "evictions_1m": rate_1m,
        "door_share": case.at_the_door / case.pool,
        "end_share": case.at_the_end / case.pool,
        "pool_blocks": float(case.pool + 1),
        "prompt_tokens": float(case.prompt),
        "lost_share": lost,
        "usage": usage,
    }
    each_end = case.at_the_end // case.users
    prints = {
        "ledger": (
            f"{case.users} requests in the system",
            f"at the door  {case.at_the_door // case.users:>4} blocks each, {case.at_the_door:>7,} in all",
            f"at their end {each_end:>4} blocks each, {case.at_the_end:>7,} in all",
            f"the pool hands out {case.pool:>14,}",
        ),
        "last-minute": (
            f"vllm:num_preemptions_total  +{rate_1m:.0f} in the last minute",
            f"                            +{15 * rate_15m:.0f} in the last 15",
        ),
        "pool": (
            f'vllm:cache_config_info{{block_size="{BLOCK}",num_gpu_blocks="{case.pool + 1}"}} 1.0',
        ),
        "prompts": (f"mean prompt, last minute: {case.prompt:,} tokens",),
        "unowned": (f"blocks in use that no request in the engine holds: {100 * lost:.0f} %",),
        "usage": (f"vllm:kv_cache_usage_perc {usage:.3f}",),
    }
    return Observed(values, prints)

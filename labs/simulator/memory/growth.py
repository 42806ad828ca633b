"""What an engine's memory grows by after its start, as closed forms of how many requests it has had.

Every growth is a frozen dataclass whose ``held`` gives bytes for a count of arrivals: 48 hours cost as much as one.
A growth starts anew with every process.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from labs.simulator.memory.ledger import ModelShape
    from labs.simulator.workload import LengthDistribution

type Where = Literal["gpu", "host"]
type Counts = Mapping[str, float]
"""Requests since the process started, by class; all of them under the empty name."""

ALL = ""
POOL_BASE_BYTES = 1_050_000_000
"""What a private graph pool takes whatever its shape. Scenario constant: shapes of 176 to 560 tokens then take 1.5 to 2.5 GB."""
POOL_TENSORS_PER_LAYER = 2
"""Tensors of a layer that one graph keeps: a pool of its own reuses nothing of another's. Scenario constant."""


class Growth(Protocol):
    """Something that takes more memory the longer an engine runs."""

    @property
    def owner(self) -> str:
        """Who holds it, as a memory snapshot's frames would say."""

    @property
    def where(self) -> Where:
        """GPU or host memory."""

    @property
    def allocated_share(self) -> float:
        """Share that torch counts as allocated, 0 to 1; the rest is only reserved."""

    def held(self, counts: Counts, life: int) -> int:
        """Return the bytes held on each rank after ``counts`` requests in process number ``life``; never falls."""


@dataclass(slots=True, frozen=True)
class PerRequest:
    """A leak of the same bytes for every request of a class (all classes under the empty name)."""

    owner: str
    bytes_each: int
    request_class: str = ALL
    where: Where = "gpu"
    allocated_share: float = 1.0

    def held(self, counts: Counts, life: int) -> int:
        del life
        return round(counts.get(self.request_class, 0.0) * self.bytes_each)


@dataclass(slots=True, frozen=True)
class PerKey:
    """A cache without a bound that keeps an entry for every new key, such as a compiled grammar for a schema.

    ``keys`` are equally likely, so that n requests have met keys x (1 - exp(-n / keys)) of them: it flattens.
    """

    owner: str
    bytes_each: int
    keys: int
    request_class: str = ALL
    where: Where = "host"
    allocated_share: float = 1.0

    def held(self, counts: Counts, life: int) -> int:
        del life
        met = -self.keys * math.expm1(-counts.get(self.request_class, 0.0) / self.keys)
        return round(met) * self.bytes_each


@dataclass(slots=True, frozen=True)
class FromThen:
    """A growth that began in the life of a process: what that one had served before left nothing."""

    growth: PerRequest
    life: int
    served: float
    """Requests of the growth's class that process number ``life`` had had when it began."""

    @property
    def owner(self) -> str:
        return self.growth.owner

    @property
    def where(self) -> Where:
        return self.growth.where

    @property
    def allocated_share(self) -> float:
        return self.growth.allocated_share

    def held(self, counts: Counts, life: int) -> int:
        if life < self.life:
            return 0
        before = self.served if life == self.life else 0.0
        name = self.growth.request_class
        return self.growth.held({name: max(0.0, counts.get(name, 0.0) - before)}, life)


@dataclass(slots=True, frozen=True)
class BatchShape:
    """A batch that a lazily capturing engine has not seen at warm-up: decode tokens and a prefill chunk, padded."""

    decode_tokens: int
    prefill_tokens: int
    one_in: float
    """How many requests come, on average, for one that makes this shape."""
    pool_bytes: int
    """What its graph's private pool takes on each rank, for ever."""


@dataclass(slots=True, frozen=True)
class LazyCapture:
    """Graph pools of an engine that captures each new batch shape when it first comes, and never lets go of one.

    vLLM pads to the sizes captured at start instead; torch.compile's reduce-overhead trees and home-made engines
    behave like this. When a shape first comes is exponential in the requests that have passed, drawn once a process.
    """

    seed: int | str
    shapes: tuple[BatchShape, ...]
    owner: str = "cuda_graph_pools"
    where: Where = "gpu"
    allocated_share: float = 0.0

    def up_to(self, decode_tokens: int) -> LazyCapture:
        """Return it without the shapes of more than so many decode tokens; the others come when they came."""
        shapes = tuple(shape for shape in self.shapes if shape.decode_tokens <= decode_tokens)
        return self if shapes == self.shapes else replace(self, shapes=shapes)

    def captures(self, life: int) -> tuple[tuple[float, BatchShape], ...]:
        """Return (requests until its first coming, shape) for process ``life``, the first first."""
        return _captures(self, life)

    def held(self, counts: Counts, life: int) -> int:
        passed = counts.get(ALL, 0.0)
        return sum(shape.pool_bytes for due, shape in _captures(self, life) if due <= passed)


@lru_cache(maxsize=256)
def _captures(growth: LazyCapture, life: int) -> tuple[tuple[float, BatchShape], ...]:
    due = []
    for shape in growth.shapes:
        name = f"capture:{growth.seed}:{life}:{shape.decode_tokens}:{shape.prefill_tokens}"
        due.append((random.Random(name).expovariate(1.0) * shape.one_in, shape))
    return tuple(sorted(due, key=lambda pair: pair[0]))


def pool_bytes(shape: ModelShape, tokens: int) -> int:
    """Return what a graph of ``tokens`` keeps in a private pool on one rank, bytes; see the constants."""
    return POOL_BASE_BYTES + POOL_TENSORS_PER_LAYER * shape.layers * tokens * shape.hidden * 2


def unseen_shapes(
    model: ModelShape,
    *,
    mean_running: float,
    prompt: LengthDistribution,
    max_num_batched_tokens: int,
    warmed_decode_tokens: int,
    pad_decode_to: int = 8,
    pad_prefill_to: int = 128,
    at_least_one_in: float = 1e8,
) -> tuple[BatchShape, ...]:
    """Return the batch shapes that traffic makes and warm-up did not capture, with how rare each is.

    Every prompt ends in one chunk of its length modulo the token budget, beside the requests that decode: their
    number is Poisson with ``mean_running``. Warm-up has covered all with up to ``warmed_decode_tokens``
    decode tokens. Shapes rarer than one in ``at_least_one_in`` requests are left out.
    """
    chunks = _last_chunks(prompt, max_num_batched_tokens, pad_prefill_to)
    shapes = []
    low = warmed_decode_tokens
    while True:
        high = low + pad_decode_to
        decoding = _poisson_between(mean_running, low + 1, high)
        for tokens, share in chunks:
            chance = decoding * share
            if chance * at_least_one_in >= 1.0:
                shapes.append(
                    BatchShape(high, tokens, 1.0 / chance, pool_bytes(model, high + tokens))
                )
        if high > mean_running and decoding * at_least_one_in < 1.0:
            return tuple(shapes)
        low = high


def _poisson_between(mean: float, low: int, high: int) -> float:
    return sum(
        math.exp(n * math.log(mean) - mean - math.lgamma(n + 1)) for n in range(low, high + 1)
    )


def _last_chunks(prompt: LengthDistribution, budget: int, pad: int) -> list[tuple[int, float]]:
    """Return (padded tokens, share of prompts) of the chunk that ends a prompt, from a fixed grid of its quantiles."""
    grid = 4000
    normal = _normal_quantiles(grid)
    counts: dict[int, int] = {}
    for z in normal:
        rest = (prompt.at(z) - 1) % budget + 1
        padded = -(-rest // pad) * pad
        counts[padded] = counts.get(padded, 0) + 1
    return [(tokens, count / grid) for tokens, count in sorted(counts.items())]


@lru_cache(maxsize=4)
def _normal_quantiles(count: int) -> tuple[float, ...]:
    standard = NormalDist()
    return tuple(standard.inv_cdf((i + 0.5) / count) for i in range(count))


@dataclass(slots=True, frozen=True)
class Spike:
    """A kind of request whose temporary tensors grow with its length, outside the profile run's peak."""

    kind: Literal["prompt_logprobs", "attention_scores"]
    request_class: str

    def bytes_for(
        self,
        model: ModelShape,
        prompt_tokens: int,
        *,
        max_num_batched_tokens: int,
        tensor_parallel_size: int,
    ) -> int:
        """Return the bytes that one prefill step of it takes on a rank beside its ordinary activations.

        ``prompt_logprobs``: logits of every prompt token of the chunk over the whole vocabulary, in BF16, in FP32,
        and their log-softmax: 10 bytes each (4 of them make the 3.9 GiB of 8,192 tokens that one copy takes).
        ``attention_scores``: an attention that is not fused writes prompt x prompt BF16 scores for each of the
        rank's heads, whatever the chunk.
        """
        if self.kind == "prompt_logprobs":
            return min(prompt_tokens, max_num_batched_tokens) * model.vocab * 10
        heads = max(1, model.heads // tensor_parallel_size)
        return heads * prompt_tokens * prompt_tokens * 2

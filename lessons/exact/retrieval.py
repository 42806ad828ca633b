"""Recall against length with quantized keys: why a model can fail to find a needle while its perplexity stays.

One query looks for one key among L others. Scores of the others are N(0, 1), the needle's is ``score``; attention finds
it if it gets more than half of the weight: if score exceeds ln of the sum of exp of the others, about
ln L + 1/2. So the margin is score - ln L - 1/2. Noise of quantization does not grow with L, and decides once
the margin has become as small as it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

import numpy as np

from lessons.exact.draws import generator
from lessons.exact.numerics import bfloat16, through_float8, through_int4
from lessons.exact.products import product

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lessons.exact.numerics import Floats

    type Doubles = NDArray[np.float64]

type KeyFormat = Literal[
    "bf16",
    "fp8 per tensor",
    "fp8 per token",
    "int4 per channel",
    "int4 per token",
    "int4 per tensor",
]
KEY_FORMATS: tuple[KeyFormat, ...] = (
    "bf16", "fp8 per tensor", "fp8 per token", "int4 per channel", "int4 per token", "int4 per tensor",
)  # fmt: skip


@dataclass(frozen=True)
class Haystack:
    """Keys of one head. Scenario constants, all of them."""

    head_dim: int = 128
    score: float = 12.0
    """Of the needle, where the others' are N(0, 1)."""
    outlier_channels: int = 1
    outlier_factor: float = 20.0
    """How much larger the keys are in those channels; the query is as much smaller there. Such channels are real: KIVI
    (Liu et al. 2024) shows them in keys of Llama."""


def keep(keys: Floats, key_format: KeyFormat) -> Floats:
    """Return ``keys`` (tokens, channels) as a cache of that format gives them back."""
    match key_format:
        case "bf16":
            return keys
        case "fp8 per tensor":
            return through_float8(keys, "tensor")
        case "fp8 per token":
            return through_float8(keys, "token")
        case "int4 per channel":
            return through_int4(keys, "channel")
        case "int4 per token":
            return through_int4(keys, "token")
        case "int4 per tensor":
            return through_int4(keys, "tensor")


def margin(score: float, length: int) -> float:
    """Return by how much a needle's score exceeds what half of the weight takes: score - ln L - 1/2.

    For exact keys and scores of variance 1: E[exp] of N(0, 1) is e^(1/2).
    """
    return score - math.log(length) - 0.5


@dataclass(frozen=True)
class Recall:
    """What one format finds at one length."""

    length: int
    found: float
    """Share of the needles that get more than half of the weight."""
    loss: float
    """Mean of -ln of the needle's weight: what the model pays where it needs the needle."""
    noise: float
    """Standard deviation of the others' scores from those of BF16 keys."""


def recall(
    key_format: KeyFormat,
    lengths: tuple[int, ...] = (512, 2_048, 8_192),
    *,
    seed: int,
    haystack: Haystack | None = None,
    needles: int = 100,
) -> tuple[Recall, ...]:
    """Return what ``needles`` queries, each with its needle, find among the same ``lengths`` other keys.

    Scales are taken at each length, over others and needles together. Up to 8,192 keys and 100 needles take 0.05 s,
    32,768 keys 0.2 s. Raises ValueError for no length or one below 1.
    """
    if not lengths or min(lengths) < 1:
        raise ValueError("keys are needed to look among")
    told = haystack or Haystack()
    keys, queries, wanted = _draw(told, max(lengths), needles, seed)
    found = []
    for length in lengths:
        kept = keep(np.concatenate([keys[:length], wanted]), key_format)
        others = _scores(kept[:length], queries, told)
        exact = _scores(keys[:length], queries, told)
        needle = np.einsum("nc,nc->n", kept[length:].astype(np.float64), queries)
        needle /= math.sqrt(told.head_dim)
        # Weight of the needle: 1 / (1 + sum of exp(other - needle)).
        loss = np.log1p(np.exp(others - needle).sum(axis=0))
        found.append(
            Recall(
                length=length,
                found=float((loss < math.log(2)).mean()),
                loss=round(float(loss.mean()), 9),
                noise=round(float((others - exact).std()), 9),
            )
        )
    return tuple(found)


def _draw(told: Haystack, length: int, needles: int, seed: int) -> tuple[Floats, Doubles, Floats]:
    """Return others (length, channels), queries (needles, channels) and needles (needles, channels)."""
    rng = generator("haystack", seed)
    size = np.ones(told.head_dim)
    size[: told.outlier_channels] = told.outlier_factor
    keys = bfloat16((rng.standard_normal((length, told.head_dim)) * size).astype(np.float32))
    rng = generator("needles", seed)
    direction = rng.standard_normal((needles, told.head_dim))
    direction *= math.sqrt(told.head_dim) / np.linalg.norm(direction, axis=1, keepdims=True)
    queries = direction / size
    # A needle is a key like any other, moved along the query, in the large channels as in the small ones.
    base = rng.standard_normal((needles, told.head_dim))
    now = np.einsum("nc,nc->n", base, direction) / math.sqrt(told.head_dim)
    missing = (told.score - now) / math.sqrt(told.head_dim)
    wanted = (base + missing[:, None] * direction) * size
    return keys, queries, bfloat16(wanted.astype(np.float32))


def _scores(keys: Floats, queries: Doubles, told: Haystack) -> Doubles:
    """Return (keys, needles) scores."""
    return product(keys, queries.T) / math.sqrt(told.head_dim)


def with_noise(score: float, length: int, *, noise: float = 0.0, spread: float = 0.0) -> Recall:
    """Return what is found among ``length`` exact keys if every score gets N(0, noise²), and needles differ by N(0, spread²).

    The others' scores are then N(0, 1 + noise²), so the margin is N(score - ln L - (1 + noise²) / 2, noise² + spread²), and a
    needle is found if its margin is above 0. The loss is the mean of ln(1 + e^-margin). A closed form for lengths
    at which the sum over the others is close to its mean; raises ValueError for a negative deviation.
    """
    if min(noise, spread) < 0:
        raise ValueError("a standard deviation is not negative")
    mean = margin(score, length) - noise**2 / 2
    deviation = math.hypot(noise, spread)
    points, weights = _nodes()
    losses = np.log1p(np.exp(-(mean + deviation * points)))
    found = float(mean > 0) if deviation == 0 else NormalDist().cdf(mean / deviation)
    return Recall(
        length=length,
        found=found,
        loss=round(float((losses * weights).sum() / weights.sum()), 9),
        noise=noise,
    )


@cache
def _nodes() -> tuple[Doubles, Doubles]:
    """Return points and weights of a Gauss-Hermite quadrature over N(0, 1), each of shape (40,)."""
    return np.polynomial.hermite_e.hermegauss(40)


def perplexity(near_loss: float, far_loss: float, far_share: float) -> float:
    """Return exp of the mean loss of a text of which ``far_share`` of the tokens need a distant needle.

    Raises ValueError for a share outside 0 to 1.
    """
    if not 0 <= far_share <= 1:
        raise ValueError(f"a share lies between 0 and 1: {far_share}")
    return math.exp((1 - far_share) * near_loss + far_share * far_loss)

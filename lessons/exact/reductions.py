"""Sums in another order: how a product computed in parts changes logits, flips an argmax, and parts two greedy answers.

A matrix product over d terms may be split into k parts, whose partial sums are rounded to bfloat16 and added. How
many parts a kernel takes depends on the shape of the batch, so the same request gets other bits in other company.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from lessons.exact.draws import generator
from lessons.exact.numerics import bfloat16
from lessons.exact.products import product

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lessons.exact.numerics import Floats

    type Tokens = NDArray[np.int64]


def split_k(
    rows: Floats, weights: Floats, parts: int, *, running: bool = False, rounded: bool = True
) -> Floats:
    """Return ``rows`` (n, d) times ``weights`` (d, m) as (n, m), the sum over d in ``parts`` parts.

    Each part is summed in float64 (tensor cores keep FP32, far finer than what follows), then
    rounded to bfloat16. The parts are added in order, in FP32, or with ``running`` in bfloat16, as if each were added to
    the output in place. The result is rounded to bfloat16 if ``rounded``; one part is rounded only so.
    Raises ValueError unless 1 <= parts <= d.
    """
    depth = rows.shape[1]
    if not 1 <= parts <= depth:
        raise ValueError(f"a sum of {depth} terms has no {parts} parts")
    edges = [depth * part // parts for part in range(parts + 1)]
    total = np.zeros((rows.shape[0], weights.shape[1]), dtype=np.float32)
    for start, stop in pairwise(edges):
        partial = product(rows[:, start:stop], weights[start:stop]).astype(np.float32)
        total += bfloat16(partial) if parts > 1 else partial
        if running and parts > 1:
            total = bfloat16(total)
    return bfloat16(total) if rounded else total


def accumulate(terms: Floats) -> float:
    """Return the sum of ``terms`` (n,) in bfloat16, one by one: it stalls once a term is below half of the last place.

    Ones stall at 256, where the next bfloat16 is 258 and 257 rounds back.
    """
    total = np.zeros(1, dtype=np.float32)
    for term in bfloat16(terms):
        total = bfloat16(total + term)
    return float(total[0])


@dataclass(frozen=True)
class Flips:
    """What another order of the same sum does to the logits of many positions."""

    positions: int
    flipped: float
    """Share of the positions whose greatest logit is another one."""
    largest_change: float
    """Of any logit."""
    median_margin: float
    """Between the greatest logit and the next."""

    def identical(self, tokens: int) -> float:
        """Return the probability that ``tokens`` tokens in a row do not flip, if positions were independent."""
        return float((1 - self.flipped) ** tokens)


LOGIT_SCALE = 2.0
"""Standard deviation of a logit over the vocabulary. Scenario constant; a trained model is surer at most positions."""


def flips(
    parts: int,
    *,
    seed: int,
    positions: int = 400,
    depth: int = 512,
    vocab: int = 2_048,
    running: bool = True,
    rounded: bool = False,
) -> Flips:
    """Return how ``parts`` parts change the logits of random hidden states under random weights, against one part.

    400 positions of 512 x 2,048 take 0.15 s. Random weights have more near ties than trained ones: an upper
    bound. With ``rounded`` the logits themselves are bfloat16, so that ties are exact and the lower token wins.
    """
    rng = generator("logits", seed)
    weights = _matrix(rng, depth, vocab, LOGIT_SCALE / math.sqrt(depth))
    rows = _matrix(rng, positions, depth, 1.0)
    one = split_k(rows, weights, 1, rounded=rounded)
    other = split_k(rows, weights, parts, running=running, rounded=rounded)
    top = np.partition(one, vocab - 2, axis=1)[:, -2:]
    return Flips(
        positions=positions,
        flipped=float((one.argmax(axis=1) != other.argmax(axis=1)).mean()),
        largest_change=float(np.abs(one - other).max()),
        median_margin=float(np.median(top[:, 1] - top[:, 0])),
    )


def _matrix(rng: np.random.Generator, rows: int, columns: int, scale: float) -> Floats:
    """Return normal numbers in bfloat16, the small ones on a grid of ``scale`` / 1024.

    Products of two such matrices and all their partial sums fit into a float64 exactly: their bytes do not
    depend on the order in which a library adds.
    """
    found = bfloat16((scale * rng.standard_normal((rows, columns))).astype(np.float32))
    grid = np.float32(2.0 ** (math.floor(math.log2(scale)) - 10))
    return (np.rint(found / grid) * grid).astype(np.float32)


@dataclass(frozen=True)
class Divergence:
    """The same prompts answered greedily twice; arrays of shape (prompts,), entries up to the number of tokens."""

    tokens: int
    first_logit: Tokens
    """First position at which any logit differs; ``tokens`` if none does."""
    first_token: Tokens
    """First position at which the text differs; ``tokens`` if it does not."""

    @property
    def identical(self) -> float:
        """Share of the answers that are the same to the end."""
        return float((self.first_token == self.tokens).mean())

    @property
    def rate(self) -> float:
        """Flips for each token up to the first: the parameter of a geometric distribution, as seen."""
        parted = int((self.first_token < self.tokens).sum())
        return parted / float(np.minimum(self.first_token + 1, self.tokens).sum())


def diverge(
    one_parts: int,
    other_parts: int,
    *,
    seed: int,
    prompts: int = 16,
    tokens: int = 100,
    depth: int = 128,
    vocab: int = 1_024,
) -> Divergence:
    """Return where two greedy answers of a toy model part, if only the parts of its last product differ.

    The model is random: its state is half of the last state and, by halves, vectors for the prompt, the last token and the
    position.
    What it is given is equal until a token flips; from then on the two read different texts. Takes 0.1 s.
    """
    rng = generator("toy model", seed)
    head = _matrix(rng, depth, vocab, LOGIT_SCALE / math.sqrt(depth))
    embedding = _matrix(rng, vocab, depth, 0.5)
    places = _matrix(rng, tokens, depth, 0.5)
    asked = _matrix(rng, prompts, depth, 0.5)
    states, last = [asked, asked], [np.zeros(prompts, dtype=np.int64)] * 2
    first_logit = np.full(prompts, tokens)
    first_token = np.full(prompts, tokens)
    for position in range(tokens):
        logits = []
        for run, parts in enumerate((one_parts, other_parts)):
            states[run] = bfloat16(
                np.float32(0.5) * states[run] + asked + embedding[last[run]] + places[position]
            )
            logits.append(split_k(states[run], head, parts, running=True))
            last[run] = logits[run].argmax(axis=1)
        changed = (logits[0] != logits[1]).any(axis=1)
        first_logit = np.where(changed, np.minimum(first_logit, position), first_logit)
        parted = last[0] != last[1]
        first_token = np.where(parted, np.minimum(first_token, position), first_token)
    return Divergence(tokens, first_logit, first_token)

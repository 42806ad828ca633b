"""Drill 5.2: answers at temperature 0 that differ from those on file. Sums in parts, other ids, draws: a toy model computes them.

Where two greedy answers part because a sum is cut otherwise is ``lessons.exact.reductions.diverge``, 100 tokens of 16
prompts. Random weights: a trained model is surer, and its answers part later. The calm service runs batch-invariant
kernels on one kind of GPU. Scenario constants: the shares of replicas, a date of 0.3 of a prompt's own weight, temperature 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from lessons.drills.evidence import Observed
from lessons.exact.draws import generator
from lessons.exact.numerics import bfloat16
from lessons.exact.products import product
from lessons.exact.reductions import diverge, split_k

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labs.marking.table import Value

PROMPTS, TOKENS, POSITIONS, DEPTH, VOCAB = 16, 100, 64, 128, 1_024
LOGIT_SCALE = 2.0
DATE_WEIGHT = 0.3
_DRAWN = 3


@dataclass(frozen=True)
class Case:
    """One world: what is another than it was when the answers were filed."""

    drawn: int
    company_parts: int
    """Parts of a sum in today's company; 1: as alone."""
    kind_parts: int
    """Parts on the other kind of replica, or in the other version; 1: none."""
    other_share: float
    """Of the answers that come from there."""
    other_version: bool
    ids_differ: int
    temperature: float
    score: float
    luck: tuple[float, ...]
    """One number of each prompt, 0 to 1: it differs if its number is below the share that does."""


@lru_cache(maxsize=16)
def parted(parts: int, drawn: int) -> float:
    """Return the share of answers that differ if the last product is summed in ``parts`` parts instead of one."""
    return 1.0 - diverge(1, parts, seed=drawn, tokens=TOKENS).identical


@lru_cache(maxsize=16)
def logprob_change(parts: int, drawn: int, date_weight: float) -> float:
    """Return by how much the first token's logprob changes, nats, median of 64 positions that change; 0 if none does."""
    rows, head, date = _model(drawn)
    other = bfloat16(rows + np.float32(date_weight) * date)
    one = _logprobs(split_k(rows, head, 1, rounded=False))
    two = _logprobs(split_k(other, head, parts, running=True, rounded=False))
    best = one.argmax(axis=1)
    change = np.abs(one - two)[np.arange(POSITIONS), best]
    change = change[change > 0]
    return float(np.median(change)) if change.size else 0.0


@lru_cache(maxsize=16)
def drawn_alike(drawn: int) -> float:
    """Return the probability that two draws at temperature 1 give the same token, mean over positions."""
    rows, head, _ = _model(drawn)
    share = np.exp(_logprobs(split_k(rows, head, 1, rounded=False)))
    return float(np.square(share).sum(axis=1).mean())


@lru_cache(maxsize=16)
def other_first(drawn: int) -> float:
    """Return the share of positions whose first token is another one with the other date."""
    rows, head, date = _model(drawn)
    other = bfloat16(rows + np.float32(DATE_WEIGHT) * date)
    return float((product(rows, head).argmax(axis=1) != product(other, head).argmax(axis=1)).mean())


def _model(drawn: int) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    rng = generator("drill-5.2 model", drawn)
    rows = bfloat16(rng.standard_normal((POSITIONS, DEPTH)).astype(np.float32))
    head = rng.standard_normal((DEPTH, VOCAB)) * LOGIT_SCALE / np.sqrt(DEPTH)
    date = bfloat16(rng.standard_normal(DEPTH).astype(np.float32))
    return rows, bfloat16(head.astype(np.float32)), date


def _logprobs(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    wide = logits.astype(np.float64)
    top = wide.max(axis=1, keepdims=True)
    found: NDArray[np.float64] = wide - top - np.log(np.exp(wide - top).sum(axis=1, keepdims=True))
    return found


def _case(world: str, seed: int) -> Case:
    rng = generator("drill-5.2", seed)
    drawn = int(rng.integers(_DRAWN))
    parts = (4, 8)[int(rng.integers(2))]
    share = float(rng.uniform(0.8, 0.95))
    ids = int(rng.integers(2, 6))
    score = float(rng.uniform(-0.4, 0.4))
    luck = tuple(rng.uniform(size=PROMPTS).tolist())
    calm = Case(
        drawn,
        1,
        1,
        0.0,
        other_version=False,
        ids_differ=0,
        temperature=0.0,
        score=score,
        luck=luck,
    )
    match world:
        case "company":
            return replace(calm, company_parts=parts)
        case "ids":
            return replace(calm, ids_differ=ids)
        case "drawn":
            return replace(calm, temperature=1.0)
        case "kinds":
            return replace(calm, kind_parts=parts, other_share=share)
        case "filed":
            return replace(calm, kind_parts=parts, other_share=1.0, other_version=True)
    raise KeyError(world)


def _changed(case: Case, fix: str) -> Case:
    match fix:
        case "invariant":
            return replace(case, company_parts=1)
        case "date":
            return replace(case, ids_differ=0)
        case "zero":
            return replace(case, temperature=0.0)
        case "pin":
            return case if case.other_version else replace(case, kind_parts=1, other_share=0.0)
        case "leave":
            # Filed anew: from then on the other version is the one that answers were filed with.
            return replace(case, kind_parts=1, other_version=False) if case.other_version else case
    raise KeyError(fix)


def _again(case: Case) -> float:
    """Return the share of answers that differ if asked twice today, on one replica under load."""
    if case.temperature:
        return 1.0 - drawn_alike(case.drawn) ** TOKENS
    return parted(case.company_parts, case.drawn) if case.company_parts > 1 else 0.0


def _differ(case: Case) -> float:
    """Return the share of answers that differ from those on file."""
    found = _again(case)
    if case.kind_parts > 1:
        found = max(found, case.other_share * parted(case.kind_parts, case.drawn))
    if case.ids_differ:
        found = max(found, 1.0 - (1.0 - other_first(case.drawn)) ** TOKENS)
    return sum(luck < found for luck in case.luck) / PROMPTS


def observe(world: str, seed: int, fix: str | None = None) -> Observed:
    """Return what a world reads. A fix takes one difference away. Takes 0.2 s at first, then under 1 ms."""
    case = _case(world, seed)
    if fix is not None:
        case = _changed(case, fix)
    parts = max(case.company_parts, case.kind_parts)
    weight = DATE_WEIGHT if case.ids_differ else 0.0
    change = logprob_change(parts, case.drawn, weight) if parts > 1 or weight else 0.0
    differ, again = _differ(case), _again(case)
    values: dict[str, Value] = {
        "differ_share": differ,
        "first_change": change,
        "again_share": again,
        "ids_differ": float(case.ids_differ),
        "temperature": case.temperature,
        "other_kind": case.other_share if not case.other_version else 0.0,
        "version": "another" if case.other_version else "the same",
        "score_change": case.score,
    }
    prints = {
        "replay": (
            f"first position where a logprob differs: |change| {change:.4f} nats"
            if change
            else "no logprob differs up to the first token that does",
        ),
        "again": (
            f"same replica, in traffic, twice: {again * PROMPTS:.0f} of {PROMPTS} answers differ",
        ),
        "ids": (f"prompt ids of then and now: {case.ids_differ} differ",),
        "params": (f"SamplingParams(temperature={case.temperature}, max_tokens={TOKENS})",),
        "replicas": (
            f"answers of another GPU model than then: {100 * (0 if case.other_version else case.other_share):.0f} %",
        ),
        "version": (f"engine version on file and of today: {values['version']}",),
        "score": (f"score of the answers: {case.score:+.1f} points against last week",),
    }
    return Observed(values, prints)

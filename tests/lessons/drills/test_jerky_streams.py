"""Drill 2.1's evidence against the arithmetic of its symptom."""

import numpy as np
import pytest

from lessons.drills.evidence.jerky_streams import (
    DECODE_MS,
    DOCUMENT_TOKENS,
    DOCUMENTS_RPS,
    PREFILL_MS,
    STREAMS,
    Case,
    observe,
    reader,
    run,
)

BUDGETS = (512, 2048, 8192)


def documents_only(budget):
    """Steps in which a budget of prompt tokens rides beside the streams, for a quarter of an hour's worth of seeds."""
    return [run(Case(seed, budget=budget + STREAMS), chats_rps=0.0) for seed in range(3)]


def test_the_mean_gap_is_the_same_at_any_budget():
    load = DOCUMENTS_RPS * DOCUMENT_TOKENS * PREFILL_MS / 1e3
    for budget in BUDGETS:
        gaps = np.concatenate([reader(steps).ms for steps in documents_only(budget)])
        assert gaps.mean() == pytest.approx((DECODE_MS + 0.3) / (1 - load), rel=0.03)


@pytest.mark.parametrize(("budget", "slow_ms", "share"), [(512, 61, 0.19), (2048, 170, 0.048)])
def test_the_slow_kind_stands_at_a_step_and_its_chunk(budget, slow_ms, share):
    steps = documents_only(budget)
    took = np.concatenate([each.took_ms for each in steps])
    context = np.concatenate([each.context for each in steps])
    full = context == budget
    assert np.median(took[full]) == pytest.approx(slow_ms, rel=0.01)
    assert (context > 0).mean() == pytest.approx(share, rel=0.12)


def test_a_step_with_two_whole_documents_is_bounded_by_the_budget():
    longest = max(each.took_ms.max() for each in documents_only(8192))
    assert 451 < longest < (DECODE_MS + 8192 * PREFILL_MS) * 1.05


def test_tokens_passed_on_late_have_the_same_mean_and_gaps_that_are_multiples():
    steps = run(Case(1))
    late, even = reader(steps, 150.0), reader(steps)
    assert late.ms.mean() == pytest.approx(even.ms.mean(), rel=0.01)
    assert np.allclose(late.ms % 150.0, 0)


def test_the_mean_time_per_token_says_next_to_nothing():
    for seed in range(3):
        means = [
            observe(world, seed).values["tpot_ms"] for world in ("chunks", "collector", "flushed")
        ]
        assert max(means) < 1.15 * min(means)

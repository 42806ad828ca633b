"""Drill 1.1's evidence against the arithmetic of its symptom."""

import pytest

from lessons.drills.evidence import template_deploy
from lessons.drills.evidence.template_deploy import BLOCK, PREFILL_MS, observe


def test_hits_are_whole_blocks_in_front_of_the_first_difference():
    for seed in range(5):
        case = template_deploy._case("template", seed)
        assert case.cached == BLOCK * (case.first_difference // BLOCK) == 0
        calm = template_deploy._case("cold", seed)
        assert calm.cached == BLOCK * (calm.shared // BLOCK)


def test_without_load_the_prefill_is_tokens_times_their_price():
    from dataclasses import replace

    case = replace(template_deploy._case("template", 1), rate_rps=1e-9, render_ms=0.0)
    assert case.ttft_ms() == pytest.approx((case.shared + case.own) * PREFILL_MS)


def test_an_evicted_prefix_and_a_changed_one_cost_nearly_the_same():
    for seed in range(5):
        changed, evicted = observe("template", seed), observe("evicted", seed)
        assert evicted.values["ttft_15m_ms"] > 0.7 * changed.values["ttft_15m_ms"]


def test_utilisation_says_the_same_of_every_world():
    for seed in range(5):
        assert (
            len({observe(w, seed).values["gpu_util"] for w in ("template", "evicted", "cold")}) == 1
        )

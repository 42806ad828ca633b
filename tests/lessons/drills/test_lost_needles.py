"""Drill 5.4's evidence against the arithmetic of its symptom."""

from dataclasses import replace

import pytest

from lessons.drills.evidence.lost_needles import LENGTHS, WINDOW, _case, _recall, observe
from lessons.exact.retrieval import margin

WORLDS = ("keys", "weights", "positions", "cut", "question")
LONGEST = LENGTHS[-1]


def test_the_margins_are_those_of_the_debrief():
    assert margin(12.0, 512) == pytest.approx(5.3, abs=0.05)
    assert margin(12.0, LONGEST) == pytest.approx(1.1, abs=0.05)
    assert margin(11.0, LONGEST) == pytest.approx(0.1, abs=0.05)


def test_coarse_keys_lose_a_fifth_at_any_length_and_noise_hides_among_few_tokens():
    for seed in range(5):
        keys, weights = _case("keys", seed), _case("weights", seed)
        assert _recall(keys, 512).found == pytest.approx(0.8, abs=0.07)
        assert _recall(weights, 512).found > 0.995
        assert _recall(weights, 8_192).found == pytest.approx(0.89, abs=0.04)
        assert _recall(weights, LONGEST).found == pytest.approx(0.57, abs=0.05)


def test_a_cache_of_16_bits_mends_coarse_keys_and_nothing_else():
    for seed in range(5):
        mended = {world for world in WORLDS if observe(world, seed).values["kv16_found"] == 1.0}
        assert mended == {"keys"}


def test_what_is_out_of_reach_is_lost_by_distance_and_what_is_noisy_is_not():
    for seed in range(5):
        gap = {world: observe(world, seed).values["half_gap"] for world in WORLDS}
        assert gap["positions"] == 1.0
        assert gap["cut"] > 0.7
        assert max(abs(gap[world]) for world in ("keys", "weights", "question")) < 0.5


def test_a_window_of_half_the_length_loses_the_farther_half():
    assert WINDOW * 2 == LONGEST
    assert observe("positions", 3).values["lost_share"] == 0.5


def test_perplexity_rises_by_less_than_two_per_cent_in_every_world():
    for seed in range(40):
        for world in WORLDS:
            assert 0 < observe(world, seed).values["perplexity_change"] < 2


def test_another_question_is_lost_by_the_checkpoint_before_as_well():
    for seed in range(5):
        read = observe("question", seed).values
        assert read["before_found"] == pytest.approx(1 - read["lost_share"])
        case = _case("question", seed)
        assert _recall(replace(case, spread=0.0), 8_192).found == 1.0

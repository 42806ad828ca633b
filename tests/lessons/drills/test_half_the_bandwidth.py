"""Drill 4.6's evidence against the arithmetic of its symptom."""

from dataclasses import replace

import pytest

from lessons.drills.evidence.half_the_bandwidth import H100_PCIE, _case, observe
from lessons.exact.roofline import H100_SXM, needed_in_flight

WORLDS = ("one_load", "strided", "tail", "small", "card")


def test_one_load_of_16_bytes_reaches_54_per_cent_at_600_ns():
    case = replace(_case("one_load", 1), latency_s=600e-9, launch_s=0.0)
    assert case.in_flight == 8_192
    assert 1 / case.over_roofline == pytest.approx(0.54, abs=0.005)


def test_bandwidth_is_in_proportion_to_loads_until_it_meets_what_a_copy_reaches():
    one = replace(_case("one_load", 2), launch_s=0.0)
    needed = needed_in_flight(H100_SXM, latency_s=one.latency_s) * one.copy_share
    for loads in (1, 2, 4, 8):
        case = replace(one, loads=loads)
        bound = min(loads * 8_192, needed)
        assert one.moved_s / case.moved_s == pytest.approx(bound / 8_192)


def test_unused_sectors_show_in_what_memory_moves_and_not_in_what_is_used():
    for seed in range(5):
        case = _case("strided", seed)
        assert case.dram_share > 0.85
        assert case.n_bytes / case.took_s < 0.7 * H100_SXM.hbm_bytes_per_s


def test_the_last_wave_of_a_few_blocks_takes_what_one_block_needs_alone():
    for seed in range(5):
        case = replace(_case("tail", seed), launch_s=0.0)
        block_s = case.n_bytes / case.blocks / (8_192 / case.latency_s)
        whole_s = 528 * case.n_bytes / case.blocks / case.copy_bytes_per_s
        assert case.moved_s == pytest.approx(whole_s + block_s)
        used = observe("tail", seed).values["places_used"]
        place_s = 528 * whole_s + (case.blocks - 528) * block_s
        assert used == pytest.approx(place_s / (528 * (whole_s + block_s)))


def test_the_other_card_does_what_its_own_sheet_allows():
    for seed in range(5):
        case = _case("card", seed)
        assert case.card is H100_PCIE
        assert case.dram_share == pytest.approx(case.copy_share, abs=0.01)


def test_occupancy_says_the_same_of_every_world():
    assert len({observe(world, 3).values["occupancy"] for world in WORLDS}) == 1

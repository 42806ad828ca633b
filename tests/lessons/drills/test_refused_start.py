"""Drill 3.1's evidence against the ledger of its symptom."""

import pytest

from labs.simulator.memory.ledger import GIB
from lessons.drills.evidence import refused_start
from lessons.drills.evidence.refused_start import CALM, WINDOW_S, _case, _start, observe


def test_two_ranks_leave_a_pool_of_10208_tokens_and_start():
    sums = _start(CALM, 0).ledger
    assert sums.available_kv / GIB == pytest.approx(1.56, abs=0.01)
    assert sums.kv_tokens == 10_208
    assert _start(CALM, 0).failure is None


def test_every_world_ends_its_log_in_a_phase_of_its_own():
    worlds = ("context", "neighbour", "seats", "ranks", "graphs", "loading")
    for seed in range(8):
        assert len({observe(world, seed).values["last_phase"] for world in worlds}) == len(worlds)


def test_the_refused_context_needs_more_than_the_pool_has():
    for seed in range(5):
        case = _case("context", seed)
        sums = case.start.ledger
        assert case.flags.max_model_len * sums.kv_bytes_per_token > sums.kv_cache


def test_a_slow_disk_needs_bytes_over_bandwidth_more_and_a_restart_begins_anew():
    for seed in range(5):
        case = _case("loading", seed)
        assert case.weights_gb == pytest.approx(141.1)
        rest_s = _start(CALM, 0).ready_after_s - case.weights_gb / 5.0
        assert case.ready_after_s == pytest.approx(rest_s + 141.1 / case.read_gb_per_s)
        left = observe("loading", seed, "leave").values["not_ready_s"]
        again = observe("loading", seed, "shorter").values["not_ready_s"]
        assert left + case.since_s == pytest.approx(again)
        assert again < WINDOW_S


def test_back_off_doubles_from_ten_seconds_to_five_minutes():
    case = _case("neighbour", 1)
    took = case.start.took_s
    assert took == 8
    starts = [0, 18, 46, 94, 182, 350, 658]
    assert case.restarts == sum(start + took <= case.since_s for start in starts)


def test_an_unknown_fix_is_refused():
    with pytest.raises(KeyError):
        refused_start.observe("context", 1, "pray")

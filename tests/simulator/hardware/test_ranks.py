import pytest

from labs.simulator.cost_model import profile
from labs.simulator.hardware.ranks import GpuState, rank_cost, slowest
from tests.simulator.hardware.worlds import decode_ms, sxm

MAX = 1980


@pytest.fixture
def healthy():
    return sxm().engines[0].cost


def at(healthy, clock, **fields):
    return rank_cost(healthy, GpuState(clock, **fields), max_sm_clock_mhz=MAX)


def test_healthy_nvlink_costs_what_the_profile_says(healthy):
    plain = profile("llama-70b").cost_model()
    for tokens in (1, 37, 128, 513, 9000):
        step = {"kv_tokens": 5000, "prefill_tokens": tokens // 2, "sequences": 9, "tokens": tokens}
        assert healthy.step_ps(**step) == plain.step_ps(**step)
    assert healthy.collectives_ps(2048) / 1e9 == pytest.approx(27.15, abs=0.02)


def test_a_rank_that_nothing_ails_costs_what_it_did(healthy):
    assert at(healthy, MAX) is healthy
    assert slowest([healthy] * 4) is healthy


def test_prefill_slows_by_the_ratio_of_the_clocks_but_for_its_collectives(healthy):
    slow = at(healthy, 990)
    comm = (98.39 - 0.54) / 8191
    told = comm + 2 * (0.065 - comm)
    assert slow.per_prefill_token_ps / 1e9 == pytest.approx(told, rel=0.001)


def test_decode_slows_only_by_what_it_computes_and_launches(healthy):
    slow = at(healthy, 1500)
    assert slow.weight_read_ps == healthy.weight_read_ps
    assert slow.per_kv_token_ps == healthy.per_kv_token_ps
    ratio = decode_ms(slow, 16) / decode_ms(healthy, 16)
    assert 1.02 < ratio < 1.06
    assert slow.per_prefill_token_ps / healthy.per_prefill_token_ps > 1.2


def test_far_below_half_the_clock_the_reads_slow_too(healthy):
    slow = at(healthy, 495)
    assert slow.weight_read_ps == 2 * healthy.weight_read_ps
    assert slow.per_kv_token_ps == 2 * healthy.per_kv_token_ps


def test_a_busy_neighbour_takes_half_of_all_the_ranks_time(healthy):
    shared = at(healthy, MAX, busy_tenants=1)
    step = {"kv_tokens": 20_000, "prefill_tokens": 512, "sequences": 20, "tokens": 531}
    assert shared.step_ps(**step) == pytest.approx(2 * healthy.step_ps(**step), rel=1e-6)
    assert GpuState(MAX, busy_tenants=2).time_share == pytest.approx(1 / 3)


def test_a_far_numa_node_costs_one_to_two_percent_of_a_decode_step(healthy):
    ratio = decode_ms(at(healthy, MAX, far_cpu=True), 16) / decode_ms(healthy, 16)
    assert 1.01 < ratio < 1.02


def test_the_slowest_rank_ends_the_step(healthy):
    ranks = [healthy, at(healthy, 1200), healthy, at(healthy, MAX, far_cpu=True)]
    group = slowest(ranks)
    step = {"kv_tokens": 20_000, "prefill_tokens": 512, "sequences": 20, "tokens": 531}
    assert group.step_ps(**step) >= max(rank.step_ps(**step) for rank in ranks)
    assert slowest(ranks[:2]) == ranks[1]

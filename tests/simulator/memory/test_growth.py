import pytest

from labs.simulator.memory.growth import (
    ALL,
    BatchShape,
    LazyCapture,
    PerKey,
    PerRequest,
    Spike,
    pool_bytes,
    unseen_shapes,
)
from labs.simulator.memory.ledger import GIB, LLAMA_70B
from labs.simulator.workload import LengthDistribution

PROMPT = LengthDistribution(1100, 0.8)


def test_two_gib_in_48_hours_at_3_a_second_is_4350_bytes_a_request():
    leak = PerRequest("request_state", 4350)
    assert leak.held({ALL: 3 * 48 * 3600.0}, 0) / GIB == pytest.approx(2.1, abs=0.01)


def test_a_cache_of_schemas_follows_the_schemas_and_flattens():
    cache = PerKey("grammar_cache", 1 << 20, keys=100)
    half, full = cache.held({ALL: 69.3}, 0), cache.held({ALL: 5000.0}, 0)
    assert half == pytest.approx(50 << 20, rel=0.02)
    assert full == 100 << 20


def test_a_pool_takes_one_and_a_half_to_two_and_a_half_gigabytes():
    assert 1.4e9 < pool_bytes(LLAMA_70B, 48 + 128) < 1.6e9
    assert 2.4e9 < pool_bytes(LLAMA_70B, 48 + 512) < 2.6e9


def test_a_pool_is_kept_for_ever_and_captured_once():
    growth = LazyCapture("s", (BatchShape(48, 384, 1000.0, GIB),))
    ((due, _),) = growth.captures(0)
    assert growth.held({ALL: due - 1}, 0) == 0
    assert growth.held({ALL: due}, 0) == growth.held({ALL: 100 * due}, 0) == GIB


def test_each_process_draws_its_own_captures_and_the_same_each_time():
    growth = LazyCapture("s", (BatchShape(48, 384, 1000.0, GIB), BatchShape(48, 512, 9.0, GIB)))
    assert growth.captures(0) == growth.captures(0)
    assert growth.captures(0) != growth.captures(1)


def test_traffic_makes_a_few_rare_shapes_in_two_days():
    shapes = unseen_shapes(
        LLAMA_70B,
        mean_running=22.0,
        prompt=PROMPT,
        max_num_batched_tokens=512,
        warmed_decode_tokens=40,
    )
    requests = 3 * 48 * 3600
    counts = [
        sum(due <= requests for due, _ in LazyCapture(seed, shapes).captures(0))
        for seed in range(20)
    ]
    assert 3 <= sum(counts) / len(counts) <= 8


def test_warm_up_over_all_reachable_shapes_leaves_none():
    covered = unseen_shapes(
        LLAMA_70B,
        mean_running=22.0,
        prompt=PROMPT,
        max_num_batched_tokens=512,
        warmed_decode_tokens=72,
        at_least_one_in=1e9,
    )
    assert covered == ()


def test_the_shares_of_unseen_shapes_are_those_of_the_poisson_tail():
    shapes = unseen_shapes(
        LLAMA_70B,
        mean_running=5.0,
        prompt=PROMPT,
        max_num_batched_tokens=512,
        warmed_decode_tokens=8,
        at_least_one_in=1e12,
    )
    assert sum(1 / shape.one_in for shape in shapes) == pytest.approx(0.06809, abs=1e-4)


def test_prompt_logprobs_grow_with_the_chunk_and_scores_with_the_square():
    logprobs = Spike("prompt_logprobs", "scoring")
    flags = {"max_num_batched_tokens": 8192, "tensor_parallel_size": 4}
    full = logprobs.bytes_for(LLAMA_70B, 20_000, **flags)
    assert full * 4 / 10 / GIB == pytest.approx(3.9, abs=0.05)
    half = logprobs.bytes_for(LLAMA_70B, 20_000, **flags | {"max_num_batched_tokens": 4096})
    assert half * 2 == full
    scores = Spike("attention_scores", "long")
    assert scores.bytes_for(LLAMA_70B, 16_384, **flags) == 8 * GIB

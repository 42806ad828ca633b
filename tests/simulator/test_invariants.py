"""What holds in every world: properties, each over many small random ones."""

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labs.simulator.cost_model import CostModel
from labs.simulator.engine import Engine
from labs.simulator.kv_cache import BlockPool
from labs.simulator.request import Request, Status, to_ps
from labs.simulator.scheduler import EngineConfig
from tests.simulator.reacting import SHORT, eventful, world
from tests.simulator.test_prefix_groups import GROUPS, shared_life
from tests.simulator.worlds import MS, random_cost, random_requests

PROPERTY = settings(max_examples=40, derandomize=True, deadline=None, database=None)
SEEDS = st.integers(min_value=0, max_value=2**32)
CONFIGS = st.builds(
    EngineConfig,
    num_gpu_blocks=st.sampled_from([8, 30, 80, 300]),
    max_num_seqs=st.sampled_from([1, 3, 8, 20]),
    max_num_batched_tokens=st.sampled_from([20, 64, 512]),
    block_size=st.sampled_from([1, 4, 16]),
    max_model_len=st.sampled_from([40, 100, 1000]),
    enable_chunked_prefill=st.booleans(),
    scheduler_reserve_full_isl=st.booleans(),
    watermark=st.sampled_from([0.0, 0.2]),
    enable_prefix_caching=st.booleans(),
    prefix_hashing=st.just("groups"),
    policy=st.sampled_from(["fcfs", "priority"]),
    long_prefill_token_threshold=st.sampled_from([0, 0, 16]),
)


def life(config, seed, *, count=40):
    """Return an engine that is given ``count`` random requests, not yet advanced, and what its steps will say."""
    rng = random.Random(f"life:{seed}")
    served = Engine(config, random_cost(rng), sample_every_s=50.0)
    steps = []
    served.on_step = steps.append
    for request in random_requests(rng, count):
        request.priority = rng.randint(0, 2)
        length = rng.randint(0, request.prompt_tokens - 1)
        request.prefix = (("text", length),) if length else ()
        served.submit(request)
    return served, steps


@PROPERTY
@given(CONFIGS, SEEDS)
def test_every_request_ends_once_and_gives_every_block_back(config, seed):
    served, _ = life(config, seed)
    for until_s in (0.5, 3.0, 20.0):
        served.advance(until_s)
        ended = sum(r.finish_ps is not None for r in served.requests)
        alive = len(served.running) + len(served.waiting) + len(served._timeline.pending)
        assert ended + alive == len(served.requests)
        held = sum(r.num_blocks for r in served.running)
        used = served.num_used_blocks
        assert used <= held if config.enable_prefix_caching else used == held
    served.advance(3000.0)
    assert all(r.finish_ps is not None for r in served.requests)
    assert served.num_free_blocks == config.usable_blocks
    last = served.samples[-1]
    assert last.finished + last.aborted == len(served.requests)


@PROPERTY
@given(CONFIGS, SEEDS)
def test_time_goes_forward_and_nothing_comes_before_its_cause(config, seed):
    served, steps = life(config, seed)
    served.advance(3000.0)
    assert all(before.end_s <= after.start_s for before, after in pairwise(steps))
    for request in served.requests:
        times = [
            request.arrival_ps,
            request.first_scheduled_ps,
            request.first_token_ps,
            request.last_token_ps,
        ]
        happened = [t_ps for t_ps in [*times, request.finish_ps] if t_ps is not None]
        assert happened == sorted(happened)


@PROPERTY
@given(CONFIGS, SEEDS)
def test_an_engine_never_stands_still_while_somebody_waits(config, seed):
    served, steps = life(config, seed)
    served.advance(3000.0)
    edges = [0.0, *(edge for step in steps for edge in (step.start_s, step.end_s))]
    for idle_from_s, idle_to_s in zip(edges[::2], edges[1::2], strict=False):
        if idle_to_s - idle_from_s < 1e-9:
            continue
        middle_ps = to_ps((idle_from_s + idle_to_s) / 2)
        assert not [
            r.request_id for r in served.requests if r.arrival_ps < middle_ps <= (r.finish_ps or 0)
        ]


@PROPERTY
@given(CONFIGS, SEEDS)
def test_a_finished_request_has_what_it_asked_for_or_what_the_context_holds(config, seed):
    served, _ = life(config, seed)
    served.advance(3000.0)
    for request in served.requests:
        if request.status is Status.FINISHED:
            room = config.max_model_len - request.prompt_tokens
            assert request.num_output_tokens == max(1, min(request.max_tokens, room))
    last = served.samples[-1]
    assert last.generation_tokens == sum(r.num_output_tokens for r in served.requests)
    assert sum(last.itl_counts) + sum(last.ttft_counts) == last.generation_tokens


@PROPERTY
@given(st.integers(2, 40), st.integers(1, 900), st.integers(1, 900), st.booleans(), st.booleans())
def test_a_request_that_the_pool_can_never_hold_ends_soon_and_says_so(
    blocks, prompt, outputs, gate, chunked
):
    config = EngineConfig(
        num_gpu_blocks=blocks, max_num_batched_tokens=1024, scheduler_reserve_full_isl=gate,
        enable_chunked_prefill=chunked,
    )  # fmt: skip
    for closed_form in (True, False):
        served = Engine(config, CostModel(MS, MS, 0, 0), closed_form=closed_form)
        served.submit(Request("huge", 0.0, prompt, outputs))
        served.submit(Request("small", 0.0, 1, 1))
        served.advance(1000.0)
        huge, small = served.requests
        # The last output needs no place of its own.
        fits = prompt + outputs - 1 <= 16 * config.usable_blocks
        assert huge.status is (Status.FINISHED if fits else Status.ABORTED)
        assert fits or huge.finish_reason == "error"
        assert small.status is Status.FINISHED
        # It fills the pool, is preempted for its own sake, and is given up: no recompute for ever.
        assert served.samples[-1].steps <= outputs + 3
        assert huge.num_preemptions <= 1


@PROPERTY
@given(SEEDS)
def test_without_a_cache_a_preempted_request_computes_again_what_it_had(seed):
    config = EngineConfig(
        num_gpu_blocks=30, max_num_seqs=8, max_num_batched_tokens=64, block_size=4, max_model_len=1000,
        scheduler_reserve_full_isl=False,
    )  # fmt: skip
    served, _ = life(config, seed)
    lost = set()
    served.on_step = lambda step: lost.update(step.preempted)
    served.advance(3000.0)
    for request in served.requests:
        assert (request.recomputed_tokens > 0) is (request.request_id in lost)
    last = served.samples[-1]
    finished = [r for r in served.requests if r.status is Status.FINISHED]
    if len(finished) == len(served.requests):
        useful = sum(r.num_tokens - 1 for r in finished)
        assert last.computed_tokens == useful + last.recomputed_tokens


@PROPERTY
@given(SEEDS)
def test_a_block_that_is_taken_answers_for_its_old_content_no_more(seed):
    rng = random.Random(seed)
    pool = BlockPool(12, 4)
    alive = []
    for i in range(60):
        if alive and (rng.random() < 0.5 or pool.num_free < 6):
            gone = alive.pop(rng.randrange(len(alive)))
            gone.finish_reason = "length"
            pool.free(gone)
        else:
            tokens = tuple(range(rng.randint(1, 12))) if rng.random() < 0.5 else (i, *range(8))
            request = Request(f"q{i}", 0.0, len(tokens), 5, prompt_token_ids=tokens)
            hits, _ = pool.lookup(request)
            pool.allocate(request, len(tokens), hit_blocks=hits)
            alive.append(request)
        answers = [block for blocks in pool._hash_blocks.values() for block in blocks]
        assert len(answers) == len(set(answers)) <= pool.usable
        assert set(answers) == set(pool._block_hash)


@PROPERTY
@given(st.integers(0, 10_000))
def test_the_cache_of_named_texts_never_remembers_more_than_the_pool_holds(seed):
    served = shared_life(seed, closed_form=True)
    scheduler = served._core.scheduler
    if not hasattr(scheduler, "cache"):
        return
    cache = scheduler.cache
    cache.settle(scheduler.num_free)
    free = sum(run.high - run.low for run in cache._queue.values())
    assert free == scheduler.num_free
    remembered = sum(text.end - text.start for text in cache._texts.values())
    assert remembered <= served.config.usable_blocks - served.num_leaked_blocks
    for text in cache._texts.values():
        assert text.start <= text.held <= text.end
        in_queue = sum(cache._queue[key].high - cache._queue[key].low for key in text.runs)
        assert in_queue == text.end - text.held


@pytest.mark.parametrize("seed", range(3))
def test_a_world_does_not_notice_others_in_the_same_process(seed):
    alone = eventful(seed)
    alone.advance(120.0)
    random.seed(99)
    other, again = eventful(seed + 50), eventful(seed)
    for until_s in (13.0, 57.0, 120.0):
        other.advance(until_s)
        again.advance(until_s)
    assert again.digest() == alone.digest()


@pytest.mark.parametrize("seed", range(3))
def test_every_request_of_an_eventful_world_is_somewhere(seed):
    served = eventful(seed)
    for until_s in (25.0, 82.0, 131.0, 200.0):
        served.advance(until_s)
        at_engines = set()
        for engine in served.engines:
            at_engines.update(r.request_id for r in (*engine.running, *engine.waiting))
            at_engines.update(r.request_id for r in engine._timeline.pending)
        for request in served.requests:
            is_there = request.request_id in at_engines
            is_over = request.finish_ps is not None
            hangs = request.status is Status.STRANDED
            on_its_way = request.index < 0 and not is_over
            assert is_there + is_over + hangs + on_its_way == 1
        assert len({r.request_id for r in served.requests}) == len(served.requests)


@pytest.mark.parametrize(("rho", "sd"), [(0.5, 0.0), (0.5, 0.8), (0.7, 0.5)])
def test_waits_for_a_single_prefill_server_follow_pollaczek_and_khinchine(rho, sd):
    rng = random.Random(f"pk:{rho}:{sd}")
    config = EngineConfig(num_gpu_blocks=10_000, max_num_seqs=1, max_num_batched_tokens=100_000)
    served = Engine(config, CostModel(5 * MS, 5 * MS, 0, MS // 10), sample_every_s=1e6)
    prompts = [max(1, round(rng.lognormvariate(6.5 - sd * sd / 2, sd))) for _ in range(60_000)]
    services_s = [0.005 + n / 10_000 for n in prompts]
    mean_s = sum(services_s) / len(services_s)
    square = sum(s * s for s in services_s) / len(services_s)
    t_s = 0.0
    for i, prompt in enumerate(prompts):
        t_s += rng.expovariate(rho / mean_s)
        served.submit(Request(f"r{i}", t_s, prompt, 1))
    served.advance(t_s + 1000.0)
    rate = len(prompts) / t_s
    waits_s = [(r.first_scheduled_ps - r.arrival_ps) / 1e12 for r in served.requests]
    expected_s = rate * square / (2 * (1 - rate * mean_s))
    assert sum(waits_s) / len(waits_s) == pytest.approx(expected_s, rel=0.05)


def test_the_mean_gap_does_not_depend_on_the_chunk_and_the_longest_does():
    # A 25 ms step, one prompt of 6,000 tokens every two seconds, 0.07 ms a token.
    means, longest = {}, {}
    for chunk in (512, 2048, 8192):
        config = EngineConfig(
            num_gpu_blocks=100_000, max_num_batched_tokens=chunk, max_model_len=300_000
        )
        served = Engine(config, CostModel(25 * MS, 25 * MS, 0, 70_000_000), sample_every_s=1e6)
        rng = random.Random("chunks")
        served.submit(Request("stream", 0.0, 1, 120_000))
        t_s = 0.0
        while t_s < 3000.0:
            t_s += rng.expovariate(0.5)
            served.submit(Request(f"p{t_s}", t_s, 6000, 1))
        served.advance(3000.0)
        stream = served.requests[0]
        means[chunk] = (stream.last_token_s - stream.first_token_s) / (stream.num_output_tokens - 1)
        longest[chunk] = stream.longest_gap_s
    load = len(served.requests) / 3000.0 * 6000 * 0.07e-3
    for mean_s in means.values():
        assert mean_s == pytest.approx(0.025 / (1 - load), rel=0.02)
    assert longest[512] == pytest.approx(0.061, abs=0.001)
    assert longest[2048] == pytest.approx(0.168, abs=0.002)
    assert longest[8192] > 0.44


def test_the_same_load_scaled_in_every_rate_hits_the_cache_as_often():
    # Load alone does not lower a hit rate: the time that a block survives shrinks with the time until it is wanted.
    shares = []
    for pace in (1.0, 4.0):
        kinds = (
            type(SHORT)(
                "tenants", 1.0, SHORT.prompt, SHORT.output,
                prefix_group="t", prefix_tokens=1600, prefix_groups=60,
            ),
        )  # fmt: skip
        served = world(
            0.3 * pace,
            classes=kinds,
            config={**GROUPS, "num_gpu_blocks": 4000, "max_num_seqs": 256},
        )
        served.engines[0].slowdown = 1 / pace
        served.advance(2000.0 / pace)
        last = served.engines[0].samples[-1]
        shares.append(last.prefix_cache_hits / last.prefix_cache_queries)
    assert shares[0] == pytest.approx(shares[1], abs=0.02)
    assert 0.1 < shares[0] < 0.75

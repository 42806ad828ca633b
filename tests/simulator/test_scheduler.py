import random

import pytest

from labs.simulator.request import Request, Status
from labs.simulator.scheduler import EngineConfig, Scheduler


def scheduler(*lengths, num_gpu_blocks=101, **config):
    config = {"max_num_seqs": 8, "max_num_batched_tokens": 64, "block_size": 4} | config
    made = Scheduler(EngineConfig(num_gpu_blocks=num_gpu_blocks, **config))
    for i, (prompt, outputs, *priority) in enumerate(lengths):
        request = Request(f"r{i}", float(i), prompt, outputs, *priority)
        request.index = i
        made.add(request)
    return made


def step(made):
    plan = made.schedule()
    made.update(plan)
    return plan


def names(requests):
    return [request.request_id for request in requests]


def scheduled(plan):
    return {request.request_id: n for request, n in plan.scheduled.items()}


def test_a_prompt_is_computed_in_chunks_of_what_is_left_of_the_budget():
    made = scheduler((100, 5), (50, 5))
    assert scheduled(step(made)) == {"r0": 64}
    assert scheduled(step(made)) == {"r0": 36, "r1": 28}
    assert scheduled(step(made)) == {"r0": 1, "r1": 22}


def test_without_chunking_a_prompt_waits_for_a_whole_budget():
    made = scheduler((40, 5), (50, 5), enable_chunked_prefill=False)
    assert scheduled(step(made)) == {"r0": 40}
    assert scheduled(step(made)) == {"r0": 1, "r1": 50}


def test_a_long_prefill_is_held_to_the_threshold_unless_it_is_alone():
    made = scheduler((60, 5), long_prefill_token_threshold=10)
    assert scheduled(step(made)) == {"r0": 60}
    made = scheduler((60, 5), (60, 5), long_prefill_token_threshold=10)
    assert scheduled(step(made)) == {"r0": 10, "r1": 10}


def test_a_preempted_request_goes_to_the_front_of_the_queue():
    made = scheduler((12, 20), (12, 20), (12, 20), num_gpu_blocks=8, max_num_seqs=2)
    step(made)
    plan = step(made)
    assert names(plan.preempted) == ["r1"]
    assert names(made.waiting) == ["r1", "r2"]
    victim = next(iter(made.waiting))
    assert (victim.status, victim.num_computed_tokens, victim.num_blocks) == (
        Status.PREEMPTED,
        0,
        0,
    )
    assert victim.num_output_tokens == 1


def test_nothing_is_admitted_in_a_step_that_preempts():
    made = scheduler((12, 20), (12, 20), (1, 1), num_gpu_blocks=8, max_num_seqs=3)
    step(made)
    plan = made.schedule()
    assert names(plan.preempted)
    assert names(plan.new) == []


def test_what_is_behind_a_head_that_does_not_fit_waits_too():
    made = scheduler((20, 5), (90, 5), (2, 5), num_gpu_blocks=20, max_num_batched_tokens=200)
    assert names(step(made).new) == ["r0"]
    assert names(made.waiting) == ["r1", "r2"]


def test_the_full_length_gate_admits_only_what_fits_as_a_whole():
    lengths = ((40, 5), (60, 5))
    gated = scheduler(*lengths, num_gpu_blocks=21)
    assert names(step(gated).new) == ["r0"]
    open_ = scheduler(*lengths, num_gpu_blocks=21, scheduler_reserve_full_isl=False)
    assert names(step(open_).new) == ["r0", "r1"]


def test_the_watermark_holds_blocks_back_only_while_something_runs():
    made = scheduler((72, 5), (4, 5), num_gpu_blocks=21, watermark=0.2, max_num_batched_tokens=100)
    assert names(step(made).new) == ["r0"]
    assert names(step(made).new) == []


def test_priority_preempts_the_least_urgent_and_the_latest_of_them():
    made = scheduler(
        (12, 20, 1),
        (12, 20, 5),
        (12, 20, 0),
        num_gpu_blocks=10,
        policy="priority",
        max_num_batched_tokens=36,
    )
    assert names(step(made).new) == ["r2", "r0", "r1"]
    assert names(step(made).preempted) == ["r1"]


def test_the_context_ends_a_request_before_its_max_tokens():
    made = scheduler((10, 50), max_model_len=14)
    for _ in range(4):
        plan = step(made)
    request = next(iter(plan.scheduled))
    assert (request.status, request.num_output_tokens) == (Status.FINISHED, 4)


def test_the_last_token_never_takes_a_place_in_the_pool():
    made = scheduler((4, 1), num_gpu_blocks=2)
    plan = step(made)
    assert next(iter(plan.scheduled)).status is Status.FINISHED


@pytest.mark.parametrize("name", ["max_num_seqs", "max_num_batched_tokens", "block_size"])
def test_a_knob_below_1_is_refused_by_name(name):
    with pytest.raises(ValueError, match=name):
        EngineConfig(num_gpu_blocks=10, **{name: 0})


@pytest.mark.parametrize("seed", range(60))
def test_blocks_and_requests_are_conserved_whatever_the_config(seed):
    rng = random.Random(f"conservation:{seed}")
    caching = rng.random() < 0.5
    config = EngineConfig(
        num_gpu_blocks=rng.choice([20, 40, 100]),
        max_num_seqs=rng.choice([2, 5, 20]),
        max_num_batched_tokens=rng.choice([8, 30, 200]),
        block_size=rng.choice([2, 4, 16]),
        max_model_len=rng.choice([30, 70]),
        policy=rng.choice(["fcfs", "priority"]),
        enable_prefix_caching=caching,
        enable_chunked_prefill=rng.random() < 0.7,
        long_prefill_token_threshold=rng.choice([0, 3, 10]),
        scheduler_reserve_full_isl=rng.random() < 0.5,
        watermark=rng.choice([0.0, 0.1]),
    )
    made = Scheduler(config)
    requests = []
    for i in range(30):
        ids = tuple(rng.randint(0, 1) for _ in range(rng.randint(1, 29)))
        request = Request(f"r{i}", float(i), len(ids), rng.randint(1, 30), rng.randint(0, 3))
        request.index = i
        if caching:
            request.prompt_token_ids, request.output_token_ids = ids, []
        requests.append(request)
    todo = list(requests)
    for _ in range(2000):
        if todo and rng.random() < 0.5:
            made.add(todo.pop(0))
        plan = made.schedule()
        assert plan.total <= config.max_num_batched_tokens
        assert len(made.running) <= config.max_num_seqs
        held = sum(request.num_blocks for request in made.running)
        used = config.usable_blocks - made.pool.num_free
        assert used <= held if caching else used == held
        assert all(request.num_blocks == 0 for request in made.waiting)
        made.update(plan)
        done = sum(request.status is Status.FINISHED for request in requests)
        assert done + len(made.running) + len(made.waiting) + len(todo) == len(requests)
        if done == len(requests):
            break
    assert made.running or made.pool.num_free == config.usable_blocks

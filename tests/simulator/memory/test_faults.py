import itertools
import pickle
from dataclasses import replace

import pytest

from labs.simulator.memory.faults import (
    MemoryGrowth,
    OtherProcess,
    OutOfMemory,
    Redeploy,
    WorkspaceSpikes,
    evict,
    refuse_prompt_logprobs,
    stop_growth,
)
from labs.simulator.memory.growth import BatchShape, LazyCapture, PerRequest, Spike
from labs.simulator.memory.ledger import GIB, MIB
from labs.simulator.memory.supervise import configured, restart
from tests.simulator.memory.worlds import CHAT, FLAGS, SCORING, fleet

LOGPROBS = Spike("prompt_logprobs", "scoring")
LEAK = PerRequest("logprobs_cache", 20 * MIB)


def test_a_world_without_memory_is_what_it_was():
    followed, bare = fleet(), fleet()
    bare.memory.clear()
    bare._faults.clear()
    followed.advance(120.0)
    bare.advance(120.0)
    assert [r.state() for r in followed.requests] == [r.state() for r in bare.requests]


def test_a_leak_runs_out_and_the_engine_dies_with_torchs_message():
    world = fleet((10.0, MemoryGrowth(0, LEAK)))
    world.advance(1200.0)
    memory = world.memory[0]
    crash = memory.crashes_between(0.0, 1200.0)[0]
    assert crash.ended_by.startswith("CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has")
    free = world.memory[0].lives[0].startup.ledger.free
    assert crash.ended_s == pytest.approx(free / LEAK.bytes_each, rel=0.2)


def test_requests_of_a_dead_engine_fail_and_those_on_their_way_wait_for_the_next():
    world = fleet((60.0, OutOfMemory(0, 2 * GIB)), rate=3.0)
    world.advance(59.9)
    inside = [r for r in world.requests if r.finish_s is None and r.index >= 0]
    world.advance(300.0)
    failed = [r for r in world.requests if r.finish_reason == "error"]
    assert failed
    assert {r.request_id for r in failed} <= {r.request_id for r in inside} | {
        r.request_id for r in world.requests if 59.9 <= r.sent_s <= 60.1
    }
    waited = [r for r in world.requests if 65.0 < r.sent_s < 100.0]
    ready_s = world.memory[0].life.ready_s
    assert waited
    assert all(r.first_token_s is not None and r.first_token_s > ready_s for r in waited)


def test_prompt_logprobs_of_a_full_chunk_kill_the_engine_and_a_smaller_chunk_saves_it():
    spike = (5.0, WorkspaceSpikes(0, LOGPROBS))
    world = fleet(spike, classes=(CHAT, SCORING), rate=2.0, flags=replace(FLAGS, max_num_seqs=1024))
    world.advance(200.0)
    crash = world.memory[0].crashes_between(0.0, 200.0)[0]
    assert "Tried to allocate 9.79 GiB" in crash.ended_by
    small = replace(FLAGS, max_num_seqs=1024, max_num_batched_tokens=4096)
    saved = fleet(spike, classes=(CHAT, SCORING), rate=2.0, flags=small)
    saved.advance(200.0)
    assert saved.memory[0].transients
    assert not saved.memory[0].crashes_between(0.0, 200.0)


def test_stripping_prompt_logprobs_at_the_gateway_ends_the_spikes():
    world = fleet(
        (5.0, WorkspaceSpikes(0, LOGPROBS)),
        classes=(CHAT, SCORING),
        rate=2.0,
        flags=replace(FLAGS, max_num_seqs=1024),
    )
    refuse_prompt_logprobs(world, 0)
    world.advance(200.0)
    assert not world.memory[0].crashes_between(0.0, 200.0)


def test_a_neighbour_lets_the_engine_run_and_keeps_it_from_starting_again():
    world = fleet((20.0, OtherProcess(0, 2, 4711, "python", 12 * GIB)), (60.0, Redeploy(0)))
    world.advance(50.0)
    memory = world.memory[0]
    assert not memory.crashes_between(-1.0, 50.0)
    assert memory.worst_rank(50.0) == 2
    world.advance(400.0)
    assert memory.failed_starts >= 2
    assert memory.life.startup.failure.phase == "memory check"
    assert "on device cuda:2" in memory.life.startup.failure.message
    assert world.engines[0].is_down


def test_the_supervisor_backs_off_and_starts_once_the_neighbour_is_gone():
    world = fleet((20.0, OtherProcess(0, 2, 4711, "python", 12 * GIB)), (60.0, Redeploy(0)))
    world.advance(150.0)
    starts = [life.start_s for life in world.memory[0].lives if life.start_s >= 60.0]
    gaps = [b - a for a, b in itertools.pairwise(starts)]
    assert gaps == sorted(gaps)
    assert gaps[1] - gaps[0] == pytest.approx(10.0)
    assert evict(world, 0, 4711) == 12 * GIB
    world.advance(600.0)
    assert world.memory[0].life.startup.failure is None
    assert not world.engines[0].is_down


def test_lazy_capture_grows_in_steps_and_eager_stops_it():
    shapes = tuple(BatchShape(48, n, 60.0 * n, 2 * GIB) for n in (1, 2, 3, 4))
    growth = LazyCapture("t", shapes)
    lazy = replace(FLAGS, lazy_capture=True)
    world = fleet(flags=lazy, growths=(growth,))
    world.advance(2000.0)
    memory = world.memory[0]
    assert memory.crashes_between(0.0, 2000.0)
    used = [memory.used_mib(0, t) for t in range(0, 300, 5) if memory.life_at(t) is memory.lives[0]]
    assert used == sorted(used)
    eager = fleet(flags=replace(lazy, enforce_eager=True), growths=(growth,))
    eager.advance(2000.0)
    assert not eager.memory[0].crashes_between(0.0, 2000.0)


def test_a_growth_leaves_the_processes_before_it_as_they_were_and_outlives_none_that_had_it():
    world = fleet((50.0, Redeploy(0)), (50.0, MemoryGrowth(0, LEAK)))
    world.advance(600.0)
    memory = world.memory[0]
    assert memory.growth_at(49.0) == {}
    grown = memory.growth_at(400.0)
    assert sum(grown.values()) > 0
    stop_growth(world, 0, LEAK.owner)
    assert memory.growth_at(400.0) == grown


def test_a_gpu_never_shows_more_used_than_it_has():
    world = fleet((10.0, MemoryGrowth(0, PerRequest("cache", 3 * GIB))))
    world.advance(300.0)
    memory = world.memory[0]
    assert memory.crashes_between(0.0, 300.0)
    assert all(memory.used_mib(0, at_s) <= 81_559 for at_s in range(300))


def test_a_cap_on_captured_sizes_leaves_large_batches_without_a_graph():
    growth = LazyCapture("t", (BatchShape(48, 1, 1.0, 2 * GIB), BatchShape(56, 1, 1.0, 2 * GIB)))
    lazy = replace(FLAGS, lazy_capture=True, max_cudagraph_capture_size=48)
    world = fleet(flags=lazy, growths=(growth,))
    world.advance(60.0)
    assert world.memory[0].growth_at(60.0) == {"cuda_graph_pools": 2 * GIB}
    restart(world, 0, replace(lazy, max_cudagraph_capture_size=40))
    world.advance(400.0)
    assert world.memory[0].growth_at(400.0) == {"cuda_graph_pools": 0}


def test_pools_raise_what_torch_reserves_and_not_what_it_has_allocated():
    growth = LazyCapture("t", (BatchShape(48, 1, 1.0, 2 * GIB),))
    world = fleet(flags=replace(FLAGS, lazy_capture=True), growths=(growth,))
    world.advance(100.0)
    memory = world.memory[0]
    assert memory.reserved_bytes(95.0) - memory.reserved_bytes(-1.0) == 2 * GIB
    assert memory.allocated_bytes(95.0) == memory.allocated_bytes(-1.0)


def test_mending_a_leak_starts_the_engine_afresh_and_flat():
    world = fleet((10.0, MemoryGrowth(0, LEAK)))
    world.advance(100.0)
    grown = world.memory[0].growth_at(100.0)["logprobs_cache"]
    assert grown > 0
    stop_growth(world, 0, "logprobs_cache")
    world.advance(400.0)
    assert world.memory[0].growth_at(400.0) == {}
    assert world.engines[0].config.max_num_seqs == FLAGS.max_num_seqs


def test_eager_steps_cost_more_and_graphs_come_back_without_the_cost():
    world = fleet()
    world.advance(10.0)
    before = world.engines[0].cost
    restart(world, 0, replace(FLAGS, enforce_eager=True))
    assert world.engines[0].cost.base_ps > before.base_ps
    world.advance(200.0)
    restart(world, 0, FLAGS)
    assert world.engines[0].cost == before


def test_a_restart_that_is_told_only_a_config_follows_its_limits_and_may_fail():
    world = fleet((5.0, OtherProcess(0, 0, 4711, "python", 30 * GIB)))
    world.advance(10.0)
    world.restart_engine(0, replace(world.config, max_num_seqs=64), world.cost, 60.0)
    assert world.memory[0].flags.max_num_seqs == 64
    world.advance(100.0)
    assert world.engines[0].is_down


def test_a_pool_sized_by_the_ledger_changes_with_the_flags():
    world = fleet(sizes_pool=True)
    sized = configured(world.memory[0], world.config)
    assert sized.num_gpu_blocks == world.memory[0].life.startup.ledger.num_gpu_blocks
    restart(world, 0, replace(FLAGS, kv_cache_dtype="fp8"))
    fp8 = world.engines[0].config.num_gpu_blocks
    restart(world, 0, FLAGS)
    assert fp8 == pytest.approx(2 * world.engines[0].config.num_gpu_blocks, rel=0.001)


def test_pieces_pickling_and_the_whole_give_the_same_bytes():
    def make():
        return fleet(
            (10.0, MemoryGrowth(0, LEAK)),
            (40.0, OtherProcess(0, 1, 4711, "python", 3 * GIB)),
            (50.0, WorkspaceSpikes(0, LOGPROBS)),
            classes=(CHAT, SCORING),
        )

    whole = make()
    whole.advance(900.0)
    pieces = make()
    for at_s in range(0, 901, 37):
        pieces.advance(float(at_s))
        pieces = pickle.loads(pickle.dumps(pieces))  # noqa: S301
    pieces.advance(900.0)
    assert pieces.digest() == whole.digest()
    assert whole.memory[0].crashes_between(0.0, 900.0)


def test_a_request_with_a_deadly_workspace_never_finishes():
    world = fleet(
        (5.0, WorkspaceSpikes(0, LOGPROBS)),
        classes=(CHAT, SCORING),
        rate=2.0,
        flags=replace(FLAGS, max_num_seqs=1024),
    )
    world.advance(900.0)
    deadly = {t.request_id for t in world.memory[0].transients if t.failed}
    assert deadly
    assert all(r.finish_reason == "error" for r in world.requests if r.request_id in deadly)


def test_quiet_hours_cost_no_memory_of_their_own():
    world = fleet(rate=0.0)
    world.advance(1000.0)
    assert len(world.memory[0].life.points) <= 3


def test_a_start_that_fails_is_not_tried_again_where_nobody_supervises_it():
    broken = replace(FLAGS, max_model_len=131_072, num_gpu_blocks_override=1000)
    world = fleet((60.0, Redeploy(0, broken)), supervised=False)
    world.advance(900.0)
    memory, engine = world.memory[0], world.engines[0]
    assert [each.startup.failure is None for each in memory.lives] == [True, False]
    assert engine.is_down
    restart(world, 0, replace(broken, max_model_len=8192))
    world.advance(1000.0)
    assert not engine.is_down
    assert engine.config.num_gpu_blocks == 1000

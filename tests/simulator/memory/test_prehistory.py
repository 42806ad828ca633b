import itertools
from dataclasses import replace

import pytest

from labs.simulator.memory.growth import LazyCapture, PerRequest, unseen_shapes
from labs.simulator.memory.ledger import LLAMA_70B, MIB, MemoryFlags
from labs.simulator.memory.prehistory import follow, live_through
from labs.simulator.memory.state import Memory
from labs.simulator.workload import LengthDistribution
from tests.simulator.memory.worlds import FLAGS, fleet

HOUR_S = 3600.0
DAY = tuple((hour * HOUR_S, 3.0 + (1.0 if 8 <= hour % 24 < 20 else -1.0)) for hour in range(-48, 4))
SHAPES = unseen_shapes(
    LLAMA_70B,
    mean_running=20.0,
    prompt=LengthDistribution(1100, 0.8),
    max_num_batched_tokens=512,
    warmed_decode_tokens=40,
)
LAZY = MemoryFlags(lazy_capture=True)


def past(seed=1, *, flags=LAZY, growths=None):
    growths = (LazyCapture(seed, SHAPES),) if growths is None else growths
    memory = Memory(LLAMA_70B, flags, start_s=-48 * HOUR_S, growths=growths)
    live_through(memory, DAY, 0.0)
    return memory


def test_two_days_of_lazy_capture_end_in_out_of_memory_in_some_worlds():
    crashes = [len(past(seed).crashes_between(-48 * HOUR_S, 0.0)) for seed in range(12)]
    assert 3 <= sum(count > 0 for count in crashes) <= 12
    assert max(crashes) <= 4


def test_a_world_that_has_died_starts_again_empty():
    memory = next(past(seed) for seed in range(12) if len(past(seed).lives) > 1)
    first, second = memory.lives[:2]
    assert first.ended_by.startswith("CUDA out of memory")
    assert memory.used_mib(0, second.ready_s) < memory.used_mib(0, first.ended_s - 1.0)
    assert memory.used_mib(0, second.ready_s) == memory.used_mib(0, first.ready_s)


def test_pools_jump_by_two_gigabytes_while_all_else_is_flat():
    memory = past(4)
    life = memory.lives[0]
    until_s = min(0.0, life.ended_s or 0.0)
    used = [memory.used_mib(0, t) for t in range(int(life.ready_s) + 1, int(until_s), 600)]
    jumps = [b - a for a, b in itertools.pairwise(used) if b != a]
    assert jumps
    assert all(1_400 <= jump % 10_000 <= 5_200 for jump in jumps)
    assert memory.allocated_bytes(until_s - 1) == life.startup.ledger.allocated


def test_a_steady_leak_runs_out_when_its_slope_says():
    leak = PerRequest("logprobs_cache", 20_000)
    memory = past(growths=(leak,), flags=FLAGS)
    life = memory.lives[0]
    requests = life.startup.ledger.free / 20_000
    mean_rps = 3.0
    assert life.ended_s - life.ready_s == pytest.approx(requests / mean_rps, rel=0.1)


def test_padding_engines_and_eager_ones_stay_flat():
    for flags in (replace(LAZY, lazy_capture=False), replace(LAZY, enforce_eager=True)):
        memory = past(flags=flags)
        assert len(memory.lives) == 1
        assert memory.used_mib(0, -1.0) == memory.used_mib(0, memory.life.ready_s + 1)


def test_a_cluster_takes_up_where_the_past_ended():
    world = fleet(rate=2.0)
    world._faults.clear()
    memory = past(2)
    before = memory.life.points[-1][1][""]
    follow(world, 0, memory)
    world.advance(300.0)
    assert memory.life.points[-1][1][""] - before == pytest.approx(600, rel=0.2)


def test_an_engine_that_is_still_starting_serves_when_it_is_ready():
    world = fleet(rate=2.0)
    world._faults.clear()
    memory = Memory(LLAMA_70B, FLAGS, start_s=-20.0)
    follow(world, 0, memory)
    world.advance(200.0)
    first = min(r.first_token_s for r in world.requests if r.first_token_s is not None)
    assert first > memory.life.ready_s


def test_the_same_past_gives_the_same_bytes():
    assert repr(past(5).state()) == repr(past(5).state())
    assert repr(past(5).state()) != repr(past(6).state())
    assert past(5).growth_at(-1.0)["cuda_graph_pools"] % MIB >= 0

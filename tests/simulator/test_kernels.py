"""Kernels: a choice at the start of a server, which holds over its restarts and costs what it costs."""

import pickle

from labs.simulator.cluster import Cluster
from labs.simulator.cost_model import profile
from labs.simulator.kernels import Kernels, KernelsChosen
from labs.simulator.router import RouterDelay
from labs.simulator.scheduler import EngineConfig
from labs.simulator.workload import LengthDistribution, RequestClass, Workload, WorkloadSpec

BEST = profile("llama-70b-fp8").cost_model()
FLEX = Kernels(
    attention_backend="FLEX_ATTENTION", full_graphs=False, attention_factor=3.0, launch_ms=2.0
)
CONFIG = EngineConfig(num_gpu_blocks=20000, max_num_batched_tokens=2048)


def cluster(*faults, replicas=1):
    kind = RequestClass("chat", 1.0, LengthDistribution(900.0, 0.3), LengthDistribution(100.0, 0.3))
    return Cluster(
        CONFIG,
        BEST,
        Workload(WorkloadSpec(((0.0, 1.0),), (kind,)), seed="kernels"),
        seed="kernels",
        router_delay=RouterDelay(0.004, 0.012),
        replicas=replicas,
        faults=faults,
    )


def test_a_slower_backend_reads_keys_and_values_more_slowly_and_nothing_else():
    cost = FLEX.cost(BEST)
    assert cost.per_kv_token_ps == 3 * BEST.per_kv_token_ps
    assert cost.base_ps - BEST.base_ps == 2_000_000_000
    assert cost.per_prefill_token_ps == BEST.per_prefill_token_ps
    assert cost.weight_read_ps == BEST.weight_read_ps


def test_the_best_kernels_cost_what_the_profile_says():
    assert Kernels().cost(BEST) == BEST


def test_a_restart_chooses_the_same_kernels_again():
    world = cluster((60.0, KernelsChosen(0, FLEX, 10.0)))
    world.advance(120.0)
    assert world.engines[0].cost == FLEX.cost(BEST)
    world.restart_engine(0, CONFIG, BEST, 10.0)
    assert world.engines[0].cost == FLEX.cost(BEST)


def test_other_replicas_keep_theirs_and_a_standby_has_the_first_ones():
    world = cluster((60.0, KernelsChosen(0, FLEX, 10.0)), replicas=2)
    world.advance(120.0)
    assert world.engines[1].cost == BEST
    added = world.add_replica(200.0)
    assert world.engines[added].cost == FLEX.cost(BEST)


def test_kernels_are_in_a_worlds_digest_and_in_its_copy():
    world, calm = cluster(), cluster()
    world.kernels[0] = Kernels()
    assert world.digest() != calm.digest()
    assert pickle.loads(pickle.dumps(world)).digest() == world.digest()  # noqa: S301

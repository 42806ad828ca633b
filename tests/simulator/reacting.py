"""Worlds in which somebody reacts to what engines do."""

from labs.simulator.clients import Clients, ClientsChange, ClosedLoopSpec, UsersChange
from labs.simulator.cluster import Cluster
from labs.simulator.cost_model import profile
from labs.simulator.front import PolicyChange
from labs.simulator.lifetime import (
    AbortsIgnored,
    AbortsLoseBlocks,
    AbortsMended,
    ColdRestart,
    Drain,
    ReadinessFlap,
    Scale,
    ShutDown,
    StartUp,
    Undrain,
)
from labs.simulator.pauses import Pause, Pauses
from labs.simulator.router import CacheAware, LeastLoaded, PrefixAffinity, RouterDelay
from labs.simulator.scheduler import EngineConfig
from labs.simulator.workload import LengthDistribution, RequestClass, Workload, WorkloadSpec

ATLAS = profile("atlas-70b")
SHORT = RequestClass("short", 1.0, LengthDistribution(400, 0.5), LengthDistribution(150, 0.5))
TENANTS = RequestClass(
    "tenants", 1.0, LengthDistribution(200, 0.5), LengthDistribution(100, 0.5),
    prefix_group="tenant", prefix_tokens=800, prefix_groups=12,
)  # fmt: skip
START_UP = StartUp(5.0, 20.0, 5.0, 8.0)


def world(rate=1.0, *, classes=(SHORT,), seed=3, config=None, **fields):
    settings = {"num_gpu_blocks": ATLAS.num_gpu_blocks(), "max_num_seqs": 40} | (config or {})
    return Cluster(
        EngineConfig(**settings),
        ATLAS.cost_model(),
        Workload(WorkloadSpec(((0.0, rate),), classes), seed),
        seed=seed,
        router_delay=RouterDelay(0.02, 0.08),
        **fields,
    )


def eventful(seed):
    """Three replicas, impatient clients, users in a loop, and most that can happen to a replica."""
    return world(
        2.0,
        classes=(SHORT, TENANTS),
        seed=seed,
        replicas=3,
        policy=LeastLoaded(),
        clients=Clients(
            timeout_s=40.0, first_token_timeout_s=4.0, retries=2, backoff_s=0.5, cancel_share=0.2
        ),
        closed_loop=ClosedLoopSpec(12, 1.0, (SHORT,), 10.0),
        faults=(
            (20.0, Pauses(1, (Pause(0.4, every_steps=30), Pause(0.1, every_s=5.0)))),
            (30.0, AbortsIgnored(0)),
            (35.0, PolicyChange(CacheAware(balance_abs_threshold=8))),
            (50.0, Drain(2)),
            (60.0, AbortsLoseBlocks(1)),
            (70.0, Undrain(2)),
            (75.0, ReadinessFlap(2, 3.0, 10.0, 100.0)),
            (80.0, ShutDown(1, 20.0)),
            (85.0, Scale(StartUp(5.0, 10.0, 2.0, 6.0, "before_warm_up"))),
            (90.0, PolicyChange(LeastLoaded(refresh_s=5.0, weights=(1.0, 2.0)))),
            (100.0, AbortsMended(0)),
            (110.0, ColdRestart(1, START_UP)),
            (120.0, PolicyChange(PrefixAffinity())),
            (125.0, ClientsChange(Clients(first_token_timeout_s=1.0, retries=3))),
            (126.0, UsersChange(20)),
            (130.0, ShutDown(0)),
            (150.0, UsersChange(5)),
        ),
    )

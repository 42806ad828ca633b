"""Somebody new who calls leaves those who call already as they were."""

import pytest

from labs.simulator.callers import NewCaller
from labs.simulator.cluster import Cluster
from labs.simulator.cost_model import profile
from labs.simulator.router import RouterDelay
from labs.simulator.scheduler import EngineConfig
from labs.simulator.workload import LengthDistribution, RequestClass, Workload, WorkloadSpec

CHAT = RequestClass("chat", 1.0, LengthDistribution(500.0, 0.4), LengthDistribution(60.0, 0.4))
DOCUMENTS = RequestClass(
    "documents", 1.0, LengthDistribution(3000.0, 0.1), LengthDistribution(20.0, 0.1)
)


def cluster(*faults):
    workload = Workload(WorkloadSpec(((0.0, 2.0),), (CHAT,)), seed="callers")
    return Cluster(
        EngineConfig(num_gpu_blocks=7169),
        profile("atlas-70b").cost_model(),
        workload,
        seed="callers",
        router_delay=RouterDelay(0.004, 0.012),
        faults=faults,
    )


def test_a_new_caller_comes_on_top_of_the_others():
    world = cluster((600.0, NewCaller(DOCUMENTS, 1.0)))
    world.advance(1800.0)
    late = [request for request in world.requests if request.sent_s > 600.0]
    documents = [request for request in late if request.request_class == "documents"]
    assert len(late) / 1200 == pytest.approx(3.0, rel=0.1)
    assert len(documents) / 1200 == pytest.approx(1.0, rel=0.15)
    assert all(request.request_class == "chat" for request in world.requests[:500])


def test_what_came_before_a_new_caller_is_what_it_was():
    with_it, without = cluster((600.0, NewCaller(DOCUMENTS, 1.0))), cluster()
    with_it.advance(600.0)
    without.advance(600.0)
    assert [r.arrival_ps for r in with_it.requests] == [r.arrival_ps for r in without.requests]


def test_a_caller_without_a_rate_is_refused():
    with pytest.raises(ValueError, match="a caller calls"):
        cluster((1.0, NewCaller(DOCUMENTS, 0.0))).advance(2.0)

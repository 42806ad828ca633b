"""A person stops an answer: what the real engine does depends on whether the gateway closes its connection as well."""

import time

import pytest

from labs.live import scraping
from labs.live.clusters import LiveCluster
from labs.simulator.clients import Clients
from labs.simulator.cost_model import profile
from labs.simulator.lifetime import AbortsIgnored, AbortsMended
from labs.simulator.router import RouterDelay
from labs.simulator.workload import LengthDistribution, RequestClass, Workload, WorkloadSpec
from tests.live.conftest import TINY

LONG = 700
SOON_S = 0.5
"""An aborted request is gone within 60 ms; the page of metrics may be a step old."""


@pytest.fixture(scope="module")
def engine(start_engine):
    return start_engine("small-llama", TINY)


@pytest.fixture
def world(engine):
    """A gateway of ours before an engine that runs, and one person who stops an answer early."""
    kind = RequestClass("chat", 1.0, LengthDistribution(20.0, 0.0), LengthDistribution(LONG, 0.0))
    cluster = LiveCluster(
        TINY,
        profile("small-llama-cpu").cost_model(),
        Workload(WorkloadSpec(((-9.0, 40.0),), (kind,)), "test", start_s=-1.0),
        launch=lambda replica, config: engine.launch,
        model="small-llama",
        ready_within_s=1.0,
        start_s=-1.0,
        seed="test",
        router_delay=RouterDelay(0.001, 0.002),
        clients=Clients(cancel_share=1.0),
        faults=((-1.0, AbortsIgnored(0)),),
    )
    yield cluster
    cluster.replicas[0].server = None  # The module's: it goes on.
    cluster.close()


@pytest.fixture
def running(ask, engine):
    """``running()``: how many requests the engine runs, by its own page."""
    return lambda: scraping.read(ask(engine, "/metrics")[1]).total("vllm:num_requests_running")


def leave_midway(world, engine):
    """Let a world's first people ask the engine, and all of them close their streams after 20 tokens."""
    world.replicas[0].server = engine
    world.replicas[0].answer()
    while not world.requests:
        world.advance(world.now_s + 0.01)
    world.workload.set_rate(0.0, world.now_s)
    for each in world.requests:
        each.cancel_tokens = 20
    while any(each.closed_ps is None for each in world.requests):
        world.advance(world.now_s + 0.05)


def test_an_engine_runs_on_while_the_gateway_reads_and_stops_when_it_closes(
    world, engine, running, ask
):
    leave_midway(world, engine)
    count = len(world.requests)
    for _ in range(3):  # Nobody reads, and the engine computes.
        world.advance(world.now_s + 0.5)
        assert running() == count
    assert all(20 < each.num_output_tokens < LONG for each in world.requests)
    for each in world.requests:  # The gateway closes what it holds.
        AbortsMended(0).strike(world, world.now_s)
        world.replicas[0].abort(each)
    time.sleep(SOON_S)
    assert running() == 0
    page = scraping.read(ask(engine, "/metrics")[1])
    # The counter of vLLM 0.32 that is called so says nothing of it.
    assert page.total("vllm:request_success_total", finished_reason="abort") == 0


def test_closed_upstream_the_engine_stops_with_the_person(world, engine, running):
    AbortsMended(0).strike(world, world.now_s)
    world.advance(-1.0)
    AbortsMended(0).strike(world, world.now_s)
    leave_midway(world, engine)
    time.sleep(SOON_S)
    assert running() == 0
    assert {each.finish_reason for each in world.requests} == {"abort"}

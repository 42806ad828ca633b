"""What can be done about hardware: each change ends its own trouble and no other."""

from types import SimpleNamespace

import pytest

from labs.incident.changes import KINDS
from labs.incident.changes.hardware import AIR_S
from labs.instruments.hardware_signals import HARDWARE_SIGNALS
from labs.instruments.signals import View
from labs.simulator.router import LeastLoaded, RoundRobin
from tests.labs.instruments.hardware_views import FAULTS, ON_PAIRS
from tests.simulator.hardware.worlds import nvl, sxm


def handled(name):
    """An incident on a world whose fault came at 5 s, at 60 s."""
    faults = ((5.0, FAULTS[name]),) if FAULTS[name] else ()
    cluster = nvl(rate=1.2, faults=faults) if name in ON_PAIRS else sxm(rate=2.5, faults=faults)
    cluster.advance(60.0)
    return SimpleNamespace(
        world=SimpleNamespace(cluster=cluster),
        spec=SimpleNamespace(fleet=SimpleNamespace(restart_s=20)),
    )


def after(incident, verb, seconds=60.0, **options):
    operation = {"verb": verb, **options}
    assert KINDS[verb].why_not(incident, operation) == ""
    KINDS[verb].apply(incident, operation)
    cluster = incident.world.cluster
    cluster.advance(cluster.now_s + seconds)
    return lambda signal: HARDWARE_SIGNALS[signal](View(cluster, None, cluster.now_s, 0.1))


def test_a_replica_moved_to_a_bridged_pair_has_nvlink_again():
    read = after(handled("split"), "place", replica="1", node="", gpus="2,3")
    assert read("worst_link") == "NV12"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"replica": "7", "node": "", "gpus": "2,3"}, "no replica 7"),
        ({"replica": "1", "node": "", "gpus": "2,9"}, "GPUs 0 to 3"),
        ({"replica": "1", "node": "node-0", "gpus": "0,1"}, "belongs to replica 0"),
        ({"replica": "1", "node": "node-h", "gpus": "0,1"}, "no such node"),
    ],
)
def test_a_place_that_cannot_be_is_refused_with_its_reason(options, why):
    assert why in KINDS["place"].why_not(handled("split"), {"verb": "place", **options})


def test_air_takes_its_time_and_gives_the_clock_back():
    incident = handled("hot")
    read = after(incident, "cool")
    assert read("sm_clock_mhz_min") == 900
    incident.world.cluster.advance(60.0 + AIR_S + 90.0)
    assert read("sm_clock_mhz_min") == 1980


def test_a_power_limit_ends_a_cap_and_cools_nothing():
    assert after(handled("capped"), "power-limit", watts="700")("sm_clock_mhz_min") == 1980
    assert after(handled("hot"), "power-limit", watts="700")("sm_clock_mhz_min") == 900
    refusal = KINDS["power-limit"].why_not(handled("hot"), {"verb": "power-limit", "watts": "900"})
    assert "not a valid power limit" in refusal


def test_an_evicted_neighbour_is_gone():
    assert after(handled("neighbour"), "evict")("foreign_processes") == 0


def test_only_the_variable_that_is_set_can_be_taken_away():
    assert after(handled("p2p"), "unset-env", name="NCCL_DEBUG")("nccl_transport") == "SHM"
    assert after(handled("p2p"), "unset-env", name="NCCL_P2P_DISABLE")("nccl_transport") == "P2P"


def test_bound_workers_are_near_their_gpus():
    assert after(handled("numa"), "bind-numa")("far_numa_gpus") == 0


def test_a_drained_replica_gets_nothing_until_it_is_undrained():
    incident = handled("pairs")
    front, operation = incident.world.cluster.front, {"verb": "drain", "replica": "1"}
    after(incident, "drain", replica="1")
    assert front.drained == {1}
    assert "nobody" in KINDS["drain"].why_not(incident, {"verb": "drain", "replica": "0"})
    assert "no replica 5" in KINDS["drain"].why_not(incident, {"verb": "drain", "replica": "5"})
    KINDS["drain"].undo(incident, operation, [])
    assert front.drained == set()


def test_a_route_is_chosen_and_taken_back():
    incident = handled("pairs")
    after(incident, "route", policy="least-loaded")
    assert incident.world.cluster.front.router.policy == LeastLoaded()
    KINDS["route"].undo(incident, {"verb": "route", "policy": "least-loaded"}, [])
    assert incident.world.cluster.front.router.policy == RoundRobin()

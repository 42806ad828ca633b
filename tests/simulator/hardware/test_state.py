import pickle

import pytest

from labs.simulator.cost_model import profile
from labs.simulator.hardware import repairs
from labs.simulator.hardware.boxes import box
from labs.simulator.hardware.faults import (
    EnvironmentChange,
    LinkDown,
    Misplacement,
    Neighbour,
    Throttle,
    ThrottleEnd,
    numa_misbinding,
    p2p_off,
)
from labs.simulator.hardware.placement import Environment, Placement, Tenant
from labs.simulator.hardware.state import Hardware
from tests.simulator.hardware.worlds import decode_ms, nvl, sxm

SPLIT = Placement("node-1", (0, 2))
TENANT = Tenant(4242, "python", 6000, "node-0", 2)
BUSY = Neighbour(TENANT, busy_mean_s=8.0, idle_mean_s=12.0, seed=5)


def healthy_ms(world, replica=0, batch=64):
    return decode_ms(world.hardware.base_cost(replica), batch)


def now_ms(world, replica=0, batch=64):
    return decode_ms(world.engines[replica].cost, batch)


def test_a_cluster_on_healthy_hardware_times_its_requests_as_one_without_any():
    world, plain = sxm(seed=4), sxm(seed=4)
    plain.hardware = None
    plain.engines[0].set_cost(profile("llama-70b").cost_model())
    for each in (world, plain):
        each.advance(120.0)
    assert [r.state() for r in world.requests] == [r.state() for r in plain.requests]
    assert world.engines[0].samples[-1].collective_s > 0
    assert plain.engines[0].samples[-1].collective_s == 0


@pytest.mark.parametrize(
    ("gpus", "why"),
    [((0,), "must be 2"), ((0, 0), "must be 2"), ((0, 9), "GPUs 0 to 3"), ((1, 2), "replica 1")],
)
def test_a_placement_that_does_not_fit_is_refused(gpus, why):
    with pytest.raises(ValueError, match=why):
        nvl().hardware.check(Placement("node-1", gpus), leaving=(0,))


def test_a_node_that_is_not_there_is_refused_by_name():
    with pytest.raises(ValueError, match="node-7: no such node"):
        nvl().hardware.check(Placement("node-7", (0, 1)))


def test_a_group_across_two_pairs_pays_for_every_token():
    world = nvl(faults=((10.0, Misplacement(1, SPLIT)),))
    world.advance(20.0)
    assert now_ms(world, 0) == pytest.approx(healthy_ms(world, 0))
    # Two ranks: latency 21.2 us and two thirds of the rest of 82.0 us, 160 times, for 3.4 and 6.4 us on NVLink.
    added = 160 * (21.2 + (82.0 - 21.2) / 1.5 - 3.4 - 4.5) / 1000
    assert now_ms(world, 1) - healthy_ms(world, 1) == pytest.approx(added, abs=0.1)


def test_a_replica_moves_when_it_starts_again_and_is_well():
    world = nvl(faults=((10.0, Misplacement(1, SPLIT)),))
    world.advance(20.0)
    repairs.move(world, {1: Placement("node-1", (2, 3))}, 30.0)
    assert world.engines[1].is_down
    assert world.hardware.placement[1] == Placement("node-1", (2, 3))
    assert now_ms(world, 1) == pytest.approx(healthy_ms(world, 1))
    assert [start.at_s for start in world.hardware.starts[1]] == [0.0, 10.0, 20.0]
    world.advance(120.0)
    assert world.engines[1].samples[-1].finished > 0


def test_two_replicas_can_change_places():
    world = nvl()
    places = [Placement("node-1", (0, 1)), Placement("node-0", (0, 1))]
    repairs.move(world, dict(enumerate(places)), 10.0)
    assert world.hardware.placement == places
    with pytest.raises(ValueError, match="belongs to replica 1"):
        repairs.move(world, {0: Placement("node-0", (1, 2))}, 10.0)
    with pytest.raises(ValueError, match="same GPU"):
        repairs.move(world, {0: places[0], 1: places[0]}, 10.0)


def test_a_hot_gpu_slows_its_group_until_it_is_cooled_or_drained():
    world = nvl(faults=((5.0, Throttle("node-0", 1, 900)),))
    world.advance(10.0)
    assert now_ms(world, 0) > healthy_ms(world, 0)
    assert now_ms(world, 1) == healthy_ms(world, 1)
    repairs.replace_gpu(world, 1, ("node-1", 1), ("node-1", 3), 1.0)
    assert now_ms(world, 1) > healthy_ms(world, 1)  # Across two pairs: a bad trade.
    repairs.cool(world, ("node-0", 1))
    assert now_ms(world, 0) == pytest.approx(healthy_ms(world, 0))
    assert world.hardware.state_at(("node-0", 1), 7.0).reason == "sw_thermal_slowdown"


def test_a_throttle_ends_by_itself_when_it_is_told_to():
    world = sxm(faults=((1.0, Throttle("node-0", 3, 1200)), (4.0, ThrottleEnd("node-0", 3))))
    world.advance(10.0)
    spans = world.hardware.spans(("node-0", 3), 0.0, 10.0)
    assert [(lasts, state.sm_clock_mhz) for lasts, state in spans] == [
        (1.0, 1980), (3.0, 1200), (6.0, 1980),
    ]  # fmt: skip


def test_a_neighbour_doubles_the_steps_of_the_whole_group_in_bursts():
    world = sxm(faults=((0.0, BUSY),))
    world.advance(600.0)
    spans = world.hardware.spans(("node-0", 2), 0.0, 600.0)
    busy_s = sum(lasts for lasts, state in spans if state.busy_tenants)
    assert 0.3 < busy_s / 600.0 < 0.5
    assert len(spans) > 40
    assert {state.busy_tenants for _, state in spans} == {0, 1}


def test_an_evicted_neighbour_never_comes_back():
    world = sxm(faults=((0.0, BUSY),))
    while not world.hardware.state_of(("node-0", 2)).busy_tenants:
        world.advance(world.now_s + 1.0)
    assert now_ms(world) == pytest.approx(2 * healthy_ms(world), rel=1e-6)
    repairs.evict(world, 4242)
    assert now_ms(world) == pytest.approx(healthy_ms(world))
    world.advance(world.now_s + 200.0)
    assert now_ms(world) == pytest.approx(healthy_ms(world))
    with pytest.raises(ValueError, match="4242"):
        repairs.evict(world, 4242)


def test_p2p_off_hurts_prefill_and_leaves_decode_to_the_custom_kernel():
    world = sxm(faults=((1.0, p2p_off(0)),))
    world.advance(2.0)
    cost = world.engines[0].cost
    assert now_ms(world) == pytest.approx(healthy_ms(world))
    chunk = {"kv_tokens": 2048, "prefill_tokens": 2048, "sequences": 1, "tokens": 2048}
    healthy = world.hardware.base_cost(0)
    assert cost.step_ps(**chunk) > 2 * healthy.step_ps(**chunk)
    repairs.set_environment(world, 0, Environment(), 20.0)
    assert world.engines[0].cost.step_ps(**chunk) == healthy.step_ps(**chunk)


def test_p2p_off_without_the_custom_kernel_hurts_both():
    world = sxm(faults=((1.0, p2p_off(0, custom=False)),))
    world.advance(2.0)
    assert now_ms(world) > healthy_ms(world) + 20


def test_a_far_socket_costs_little_and_binding_takes_it_back():
    world = sxm(faults=((1.0, numa_misbinding(0, (1, 2))),))
    world.advance(2.0)
    assert 1.005 < now_ms(world) / healthy_ms(world) < 1.02
    repairs.bind_to_near_cpus(world, 0, 5.0)
    assert now_ms(world) == pytest.approx(healthy_ms(world))


def test_a_link_that_goes_down_takes_its_share_of_the_bandwidth_with_xid_74_at_both_ends():
    world = sxm(faults=((1.0, LinkDown("node-0", 0, (7,))),))
    world.advance(2.0)
    assert [(event.gpu, event.xid) for event in world.hardware.events] == [(0, 74), (2, 74)]
    assert healthy_ms(world) < now_ms(world) < 1.05 * healthy_ms(world)
    repairs.mend_links(world, "node-0")
    assert now_ms(world) == pytest.approx(healthy_ms(world))


def test_a_bridge_that_is_gone_leaves_pcie():
    world = nvl(faults=((1.0, LinkDown("node-0", 0, tuple(range(12)))),))
    world.advance(2.0)
    assert world.hardware.current_route(0).links == 0


def test_a_restart_with_another_cost_keeps_what_ails_the_gpus():
    world = nvl(faults=((1.0, Throttle("node-0", 0, 900)),))
    world.advance(2.0)
    fp8 = profile("llama-70b-nvl").cost_model(fp8_kv=True)
    world.restart_engine(0, world.config, fp8, 5.0)
    assert world.hardware.base_cost(0) == fp8
    slow = world.engines[0].cost
    assert slow.per_prefill_token_ps > fp8.per_prefill_token_ps
    world.restart_engine(0, world.config, slow, 5.0)  # Its own cost again: not a healthy one.
    assert world.engines[0].cost == slow


def test_one_more_replica_runs_on_hardware_that_nobody_looks_at():
    world = nvl()
    world.add_replica(10.0)
    assert world.hardware.placement[2] is None
    assert world.hardware.current_route(2) is None
    world.advance(30.0)
    repairs.move(world, {2: Placement("node-0", (2, 3))}, 5.0)
    assert world.hardware.current_route(2).links == 12


FAULTS = (
    (3.0, BUSY), (20.0, Throttle("node-0", 1, 1100, "sw_power_cap")), (40.0, p2p_off(0)),
    (60.0, EnvironmentChange(0, Environment(), 12.0)), (70.0, LinkDown("node-0", 3, (0, 1))),
)  # fmt: skip


def test_in_pieces_it_is_what_it_is_at_once_and_after_a_pickle():
    whole, pieces = sxm(faults=FAULTS), sxm(faults=FAULTS)
    whole.advance(150.0)
    for at_s in range(0, 151, 7):
        pieces.advance(float(at_s))
        pieces = pickle.loads(pickle.dumps(pieces))  # noqa: S301  (its own bytes)
    pieces.advance(150.0)
    assert whole.digest() == pieces.digest()


def test_every_step_by_itself_gives_the_same_requests():
    whole, stepped = sxm(faults=FAULTS), sxm(faults=FAULTS)
    engine = stepped.engines[0]
    engine.closed_form = False
    engine._open(engine.config, engine.cost)
    for world in (whole, stepped):
        world.advance(100.0)
    assert [r.state() for r in whole.requests] == [r.state() for r in stepped.requests]
    assert whole.engines[0].samples == stepped.engines[0].samples


def test_the_digest_holds_the_hardware_only_where_there_is_some():
    one, other = sxm(), sxm()
    assert one.digest() == other.digest()
    other.hardware.change(("node-0", 0), 0.0, reason="sw_power_cap")
    assert one.digest() != other.digest()


def test_a_fault_of_hardware_needs_hardware():
    world = sxm()
    world.hardware = None
    with pytest.raises(ValueError, match="no hardware"):
        Throttle("node-0", 0, 900).strike(world, 0.0)


def test_a_clock_that_no_gpu_has_is_refused():
    with pytest.raises(ValueError, match="not a clock"):
        Throttle("node-0", 0, 5000).strike(sxm(), 0.0)


def test_the_placement_of_a_new_hardware_is_checked():
    with pytest.raises(ValueError, match="belongs to replica 0"):
        Hardware(
            profile("llama-70b-nvl"),
            {"n": box("h100-nvl-4")},
            [Placement("n", (0, 1)), Placement("n", (1, 2))],
        )


def test_a_power_cap_without_a_figure_is_what_decode_draws_at_that_clock():
    world = sxm(faults=((1.0, Throttle("node-0", 3, 1200, "sw_power_cap")),))
    world.advance(2.0)
    assert 240 <= world.hardware.state_of(("node-0", 3)).power_limit_w <= 260
    repairs.cool(world, ("node-0", 3))
    assert world.hardware.state_of(("node-0", 3)).power_limit_w == 0


def test_a_cluster_with_more_replicas_than_places_is_refused():
    from tests.simulator.hardware.worlds import cluster

    with pytest.raises(ValueError, match="has no place"):
        cluster(sxm().hardware, "llama-70b", replicas=2)

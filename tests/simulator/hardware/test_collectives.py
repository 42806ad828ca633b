import pytest

from labs.simulator.cost_model import interpolate, profile
from labs.simulator.hardware.boxes import box
from labs.simulator.hardware.collectives import (
    HOST_FACTOR,
    Route,
    all_reduce_us,
    nccl_all_reduce_us,
    step_collectives,
)
from labs.simulator.hardware.placement import HEALTHY, healthy_route, route

MIB = 2**20
MESH = Route(4, 18)
PAIRS = Route(4, 0)
# simulators.md, section 4: tokens, healthy us, fault us, healthy ms a step, fault ms a step.
PUBLISHED = (
    (1, 3.4, 26.5, 0.54, 4.24), (4, 3.7, 28.2, 0.59, 4.52), (8, 4.3, 21.2, 0.69, 3.40),
    (16, 5.4, 28.5, 0.87, 4.56), (32, 5.5, 43.8, 0.87, 7.00), (64, 7.9, 82.0, 1.27, 13.12),
    (96, 10.6, 98.0, 1.70, 15.68), (128, 13.4, 112.0, 2.14, 17.92), (256, 30.2, 178.0, 4.84, 28.48),
    (512, 50.2, 305.0, 8.03, 48.80), (1024, 90.9, 555.5, 14.54, 88.88), (2048, 169.7, 1055.0, 27.15, 168.80),
    (4096, 323.9, 2063.0, 51.82, 330.08), (8192, 614.9, 4043.6, 98.39, 646.98),
)  # fmt: skip


def knots(way):
    return step_collectives(num_hidden_layers=80, hidden_size=8192, route=way)


@pytest.mark.parametrize(("tokens", "healthy_us", "fault_us", "healthy_ms", "fault_ms"), PUBLISHED)
def test_every_row_of_the_published_table_is_met(
    tokens, healthy_us, fault_us, healthy_ms, fault_ms
):
    n_bytes = tokens * 8192 * 2
    assert all_reduce_us(n_bytes, MESH) == pytest.approx(healthy_us)
    assert all_reduce_us(n_bytes, PAIRS) == pytest.approx(fault_us)
    assert interpolate(knots(MESH), tokens) / 1e9 == pytest.approx(healthy_ms, abs=0.011)
    assert interpolate(knots(PAIRS), tokens) / 1e9 == pytest.approx(fault_ms, abs=0.011)


def test_beyond_8192_tokens_the_time_is_linear():
    slope = (4043.6 - 2063.0) / (64 * MIB)
    assert all_reduce_us(192 * MIB, PAIRS) == pytest.approx(4043.6 + slope * 64 * MIB)


def test_two_ranks_send_two_thirds_of_what_four_send():
    # Ring: 2 (n - 1)/n is 1.0 for two and 1.5 for four; the latency, 21.2 us, stays.
    assert all_reduce_us(32 * MIB, Route(2, 0)) == pytest.approx(21.2 + (1055.0 - 21.2) / 1.5)


def test_twelve_links_to_one_peer_are_to_two_ranks_what_eighteen_are_to_four():
    for n_bytes in (16 * 1024, MIB, 32 * MIB):
        assert all_reduce_us(n_bytes, Route(2, 12)) == pytest.approx(all_reduce_us(n_bytes, MESH))


def test_a_single_rank_reduces_nothing():
    assert all_reduce_us(MIB, Route(1, 0)) == 0.0
    assert knots(Route(1, 0)) == ()


def test_without_p2p_the_custom_kernel_still_takes_the_small_messages():
    off = Route(4, 18, nccl_p2p=False)
    assert all_reduce_us(8 * MIB, off) == pytest.approx(50.2)
    assert all_reduce_us(16 * MIB, off) == pytest.approx(HOST_FACTOR * 555.5)
    ladder = dict(knots(off))
    assert ladder[512] / 1e9 == pytest.approx(8.03, abs=0.011)
    assert ladder[513] / 1e9 > 90


def test_without_p2p_and_without_the_custom_kernel_all_messages_go_through_the_host():
    off = Route(4, 18, custom=False, nccl_p2p=False)
    assert all_reduce_us(MIB, off) == pytest.approx(HOST_FACTOR * 82.0)


def test_without_the_custom_kernel_nccl_pays_its_latency():
    assert all_reduce_us(16 * 1024, Route(4, 18, custom=False)) == pytest.approx(11.0)
    assert nccl_all_reduce_us(16 * 1024, MESH) == pytest.approx(11.0)


def test_four_ranks_on_pcie_have_no_custom_kernel_and_two_have():
    assert not PAIRS.uses_custom
    assert Route(2, 0).uses_custom


def test_the_healthy_way_is_the_best_group_of_the_box():
    assert healthy_route(box("h100-sxm-4"), 4) == MESH
    assert healthy_route(box("h100-nvl-4"), 2) == Route(2, 12)
    # Four ranks on bridged pairs are never healthy: what a board would give is the measure.
    assert healthy_route(box("h100-nvl-4"), 4) == MESH
    assert route(box("h100-nvl-4"), (0, 1, 2, 3), HEALTHY, ()) == PAIRS


def test_the_profiles_have_the_shape_that_the_message_follows_from():
    for name in ("llama-70b", "llama-70b-nvl", "atlas-70b"):
        its = profile(name)
        assert (its.num_hidden_layers, its.hidden_size) == (80, 8192)

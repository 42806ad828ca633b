import pytest

from labs.instruments.gpu_readings import moved_bytes, readings
from labs.simulator.hardware import repairs
from labs.simulator.hardware.collectives import sent_bytes
from labs.simulator.hardware.placement import Placement
from tests.labs.instruments.hardware_views import FAULTS, view
from tests.simulator.hardware.worlds import nvl


def gpus(name):
    return readings(view(name))


def test_a_world_without_hardware_has_no_readings():
    class Cluster:
        hardware = None

    class View:
        cluster = Cluster()

    assert readings(View()) == ()


def test_healthy_ranks_are_all_alike():
    rows = gpus("board")
    assert len(rows) == 4
    for name in ("util", "compute", "waiting", "tensor", "dram", "power_w", "nvlink_gb_s"):
        assert len({getattr(row, name) for row in rows}) == 1
    assert rows[0].util > 0.95
    assert rows[0].waiting == pytest.approx(0.06, abs=0.03)  # The collectives themselves.


def test_a_rank_that_waits_in_a_collective_looks_busy_and_draws_little():
    rows, healthy = gpus("hot"), gpus("board")
    for row in (rows[0], rows[2], rows[3]):
        assert row.util > 0.95
        assert row.waiting > 2.5 * rows[1].waiting
        assert row.tensor <= rows[1].tensor
        assert row.power_w < healthy[0].power_w - 20


def test_the_hot_gpu_is_the_one_with_the_shortest_wait_and_the_low_clock():
    rows = gpus("hot")
    assert min(rows, key=lambda row: row.waiting).gpu == 1
    assert [row.state.sm_clock_mhz for row in rows] == [1980, 900, 1980, 1980]
    assert rows[1].temperature_c > 85 > max(row.temperature_c for row in rows if row.gpu != 1)


def test_a_capped_gpu_stays_under_its_limit():
    assert gpus("capped")[1].power_w < 300
    assert gpus("capped")[1].temperature_c < 60


def test_a_neighbour_shows_as_a_process_its_memory_and_more_power_on_one_gpu():
    rows = gpus("neighbour")
    assert (4242, "python", 6000) in rows[2].processes
    assert rows[2].memory_used_mib == rows[0].memory_used_mib + 6000
    assert rows[2].power_w > rows[0].power_w + 20
    assert rows[2].waiting < rows[0].waiting


def test_a_group_within_a_pair_moves_its_bytes_over_nvlink():
    rows = [row for row in gpus("pairs") if row.replica is not None]
    assert min(row.nvlink_gb_s for row in rows) > 1
    assert max(row.pcie_gb_s for row in rows) < 0.1


def test_a_group_across_pairs_moves_its_bytes_over_pcie():
    sick = [row for row in gpus("split") if row.replica == 1]
    well = [row for row in gpus("split") if row.replica == 0]
    assert {row.nvlink_gb_s for row in sick} == {0.0}
    assert min(row.pcie_gb_s for row in sick) > 0.5
    assert min(row.nvlink_gb_s for row in well) > 1
    # Half of what NVLink counts in both directions.
    assert sick[0].pcie_gb_s == pytest.approx(well[0].nvlink_gb_s / 2, rel=0.3)


def test_without_p2p_the_large_messages_go_through_the_host_and_the_small_stay():
    rows = gpus("p2p")
    assert min(row.pcie_gb_s for row in rows) > 1
    assert min(row.nvlink_gb_s for row in rows) > 0.5
    assert {row.nvlink_gb_s for row in gpus("p2p-all")} == {0.0}


def test_gpus_that_nobody_uses_idle():
    idle = [row for row in gpus("pairs") if row.replica is None]
    assert len(idle) == 4
    for row in idle:
        assert (row.util, row.tensor, row.dram, row.nvlink_gb_s, row.pcie_gb_s) == (0,) * 5
        assert row.power_w == row.box.idle_power_w
        assert row.processes == ()


def test_bytes_are_counted_where_they_went_before_and_after_a_move():
    world = nvl(rate=1.2)
    world.advance(60.0)
    repairs.move(world, {1: Placement("node-1", (2, 3))}, 5.0)
    world.advance(120.0)

    class Moved:
        cluster, now_s = world, 120.0

    before = moved_bytes(Moved(), ("node-1", 0), 0.0, 120.0)
    after = moved_bytes(Moved(), ("node-1", 2), 0.0, 120.0)
    tokens = world.engines[1].samples[-1].computed_tokens
    whole = 2 * sent_bytes(tokens, num_hidden_layers=80, hidden_size=8192, ranks=2)
    assert before[0] > 0
    assert after[0] > 0
    assert before[0] + after[0] == pytest.approx(whole, rel=0.02)


@pytest.mark.parametrize("name", FAULTS)
def test_every_reading_is_a_share_of_time_and_a_number_that_a_gpu_can_have(name):
    for row in gpus(name):
        for share in (row.util, row.compute, row.waiting, row.tensor, row.dram):
            assert 0 <= share <= 1
        assert row.compute + row.waiting <= 1.000001
        assert row.box.idle_power_w <= row.power_w <= row.box.power_cap_w
        assert row.memory_used_mib <= row.box.memory_mib


def test_a_replica_whose_memory_is_kept_shows_its_ledger():
    from labs.instruments.signals import View
    from labs.simulator.memory.state import Memory
    from tests.simulator.hardware.worlds import sxm

    world = sxm()
    memory = world.memory[0] = Memory(start_s=-600.0)
    world.advance(10.0)
    rows = readings(View(world, None, 10.0, 0.1))
    assert [row.memory_used_mib for row in rows] == [memory.used_mib(r, 10.0) for r in range(4)]
    assert rows[1].processes[0][:2] == (memory.pid_of(1, 10.0), "VLLM::Worker_TP1")

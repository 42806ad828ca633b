"""What topo, nvlink, NCCL and the kernel say of the links."""

import re

import pytest

from labs.instruments.gpus import nvidia_smi
from labs.instruments.kernel_log import dmesg
from labs.instruments.nccl import MIB, all_reduce_perf, busbw_gb_s, perf_us, start_log
from labs.instruments.topology import topo_matrix
from tests.labs.instruments.hardware_views import view
from tests.simulator.hardware.worlds import sxm


def matrix(text):
    return [line.split() for line in text.splitlines() if re.match(r"GPU\d", line)]


def test_topo_shows_a_board_of_four_as_nv6_all_to_all():
    rows = matrix(nvidia_smi(view("board"), "topo -m"))
    assert [row[1:5] for row in rows] == [
        ["NV6" if a != b else "X" for b in range(4)] for a in range(4)
    ]
    assert [row[6] for row in rows] == ["0", "0", "1", "1"]


def test_topo_shows_bridged_pairs_and_the_sockets_between_them():
    rows = matrix(nvidia_smi(view("pairs"), "topo -m"))
    assert len(rows) == 8
    assert rows[0][1:5] == ["X", "NV12", "SYS", "SYS"]
    assert "NV#  = Connection traversing a bonded set of # NVLinks" in topo_matrix(view("pairs"))


def test_an_inactive_link_shows_at_both_ends_and_as_one_less_in_topo():
    text = nvidia_smi(view("link"), "nvlink -s")
    assert text.count("<inactive>") == 2
    assert text.count("26.562 GB/s") == 70
    assert matrix(nvidia_smi(view("link"), "topo -m"))[0][3] == "NV5"


def test_the_kernel_log_has_an_xid_only_where_something_raised_one():
    line = r"\[.*\] NVRM: Xid \(PCI:0000:18:00\): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 7\(0x10000"
    assert re.search(line, dmesg(view("link")))
    for name in ("board", "hot", "neighbour", "p2p", "split", "numa"):
        assert "Xid" not in dmesg(view(name))


def test_healthy_nvlink_starts_with_p2p_channels_and_the_custom_kernel():
    text = start_log(view("board"))
    assert "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read" in text
    assert "isAllDirectP2p 1" in text
    assert "Using ['CUSTOM', 'PYNCCL'] all-reduce backends" in text
    assert "WARNING" not in text


def test_p2p_off_names_its_variable_and_goes_through_shared_memory():
    text = start_log(view("p2p"))
    assert "NCCL_P2P_DISABLE set by environment to 1" in text
    assert "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct" in text
    assert "isAllDirectP2p 0 directMode 0 isAllCudaP2p 0" in text
    # vLLM's kernel does not ask NCCL's environment.
    assert "Using ['CUSTOM', 'PYNCCL']" in text
    assert "NCCL_P2P_LEVEL set by environment to LOC" in start_log(view("p2p-all"))
    assert "Using ['PYNCCL']" in start_log(view("p2p-all"))


def test_two_gpus_of_two_pairs_keep_the_custom_kernel_and_get_no_warning():
    text = start_log(view("split"), 1)
    assert "Using ['CUSTOM', 'PYNCCL']" in text
    assert "WARNING" not in text
    assert "0[0] -> 1[2] via P2P/CUMEM/read" in text


def test_four_gpus_of_two_pairs_are_told_that_they_lose_the_custom_kernel():
    from labs.instruments.signals import View
    from labs.simulator.cost_model import profile
    from labs.simulator.hardware.boxes import box
    from labs.simulator.hardware.placement import Placement
    from labs.simulator.hardware.state import Hardware
    from tests.simulator.hardware.worlds import cluster

    hardware = Hardware(
        profile("llama-70b"), {"n": box("h100-nvl-4")}, [Placement("n", (0, 1, 2, 3))]
    )
    world = cluster(hardware, "llama-70b", replicas=1)
    world.advance(1.0)
    text = start_log(View(world, None, 1.0, 0.1))
    warning = (
        "Custom allreduce is disabled because it's not supported on more than two PCIe-only GPUs."
    )
    assert text.count(warning) == 4
    assert "Using ['PYNCCL']" in text
    assert "0[0] -> 1[1] via P2P/CUMEM/read" in text
    assert "1[1] -> 2[2] via SHM/direct/direct" in text
    assert "isAllDirectP2p 0 directMode 0 isAllCudaP2p 1" in text


def test_the_log_is_that_of_the_latest_start():
    from labs.simulator.hardware import repairs
    from labs.simulator.hardware.placement import Environment

    world = sxm()
    world.advance(10.0)
    repairs.set_environment(world, 0, Environment(nccl_p2p_disable="NCCL_P2P_DISABLE=1"), 5.0)
    world.advance(20.0)

    class At:
        cluster, now_s = world, 20.0

    assert "SHM" in start_log(At())
    At.now_s = 9.0
    assert "SHM" not in start_log(At())


def test_a_replica_that_is_not_there_has_no_log():
    with pytest.raises(ValueError, match="replica 7"):
        start_log(view("board"), 7)
    with pytest.raises(ValueError, match="replica 7"):
        all_reduce_perf(view("board"), 7)


def test_all_reduce_perf_prints_nccl_tests_columns_and_their_arithmetic():
    text = all_reduce_perf(view("board"))
    rows = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    assert [row[0] for row in rows] == ["8388608", "16777216", "33554432"]
    for row in rows:
        assert int(row[1]) == int(row[0]) // 4
        assert row[2:5] == ["float", "sum", "-1"]
        size, us, algbw, busbw = (float(row[i]) for i in (0, 5, 6, 7))
        assert algbw == pytest.approx(size / us / 1e3, rel=0.01)
        assert busbw == pytest.approx(1.5 * algbw, rel=0.01)
        assert row[8] == row[12] == "0"
    assert text.count("NVIDIA H100 80GB HBM3") == 4


def test_all_reduce_perf_tells_nvlink_from_pcie_and_pcie_from_the_host():
    # The published discriminator at 8 MiB over four ranks: about 60 us on NVLink, about 300 over PCIe.
    assert perf_us(view("board"), 0, 8 * MIB) == pytest.approx(62.4)
    assert perf_us(view("p2p"), 0, 8 * MIB) == pytest.approx(610.0)
    assert busbw_gb_s(view("split"), 0) > 3 * busbw_gb_s(view("split"), 1)


def test_workers_on_the_far_socket_show_the_other_sockets_cpus():
    from labs.instruments.numa import affinity

    near, far = "0-31,64-95", "32-63,96-127"
    lists = [line.split(": ")[1] for line in affinity(view("numa")).splitlines()]
    assert lists == [
        near,
        far,
        near,
        far,
    ]  # Ranks 1 and 2 of four; GPUs 2 and 3 sit on the far socket.
    lists = [line.split(": ")[1] for line in affinity(view("board")).splitlines()]
    assert lists == [near, near, far, far]

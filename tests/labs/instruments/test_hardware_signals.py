import pytest

from labs.instruments.hardware_signals import HARDWARE_SIGNALS
from tests.labs.instruments.hardware_views import FAULTS, view


def value(signal, name):
    return HARDWARE_SIGNALS[signal](view(name))


def test_a_world_without_hardware_has_none_of_what_only_hardware_shows():
    class Cluster:
        hardware = None
        engines = ()

    class View:
        cluster, now_s = Cluster(), 0.0

    assert {read(View()) for read in HARDWARE_SIGNALS.values()} == {None}


@pytest.mark.parametrize("name", FAULTS)
def test_every_signal_of_a_busy_world_has_a_value(name):
    lone = {"slowest_step_ratio"} if len(view(name).cluster.engines) == 1 else set()
    for signal in HARDWARE_SIGNALS.keys() - lone:
        assert value(signal, name) is not None, signal


@pytest.mark.parametrize(("one", "other"), [("split", "split-other"), ("hot", "hot-other")])
def test_signals_do_not_tell_which_one_is_sick(one, other):
    for signal in HARDWARE_SIGNALS:
        mine, theirs = value(signal, one), value(signal, other)
        if isinstance(mine, float):
            assert mine == pytest.approx(theirs, rel=0.15, abs=0.02), signal
        else:
            assert mine == theirs, signal


def test_the_slow_replica_stands_out_from_the_others():
    assert value("slowest_step_ratio", "pairs") < 1.03
    assert value("slowest_step_ratio", "split") > 1.1


def test_a_group_across_pairs_shows_in_links_bytes_and_bandwidth():
    assert (value("worst_link", "pairs"), value("worst_link", "split")) == ("NV12", "SYS")
    assert value("nvlink_gb_s_min", "split") == 0 < value("nvlink_gb_s_min", "pairs")
    assert value("pcie_gb_s_max", "split") > 10 * value("pcie_gb_s_max", "pairs")
    assert value("busbw_gb_s_min", "split") < 0.4 * value("busbw_gb_s_min", "pairs")
    assert value("collective_share", "split") > 3 * value("collective_share", "pairs")
    assert value("nccl_transport", "split") == "P2P"


def test_p2p_off_shows_in_the_transport_and_not_in_the_link():
    assert value("nccl_transport", "p2p") == "SHM"
    assert value("worst_link", "p2p") == "NV6"
    assert value("foreign_processes", "p2p") == 0


def test_heat_and_power_show_as_clock_reason_and_spread():
    assert value("sm_clock_mhz_min", "hot") == 900
    assert value("throttle_reason", "hot") == "sw_thermal_slowdown"
    assert value("throttle_reason", "capped") == "sw_power_cap"
    assert value("throttle_reason", "board") == "none"
    assert value("power_spread_w", "hot") > 30 > value("power_spread_w", "board")
    assert value("temperature_c_max", "hot") > 85


def test_a_neighbour_makes_steps_bimodal_and_is_a_process_too_many():
    assert value("foreign_processes", "neighbour") == 1
    assert value("step_spread", "neighbour") > 1.5 > value("step_spread", "board")
    assert value("sm_clock_mhz_min", "neighbour") == 1980


def test_a_far_socket_shows_and_matters_little():
    assert value("far_numa_gpus", "numa") == 2
    assert value("slowest_step_ms", "numa") < 1.03 * value("slowest_step_ms", "board")


def test_a_link_that_is_down_is_counted_once_with_an_xid_at_each_end():
    assert value("inactive_links", "link") == 1
    assert value("xids", "link") == 2

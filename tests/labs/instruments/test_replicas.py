"""Replicas side by side: what the views print is what the signals say."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from labs.console import parse
from labs.instruments import replica_views
from labs.instruments.hardware_signals import HARDWARE_SIGNALS
from labs.instruments.replica_signals import REPLICA_SIGNALS, slowest_replica
from labs.instruments.take import instrument_of, take
from tests.labs.instruments.hardware_views import view


def with_fleet(name):
    seen = view(name)
    return replace(seen, fleet=SimpleNamespace(cost=seen.cluster.cost, engine="vllm"))


def test_the_ratio_of_ttfts_is_that_of_the_printed_ones_and_names_the_latest():
    seen = with_fleet("split")
    rows = [line.split() for line in replica_views.replicas(seen).splitlines()[1:]]
    p95s = [float(row[-1]) for row in rows]
    assert REPLICA_SIGNALS["replica_ttft_ratio"](seen) == pytest.approx(
        max(p95s) / min(p95s), abs=0.05
    )
    assert slowest_replica(seen) == p95s.index(max(p95s)) == 1


def test_step_times_stand_side_by_side():
    seen = with_fleet("split")
    rows = [line.split() for line in replica_views.step_times(seen).splitlines()[1:]]
    means = [float(row[2]) for row in rows]
    assert HARDWARE_SIGNALS["slowest_step_ratio"](seen) == pytest.approx(
        max(means) / min(means), rel=0.01
    )


def test_the_rank_that_waits_least_is_the_slow_one():
    seen = with_fleet("hot")
    rows = [line.split() for line in replica_views.rank_times(seen).splitlines()[1:]]
    waits = {row[3]: float(row[5]) for row in rows}
    assert min(waits, key=waits.get) == "1"
    assert REPLICA_SIGNALS["waiting_spread"](seen) == pytest.approx(
        (max(waits.values()) - min(waits.values())) / 100, abs=0.002
    )


def test_a_container_sees_its_own_gpus_renumbered_and_the_link_between_them():
    text = replica_views.pod_topology(with_fleet("split"))
    sick = text.split("replica-1")[1]
    assert "NVIDIA_VISIBLE_DEVICES=0,2" in sick
    assert "SYS" in sick
    assert "SYS" not in text.split("replica-1")[0]


def test_demand_is_what_came_over_what_the_load_test_gave():
    seen = with_fleet("pairs")
    last = replica_views.demand(seen).splitlines()[-1]
    assert REPLICA_SIGNALS["prefill_load_5m"](seen) == pytest.approx(
        float(last.split()[4]), abs=0.006
    )


@pytest.mark.parametrize(
    ("line", "key", "signals"),
    [
        ("topo -m", "topo", {"worst_link"}),
        ("nvidia-smi topo -m", "node_topology", set()),
        ("nvidia-smi nvlink -s", "nvlink", {"inactive_links"}),
        (
            "nvidia-smi --query-compute-apps=gpu_uuid,pid --format=csv",
            "apps",
            {"foreign_processes"},
        ),
        ("nvidia-smi --query-gpu=index,clocks.sm --format=csv", "gpu", {"sm_clock_mhz_min"}),
        ("all_reduce_perf -b 8M -e 32M -f 2", "all_reduce_perf", {"busbw_gb_s_min"}),
        ("all_reduce_perf | grep Rank", "all_reduce_perf", set()),
        ("cat /var/log/vllm/nccl.log", "nccl_log", {"nccl_transport"}),
        ("taskset -cp", "affinity", {"far_numa_gpus"}),
        ("dmesg", "dmesg", {"xids"}),
        ("rank-times", "rank_times", {"waiting_share", "waiting_spread"}),
        ("replicas | head -1", "replicas", set()),
    ],
)
def test_a_command_is_its_own_instrument_and_shows_what_its_lines_show(line, key, signals):
    command = parse(line)
    assert instrument_of(command) == key
    assert set(take(with_fleet("split"), command).signals) == signals

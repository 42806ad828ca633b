import json
import re
from dataclasses import replace

import pytest

from labs.instruments import memory_snapshot, memory_views
from labs.instruments.memory_signals import MEMORY_SIGNALS
from labs.instruments.signals import View
from labs.instruments.startup_log import memory_log, startup_log
from labs.simulator.memory.faults import (
    Fragmentation,
    MemoryGrowth,
    OtherProcess,
    OutOfMemory,
    Redeploy,
    WorkspaceSpikes,
)
from labs.simulator.memory.growth import BatchShape, LazyCapture, PerKey, PerRequest, Spike
from labs.simulator.memory.ledger import GIB, MIB
from labs.simulator.memory.prehistory import follow, live_through
from labs.simulator.memory.state import Memory
from tests.simulator.memory.test_workspaces import IMAGES, MIXED
from tests.simulator.memory.worlds import CHAT, FLAGS, SCORING, fleet

HOUR_S = 3600.0


def view(world):
    return View(world.cluster if hasattr(world, "cluster") else world, None, world.now_s, 0.05)


def signals(world):
    return {name: signal(view(world)) for name, signal in MEMORY_SIGNALS.items()}


@pytest.fixture(scope="module")
def healthy():
    world = fleet()
    world.advance(300.0)
    return world


@pytest.fixture(scope="module")
def two_days():
    """A lazily capturing replica at the end of two days, with a process that has died on the way."""
    shapes = tuple(BatchShape(48, n, 150_000.0, 2 * GIB) for n in (128, 256, 384, 512))
    memory = Memory(
        flags=replace(FLAGS, lazy_capture=True),
        start_s=-48 * HOUR_S,
        growths=(LazyCapture("views:2", shapes), PerKey("grammar_cache", 1 << 16, keys=40)),
    )
    live_through(memory, ((-48 * HOUR_S, 3.0),), 0.0)
    world = fleet()
    world._faults.clear()
    follow(world, 0, memory)
    world.advance(60.0)
    return world


def test_the_ledger_adds_up_to_what_nvidia_smi_shows(healthy):
    text = memory_views.memory_ledger(view(healthy))
    head, _, foot = text.partition("-" * 60)
    owners = [int(found.replace(",", "")) for found in re.findall(r" +([\d,]+)  \w", head)][0:]
    process = int(re.search(r"process +([\d,]+)", foot).group(1).replace(",", ""))
    assert sum(owners) == pytest.approx(process, abs=6)


def test_a_healthy_replica_is_full_and_flat(healthy):
    read = signals(healthy)
    assert read["free_mib"] == pytest.approx(6_190, abs=20)
    assert read["growth_mib_per_h"] == 0.0
    assert read["startup_failed_phase"] == "none"
    assert read["restarts_1h"] == read["foreign_process_mib"] == read["ooms_48h"] == 0.0
    assert read["largest_free_block_mib"] == read["free_mib"]


def test_a_world_whose_memory_nobody_follows_reads_nothing():
    world = fleet()
    world.memory.clear()
    assert set(signals(world).values()) == {None}
    assert memory_views.memory_ledger(view(world)) == memory_views.NOT_FOLLOWED
    assert json.loads(memory_snapshot.memory_snapshot(view(world)))["segments"] == []


def test_torchs_summary_separates_present_from_peak(healthy):
    text = memory_views.memory_summary(view(healthy))
    now, peak = map(int, re.search(r"Allocated memory +\| +(\d+) MiB \| +(\d+) MiB", text).groups())
    assert peak > now
    assert len({len(line) for line in text.splitlines()}) == 1


def test_the_start_up_log_is_stamped_and_in_order(healthy):
    lines = startup_log(view(healthy)).splitlines()
    assert lines[-1].endswith("Starting vLLM server on http://0.0.0.0:8000")
    assert all(re.match(r"\(\w+ pid=\d+\) INFO \d\d-\d\d \d\d:\d\d:\d\d ", line) for line in lines)
    stamps = [re.search(r"\d\d:\d\d:\d\d", line).group() for line in lines]
    assert stamps == sorted(stamps)


def test_a_start_that_fails_is_told_with_its_phase():
    world = fleet((5.0, OtherProcess(0, 3, 4711, "python", 20 * GIB)), (20.0, Redeploy(0)))
    world.advance(200.0)
    text = startup_log(view(world))
    assert "ERROR" in text
    assert "Free memory on device cuda:3" in text
    read = signals(world)
    assert read["startup_failed_phase"] == "memory check"
    assert read["restarts_1h"] >= 2.0
    assert read["foreign_process_mib"] == 20 * 1024
    assert read["free_mib"] is None
    assert "4711, python, 20480 MiB" in memory_views.compute_apps_csv(view(world))
    assert memory_views.memory_ledger(view(world)) == memory_views.NO_PROCESS


def test_late_captures_and_the_death_they_lead_to_are_in_the_log(two_days):
    text = memory_log(view(two_days))
    assert "Captured CUDA graph for an unseen batch: 48 decode + " in text
    memory = two_days.memory[0]
    assert text.count("torch.OutOfMemoryError: CUDA out of memory") == len(
        memory.crashes_between(-48 * HOUR_S, 60.0)
    )


def test_lazy_capture_shows_in_the_gap_and_nowhere_else(two_days):
    read = signals(two_days)
    assert read["graph_pool_mib"] > 2048 * MIB / MIB
    assert read["allocated_growth_mib_per_h"] == 0.0
    assert read["gap_growth_mib_per_h"] == read["growth_mib_per_h"]
    assert read["inactive_split_mib"] == 0.0
    pools = [
        segment
        for segment in json.loads(memory_snapshot.memory_snapshot(view(two_days)))["segments"]
        if segment["segment_pool_id"][1] >= 2
    ]
    captured = two_days.memory[0].growth_at(60.0)["cuda_graph_pools"]
    assert sum(segment["total_size"] for segment in pools) == captured


def test_the_history_shows_steps_and_ends(two_days):
    text = memory_views.memory_history(view(two_days))
    assert len(text.splitlines()) > 20
    assert ("process ended" in text) == bool(two_days.memory[0].crashes_between(-48 * HOUR_S, 60.0))


def test_the_snapshots_table_names_who_leaks():
    world = fleet((10.0, MemoryGrowth(0, PerRequest("logprobs_cache", 5 * MIB))))
    world.advance(600.0)
    table = memory_snapshot.snapshot_table(view(world))
    assert "engine/logprobs_cache.py:store" in table
    assert signals(world)["allocated_growth_mib_per_h"] > 100.0


def test_a_host_leak_moves_the_hosts_memory_and_not_the_gpus():
    world = fleet((10.0, MemoryGrowth(0, PerRequest("token_lists", 2 * MIB, where="host"))))
    world.advance(10.0)
    before = memory_views.host_memory(view(world))
    world.advance(600.0)
    assert memory_views.host_memory(view(world)) != before
    read = signals(world)
    assert read["growth_mib_per_h"] == 0.0
    assert read["host_growth_mib_per_h"] > 100.0


def test_a_workspace_is_seen_after_it_is_gone():
    world = fleet(
        (5.0, WorkspaceSpikes(0, Spike("prompt_logprobs", "scoring"))),
        classes=(CHAT, SCORING),
        flags=replace(FLAGS, max_num_batched_tokens=4096),
    )
    world.advance(600.0)
    assert signals(world)["largest_workspace_mib"] == pytest.approx(5_010, abs=5)
    assert "PyTorch CUDA memory summary" in memory_views.memory_summary(view(world))


def test_a_fragmented_allocator_has_much_free_and_no_large_block():
    world = fleet((30.0, Fragmentation(0, MIXED)), classes=(CHAT, IMAGES), rate=1.5)
    world.advance(700.0)
    read = signals(world)
    total_free = read["free_mib"] + read["inactive_split_mib"]
    assert read["inactive_split_mib"] > 500.0
    assert read["largest_free_block_mib"] < total_free
    table = memory_snapshot.snapshot_table(view(world))
    assert "vllm/multimodal/encoder_cache.py:store" in table
    assert "(free)" in table


def test_readings_do_not_depend_on_which_gpu_or_replica_is_sick():
    worlds = [fleet((5.0, OtherProcess(0, rank, 4711, "python", 3 * GIB))) for rank in (0, 3)]
    for world in worlds:
        world.advance(60.0)
    assert signals(worlds[0]) == signals(worlds[1])


def test_an_engine_that_dies_says_so_in_three_processes():
    world = fleet((60.0, OutOfMemory(0, 2 * GIB)))
    world.advance(90.0)
    lines = memory_log(view(world)).splitlines()
    assert len(lines) == 4
    assert {re.match(r"\((\w+)", line).group(1) for line in lines} == {
        "Worker_TP0",
        "EngineCore",
        "APIServer",
    }
    assert signals(world)["ooms_48h"] == 1.0

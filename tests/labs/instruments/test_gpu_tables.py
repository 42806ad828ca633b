"""nvidia-smi of a world that knows its GPUs."""

import csv
import re

import pytest

from labs.instruments.gpu_tables import REASON_BITS, fields
from labs.instruments.gpus import dcgm_text, nvidia_smi
from tests.labs.instruments.exposition import read
from tests.labs.instruments.hardware_views import view


def rows_of(name, target):
    return list(csv.reader(nvidia_smi(view(name), target).splitlines(), skipinitialspace=True))


def test_the_plain_table_has_straight_edges_and_a_row_for_each_process():
    lines = nvidia_smi(view("neighbour"), "").splitlines()
    assert lines[0] == "Mon Jan  5 11:05:00 2026"
    assert {len(line) for line in lines[1:] if line} == {91}
    assert len([line for line in lines if "NVIDIA H100 80GB HBM3" in line]) == 4
    processes = lines[lines.index(next(line for line in lines if "Processes:" in line)) :]
    assert len([line for line in processes if "VLLM::Worker_TP" in line]) == 4
    assert [line.split()[1] for line in processes if " python " in line] == ["2"]


def test_several_nodes_stand_under_their_names():
    text = nvidia_smi(view("pairs"), "dmon -c 1")
    assert re.findall(r"^==> (.*) <==$", text, re.MULTILINE) == ["node-0", "node-1"]


def test_the_reasons_of_a_low_clock_are_a_mask_and_a_field_each():
    target = "--query-gpu=index,clocks.sm,clocks_event_reasons.active,clocks_event_reasons.sw_thermal_slowdown --format=csv,noheader"
    rows = rows_of("hot", target)
    assert rows[1] == ["1", "900 MHz", "0x0000000000000020", "Active"]
    assert rows[0] == ["0", "1980 MHz", "0x0000000000000000", "Not Active"]
    assert REASON_BITS["sw_thermal_slowdown"] == 0x20


def test_the_older_names_of_the_reasons_still_work():
    head, *rows = rows_of("capped", "--query-gpu=clocks_throttle_reasons.sw_power_cap --format=csv")
    assert head == ["clocks_throttle_reasons.sw_power_cap"]
    assert [row[0] for row in rows] == ["Not Active", "Active", "Not Active", "Not Active"]


def test_every_field_can_be_asked_with_and_without_units():
    names = ",".join(fields())
    head, *rows = rows_of("board", f"--query-gpu={names} --format=csv")
    assert len(rows) == 4
    assert "power.draw [W]" in head
    assert "memory.used [MiB]" in head
    assert "temperature.gpu" in head
    bare = nvidia_smi(view("board"), f"--query-gpu={names} --format=csv,noheader,nounits")
    assert not re.search(r"\d (MiB|W|MHz|%)", bare)


def test_unknown_fields_are_named():
    with pytest.raises(ValueError, match=r"no field “fan.speed” here\. Fields: index"):
        nvidia_smi(view("board"), "--query-gpu=fan.speed --format=csv")
    with pytest.raises(ValueError, match=r"no field “user” here\. Fields: timestamp"):
        nvidia_smi(view("board"), "--query-compute-apps=user --format=csv")


def test_two_processes_on_one_uuid_tell_of_a_neighbour():
    target = "--query-compute-apps=pid,process_name,gpu_uuid,used_memory --format=csv"
    head, *rows = rows_of("neighbour", target)
    assert head == ["pid", "process_name", "gpu_uuid", "used_gpu_memory [MiB]".replace("gpu_", "")]
    uuids = [row[2] for row in rows]
    assert len(uuids) == 5
    assert len(set(uuids)) == 4
    assert next(row for row in rows if row[0] == "4242")[3] == "6000 MiB"


def test_dmon_has_the_columns_of_a_hopper_driver():
    head, units, *rows = nvidia_smi(view("hot"), "dmon -c 1").splitlines()
    assert head.split()[1:] == [
        "gpu",
        "pwr",
        "gtemp",
        "mtemp",
        "sm",
        "mem",
        "enc",
        "dec",
        "jpg",
        "ofa",
        "mclk",
        "pclk",
    ]
    assert len(units.split()) == len(head.split())
    assert [row.split()[-1] for row in rows] == ["1980", "900", "1980", "1980"]
    wide = nvidia_smi(view("hot"), "dmon --gpm-metrics -c 1").splitlines()
    assert wide[0].split()[-4:] == ["pcitx", "pcirx", "nvlrx", "nvltx"]
    assert {len(line) for line in wide} == {len(wide[0])}


def test_dcgm_has_its_default_counters_for_every_gpu_of_every_node():
    families = read(dcgm_text(view("pairs")))
    assert {len(family.samples) for family in families.values()} == {8}
    assert families["DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL"].kind == "counter"
    assert families["DCGM_FI_PROF_PCIE_TX_BYTES"].kind == "gauge"
    assert len(families) == 27


def test_dcgm_tells_how_long_heat_and_power_held_a_gpu_down():
    def throttled(name, counter):
        return [sample[2] for sample in read(dcgm_text(view(name)))[counter].samples]

    hot = throttled("hot", "DCGM_FI_DEV_THERMAL_VIOLATION")
    assert hot == [0, 295_000_000, 0, 0]
    assert throttled("hot", "DCGM_FI_DEV_POWER_VIOLATION") == [0] * 4
    assert throttled("capped", "DCGM_FI_DEV_POWER_VIOLATION")[1] == 295_000_000


def test_dcgm_shows_the_last_xid_and_flat_nvlink_of_a_group_across_pairs():
    families = read(dcgm_text(view("link")))
    assert [sample[2] for sample in families["DCGM_FI_DEV_XID_ERRORS"].samples] == [74, 0, 74, 0]
    before, after = (read(dcgm_text(view("split", at_s))) for at_s in (200.0, 300.0))
    name = "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL"
    grown = [b[2] - a[2] for a, b in zip(before[name].samples, after[name].samples, strict=True)]
    assert grown[0] > 0
    assert grown[4:] == [0, 0, 0, 0]

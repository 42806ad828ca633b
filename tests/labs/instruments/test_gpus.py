"""The driver's and DCGM's formats."""

import csv
import re

import pytest

from labs.instruments.gpus import dcgm_text, nvidia_smi
from tests.labs.instruments.exposition import read


@pytest.fixture
def view(at_page):
    return at_page("metastable").view


def test_the_plain_table_has_straight_edges_and_four_gpus(view):
    lines = nvidia_smi(view, "").splitlines()
    assert lines[0] == "Mon Jan  5 11:00:00 2026"
    assert {len(line) for line in lines[1:]} == {91}
    assert len([line for line in lines if "NVIDIA H100" in line]) == 4


def test_dmon_has_a_row_for_each_gpu_under_its_heads(view):
    head, units, *rows = nvidia_smi(view, "dmon -c 1").splitlines()
    assert head.startswith("#")
    assert units.startswith("#")
    assert [row.split()[0] for row in rows] == ["0", "1", "2", "3"]
    assert {len(row.split()) for row in rows} == {len(head.split()) - 1}


def test_a_query_gives_the_fields_in_order_as_csv(view):
    target = "--query-gpu=index,utilization.gpu,memory.used --format=csv"
    head, *rows = csv.reader(nvidia_smi(view, target).splitlines(), skipinitialspace=True)
    assert head == ["index", "utilization.gpu [%]", "memory.used [MiB]"]
    assert all(re.fullmatch(r"[0-3],\d+ %,\d+ MiB", ",".join(row)) for row in rows)
    bare = nvidia_smi(view, target + ",noheader,nounits").splitlines()
    assert all(re.fullmatch(r"[0-3], \d+, \d+", line) for line in bare)


def test_a_field_that_is_not_there_is_named_with_those_that_are(view):
    with pytest.raises(ValueError, match=r"no field “fan.speed” here\. Fields: index"):
        nvidia_smi(view, "--query-gpu=index,fan.speed --format=csv")


def test_dcgm_prints_each_counter_for_each_gpu(view):
    families = read(dcgm_text(view))
    assert {len(family.samples) for family in families.values()} == {4}
    assert {family.kind for family in families.values()} == {"gauge"}
    tensor = families["DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"].samples[0][2]
    assert 0 < tensor < 1


def test_the_gpus_look_busy_while_the_tensor_pipe_is_not(view):
    families = read(dcgm_text(view))
    assert families["DCGM_FI_DEV_GPU_UTIL"].samples[0][2] >= 95
    assert families["DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"].samples[0][2] < 0.5

"""What people type about hardware, and about replicas side by side."""

import pytest

from labs.console import VERBS, Command, Refusal, parse


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("nvidia-smi topo -m", Command("nvidia-smi", "topo -m")),
        ("nvidia-smi nvlink -s", Command("nvidia-smi", "nvlink -s")),
        (
            "nvidia-smi --query-compute-apps=pid,name --format=csv",
            Command("nvidia-smi", "--query-compute-apps=pid,name --format=csv"),
        ),
        ("nvidia-smi -pl 400", Command("power-limit", options={"watts": "400"})),
        ("topo -m", Command("topo")),
        ("all_reduce_perf -b 8M -e 32M -f 2", Command("all-reduce-perf")),
        ("taskset -cp", Command("taskset")),
        ("dmesg -T", Command("dmesg")),
        ("replicas --last 5m", Command("replicas")),
        ("demand --last 5m", Command("demand")),
        (
            "place 1 2,3",
            Command("place", options={"replica": "1", "node": "", "gpus": "2,3"}),
        ),
        (
            "place replica-0 node-b 0,1,2,3",
            Command("place", options={"replica": "0", "node": "node-b", "gpus": "0,1,2,3"}),
        ),
        (
            "unset-env NCCL_P2P_DISABLE",
            Command("unset-env", options={"name": "NCCL_P2P_DISABLE"}),
        ),
        ("drain 2", Command("drain", options={"replica": "2"})),
        ("route least-loaded", Command("route", options={"policy": "least-loaded"})),
        ("cool", Command("cool")),
    ],
)
def test_a_line_that_is_understood_says_what_to_do(line, command):
    assert parse(line) == command
    assert command.verb in VERBS


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("nvidia-smi nvlink", "nvlink -s"),
        ("nvidia-smi -pl lots", "watts"),
        ("all_reduce_perf -b 1", "8M"),
        ("place", "order of rank"),
        ("place 1 two", "order of rank"),
        ("place 0 2,3 | grep x", "order of rank"),
        ("topo --all", "topo -m"),
        ("replicas --last 7m", "5m"),
        ("unset-env nccl", "one variable"),
        ("drain", "which replica"),
        ("route fastest", "least-loaded"),
        ("evict now", "evict"),
        ("cool | grep x", "cool"),
    ],
)
def test_a_line_that_is_not_understood_is_told_what_would_be(line, hint):
    answer = parse(line)
    assert isinstance(answer, Refusal)
    assert hint in answer.message

"""Addresses and files of either engine: which verb they are, and whose replica."""

import pytest

from labs.console import VERBS, Command, Filter, Refusal, parse
from labs.console.places import ADDRESSES, FILES


@pytest.mark.parametrize(
    ("line", "command"),
    [
        (
            "curl -s replica-1:30000/v1/loads?include=core",
            Command("loads", "include=core", options={"replica": "1"}),
        ),
        (
            "curl localhost:30000/v1/loads?include=core,queues&format=prometheus",
            Command("loads", "include=core,queues&format=prometheus"),
        ),
        ("curl -s localhost:30000/server_info", Command("server-info")),
        (
            "curl -s replica-2:30000/get_server_info",
            Command("server-info", "/get_server_info", options={"replica": "2"}),
        ),
        (
            "tail -n 4 /var/log/sglang/server-1.log",
            Command("sglang-log", options={"replica": "1"}, filters=(Filter("tail", lines=4),)),
        ),
        ("cat /var/log/sglang/server.log", Command("sglang-log")),
        ("cat /var/log/sglang/nccl.log", Command("nccl-log")),
    ],
)
def test_sglangs_addresses_and_files_are_understood(line, command):
    assert parse(line) == command


@pytest.mark.parametrize(
    ("line", "helps"),
    [
        ("curl localhost:30000/metrics", "localhost:30000/v1/loads"),
        ("curl example.org:30000/v1/loads", "30000 SGLang"),
        ("tail /var/log/sglang/scheduler.log", "/var/log/sglang/server.log"),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(line, helps):
    refusal = parse(line)
    assert isinstance(refusal, Refusal)
    assert helps in refusal.message


def test_every_place_has_a_verb_that_help_knows():
    assert {*ADDRESSES.values(), *FILES.values()} <= set(VERBS)

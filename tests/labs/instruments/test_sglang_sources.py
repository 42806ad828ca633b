"""What the console reads of an SGLang fleet, and what either fleet refuses for the other's sake."""

import json
import pickle
from dataclasses import replace

import pytest

from labs import incident, pool
from labs.catalogue import labs
from labs.console import parse
from labs.digest import spec_digest
from labs.incident import perform
from labs.instruments.registry import SIGNALS
from labs.instruments.sources.sglang import REFUSED
from labs.instruments.take import NotMeasured, instrument_of, take

SLUG = "fine-on-average"
CORE = "curl -s replica-{}:30000/v1/loads?include=core"


@pytest.fixture(scope="module")
def sglang_spec():
    return labs()[SLUG]


@pytest.fixture(scope="module")
def _page(sglang_spec):
    return pickle.dumps(incident.begin(sglang_spec, pool.admitted(SLUG)[0], hypothesis="cap"))


@pytest.fixture
def world(_page):
    return pickle.loads(_page)  # noqa: S301  (our own bytes)


def asked(world, line):
    return perform(world, parse(line), 1)


def test_every_instruments_command_is_its_own(sglang_spec):
    for key, instrument in sglang_spec.instruments.items():
        assert instrument_of(parse(instrument.command)) == key


def test_the_name_of_the_engine_changes_no_world(sglang_spec):
    other = sglang_spec.model_copy(
        update={"fleet": sglang_spec.fleet.model_copy(update={"engine": "vllm"})}
    )
    assert spec_digest(other) == spec_digest(sglang_spec)


def test_the_slow_server_is_the_one_that_holds_most(world):
    ranks = [json.loads(take(world.view, parse(CORE.format(n))).text)["loads"][0] for n in range(4)]
    held = [rank["num_running_reqs"] for rank in ranks]
    ttfts = [line.split()[-1] for line in asked(world, "replicas").text.splitlines()[1:]]
    assert held.index(max(held)) == ttfts.index(max(ttfts, key=float))


@pytest.mark.parametrize("replica", range(4))
@pytest.mark.parametrize("after_s", [0, 3])
def test_a_servers_load_is_what_its_signals_say(world, replica, after_s):
    incident.advance(world, after_s)
    shown = take(world.view, parse(CORE.format(replica)))
    (rank,) = json.loads(shown.text)["loads"]
    seen = replace(world.view, replica=replica)
    assert shown.signals == {name: SIGNALS[name](seen) for name in shown.signals}
    assert shown.signals == {
        "running": rank["num_running_reqs"],
        "queue_depth": rank["num_waiting_reqs"],
        "kv_usage": pytest.approx(rank["token_usage"], abs=1e-4),
    }


@pytest.mark.parametrize(
    ("line", "signals"),
    [
        ("curl -s localhost:30000/v1/loads", {"running", "queue_depth", "kv_usage"}),
        ("curl -s localhost:30000/v1/loads?include=memory", set()),
        (
            "curl -s localhost:30000/v1/loads?include=queues,core | grep waiting_reqs",
            {"queue_depth"},
        ),
        (
            "curl -s localhost:30000/v1/loads?format=prometheus",
            {"running", "queue_depth", "kv_usage"},
        ),
        ("curl -s localhost:30000/v1/loads?format=prometheus&include=core | grep TYPE", set()),
        ("curl -s localhost:30000/v1/loads?format=prometheus | grep usage", {"kv_usage"}),
        ("tail -n 1 /var/log/sglang/server-1.log", {"running", "queue_depth", "kv_usage"}),
        ("head -n 1 /var/log/sglang/server-1.log", set()),
        ("curl -s replica-3:30000/server_info", set()),
    ],
)
def test_a_signal_is_read_only_where_a_line_shows_it(world, line, signals):
    assert set(take(world.view, parse(line)).signals) == signals


def test_a_signal_that_the_labs_table_does_not_hold_is_shown_and_not_cited(world):
    outcome = asked(world, CORE.format(1))
    assert (outcome.kind, outcome.cost_s, outcome.signals) == ("reading", 10, {})


def test_the_old_path_answers_the_same_behind_its_warning(world):
    new = take(world.view, parse("curl -s replica-2:30000/server_info")).text
    warning, _, old = take(
        world.view, parse("curl -s replica-2:30000/get_server_info")
    ).text.partition("\n")
    assert old == new
    assert "deprecated" in warning
    assert warning.endswith("/server_info")


def test_the_flags_are_sglangs_and_the_server_repeats_them(world):
    text = asked(world, "flags").text
    config = world.fleet.config
    assert text.startswith("python -m sglang.launch_server --model-path llama-70b-nvl")
    for words in (
        "--tp 2",
        f"--max-running-requests {config.max_num_seqs}",
        f"--chunked-prefill-size {config.max_num_batched_tokens}",
        "--disable-radix-cache",
    ):
        assert words in text
    assert "max-num-seqs" not in text
    info = json.loads(take(world.view, parse("curl -s localhost:30000/server_info")).text)
    assert info["launch_command"].split() == text.replace("\\", "").split()


@pytest.mark.parametrize(
    ("line", "helps"),
    [
        ("curl -s localhost:8000/metrics", "port 30000"),
        ("curl -s replica-1:8000/health", "port 30000"),
        ("tail /var/log/vllm/engine-1.log", "/var/log/sglang/server.log"),
        ("cat /var/log/vllm/startup.log", "/var/log/sglang/server.log"),
        ("promql 'sum(vllm:num_requests_waiting)'", "30000/v1/loads"),
        ("curl -s localhost:30000/v1/loads?include=load", "no section 'load'"),
        ("curl -s localhost:30000/v1/loads?section=core", "not `section`"),
        ("curl -s localhost:30000/v1/loads?format=xml", "json or prometheus"),
        ("curl -s replica-4:30000/v1/loads", "no replica 4"),
    ],
)
def test_an_sglang_fleet_refuses_with_help_and_free_of_charge(world, line, helps):
    outcome = asked(world, line)
    assert (outcome.kind, outcome.cost_s, world.clock_s) == ("refused", 0, 0)
    assert helps in outcome.text


@pytest.mark.parametrize(
    ("line", "helps"),
    [
        ("curl -s localhost:30000/v1/loads", "port 8000"),
        ("curl -s localhost:30000/get_server_info", "port 8000"),
        ("tail /var/log/sglang/server.log", "/var/log/vllm/engine.log"),
    ],
)
def test_a_vllm_fleet_names_its_own_port_and_log(at_page, line, helps):
    storm = at_page("metastable")
    outcome = asked(storm, line)
    assert (outcome.kind, outcome.cost_s) == ("refused", 0)
    assert helps in outcome.text
    with pytest.raises(NotMeasured, match=helps):
        take(storm.view, parse(line))


@pytest.mark.parametrize("path", ["v1/loads", "server_info"])
def test_a_server_that_restarts_refuses_the_connection(world, path):
    restart = {"verb": "restart"}
    incident.carry_out(world, restart, 1)
    incident.advance(world, 30)
    assert take(world.view, parse(f"curl -s localhost:30000/{path}")).text == REFUSED

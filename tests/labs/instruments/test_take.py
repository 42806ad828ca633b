"""From a command to a reading: price, text, and the signals that can be seen in it."""

import pytest

from labs.console import parse
from labs.incident import perform
from labs.instruments.registry import signal_values
from labs.instruments.take import NotMeasured, instrument_of, take


@pytest.fixture
def world(at_page):
    return at_page("metastable")


def test_every_instruments_command_is_its_own_and_shows_what_it_says(spec, world):
    for key, instrument in spec.instruments.items():
        command = parse(instrument.command)
        assert instrument_of(command) == key
        seen = set(take(world.view, command).signals) & set(spec.signals)
        assert seen <= set(instrument.signals), key
        if key == "router":
            continue  # A histogram's quantile is linear within its bucket; the signal is exact.
        # PromQL extrapolates from the scrapes of its window to the whole of it.
        within = 0.02 if command.verb == "promql" else 0.0
        shown = take(world.view, command).signals
        values = signal_values(world.view, seen)
        read = {name: shown[name] for name in seen}
        assert read == pytest.approx(values, rel=within, abs=0), key


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("curl -s localhost:8000/metrics", {"queue_depth", "kv_usage"}),
        ("curl -s localhost:8000/metrics | grep kv_cache_usage", {"kv_usage"}),
        ("curl -s localhost:8000/metrics | grep '# HELP'", set()),
        ("curl -s localhost:8000/metrics | grep kv_cache_usage | wc -l", set()),
        ("curl -s localhost:8000/metrics | head -1", set()),
        ("curl -s localhost:9400/metrics | grep TENSOR", {"tensor_active"}),
        ("curl -s localhost:9400/metrics | grep TYPE", set()),
        ("tail -n 2 /var/log/vllm/engine.log", {"queue_depth", "kv_usage"}),
        ("head -n 2 /var/log/vllm/engine.log", set()),
        ("grep nothing /var/log/vllm/engine.log", set()),
        ("steps --last 60s | grep recompute", {"recompute_share"}),
        ("kv-ledger | grep 'no live'", {"unaccounted_share"}),
        ("kv-ledger | grep free", {"kv_usage"}),
        ("request-log --last 12m --summary | grep wanted", {"offered_load_12m"}),
        ("request-log --last 12m --summary | grep prompt", {"prompt_p95_tokens"}),
        ("request-log --waiting", {"queue_depth", "queue_age_s"}),
        ("request-log --waiting | tail -n 2", set()),
        ("nvidia-smi", {"gpu_util"}),
        ("nvidia-smi | grep Fan", set()),
        ("nvidia-smi dmon | grep -v '#'", {"gpu_util"}),
        ("nvidia-smi dmon | head -2", set()),
        ("nvidia-smi --query-gpu=utilization.gpu --format=csv,noheader,nounits", {"gpu_util"}),
        ("nvidia-smi --query-gpu=index,utilization.gpu --format=csv | head -1", set()),
        ("nvidia-smi --query-gpu=memory.used --format=csv", set()),
        ("promql 'vllm:kv_cache_usage_perc'", {"kv_usage"}),
        ("promql 'vllm:kv_cache_usage_perc' | grep nothing", set()),
        ("promql 'rate(vllm:prompt_tokens_total[5m])'", set()),
    ],
)
def test_a_signal_is_read_only_if_its_line_survives_the_filter(world, line, seen):
    assert set(perform(world, parse(line), 1).signals) == seen


@pytest.mark.parametrize(
    "line",
    [
        "steps --replica 1",
        "kv-ledger --replica 3",
        "curl -s replica-2:8000/metrics",
        "tail /var/log/vllm/engine-1.log",
    ],
)
def test_a_replica_that_is_not_there_is_refused_with_those_that_are(world, line):
    with pytest.raises(NotMeasured, match=r"no replica . on this cluster; it has replica-0"):
        take(world.view, parse(line))


def test_the_only_replica_may_be_named(world):
    assert take(world.view, parse("steps --replica 0")) == take(world.view, parse("steps"))


@pytest.mark.parametrize(
    "line",
    [
        "promql 'up'",
        "request-log --last 12m --gaps",
        "nvidia-smi --query-gpu=fan.speed",
        "nvidia-smi --query-gpu=",
    ],
)
def test_what_cannot_be_measured_is_refused_with_help(world, line):
    with pytest.raises(NotMeasured, match=r".{20}"):
        take(world.view, parse(line))


@pytest.mark.parametrize(
    "line",
    ["flags", "help", "help wait", "curl -s localhost:8000/health", "curl localhost:8000/version"],
)
def test_what_is_free_charges_nothing_and_moves_nothing(world, line):
    before = world.world.cluster.digest()
    outcome = perform(world, parse(line), 1)
    assert (outcome.kind, outcome.cost_s, world.clock_s) == ("answer", 0, 0)
    assert world.world.cluster.digest() == before


@pytest.mark.parametrize("path", ["health", "version"])
def test_a_server_that_is_down_refuses_the_connection(world, path):
    line = parse(f"curl -s localhost:8000/{path}")
    assert "Failed" not in perform(world, line, 1).text
    engine = world.view.engine
    engine.restart(engine.config, engine.cost, down_s=600.0)
    perform(world, parse("wait 1m"), 2)
    assert "Failed to connect to localhost port 8000" in perform(world, line, 3).text
    assert perform(world, parse(f"curl -s replica-7:8000/{path}"), 4).kind == "refused"


@pytest.mark.parametrize(
    "hypothesis", ["metastable", "demand", "healthy", "router", "long_prompts", "leak"]
)
def test_every_signal_can_be_computed_in_every_world(spec, at_page, hypothesis):
    values = signal_values(at_page(hypothesis).view, spec.signals)
    assert set(values) == set(spec.signals)
    assert all(value is None or value >= 0 for value in values.values())

"""What each instrument answers of a real engine, and what it says where that engine has nothing for it."""

import json
import os
import signal

import pytest

from labs import incident
from labs.console import parse
from labs.instruments.prometheus.exposition import REFUSED
from labs.instruments.sources.source import NotMeasured
from labs.live import beginning

from .attempts_on_fakes import fast_clock, short  # noqa: F401  (fixtures)
from .test_clusters import engine_of, until


@pytest.fixture
def world(fake, short, tmp_path, fast_clock):  # noqa: F811
    """A live world at its page."""
    found = beginning.waking(short, 1, fake.box, folder=tmp_path)
    cluster = beginning.cluster_of(found)
    try:
        beginning.begin(found, lambda share, doing: None)
        until(cluster, lambda: cluster.replicas[0].samples, within_s=60.0)
        incident.advance(found, 0)
        yield beginning.at_now(found)
    finally:
        cluster.close()


def told(world, line):
    """What the engine itself answers; None where the record does."""
    beginning.at_now(world)
    return world.world.real(float(world.clock_s), 0, parse(line))


def performed(world, line):
    return incident.perform(beginning.at_now(world), parse(line), 1)


def test_metrics_are_the_engines_own_page_and_are_noted_as_a_sample(world):
    engine = beginning.cluster_of(world).replicas[0]
    seen = len(engine.samples)
    text = told(world, "curl localhost:8000/metrics")
    assert "# TYPE vllm:num_requests_running gauge" in text
    assert len(engine.samples) > seen


@pytest.mark.parametrize(
    ("path", "text"), [("health", "HTTP 200, empty body"), ("version", '{"version":"0.32.0"}')]
)
def test_what_costs_nothing_is_asked_of_the_engine(world, path, text):
    outcome = performed(world, f"curl localhost:8000/{path}")
    assert (outcome.kind, outcome.text, outcome.cost_s) == ("answer", text, 0)


def test_the_log_is_the_engines_own_without_its_steps(world):
    text = told(world, "cat engine.log")
    assert "Initializing a V1 LLM engine (v0.32.0)" in text
    assert "Iteration(" not in text


def test_steps_are_counted_from_the_log(world):
    cluster = beginning.cluster_of(world)
    until(cluster, lambda: cluster.replicas[0].steps, within_s=60.0)
    cluster.advance(cluster.now_s + 1)
    text = told(world, "steps --last 10s")
    assert text.splitlines()[0].startswith("steps ")
    assert "largest prefill" in text
    cluster.replicas[0].steps.clear()
    cluster.replicas[0].telling.hush()
    assert told(world, "steps --last 10s") == "no step in the last 10 s"


@pytest.mark.parametrize(
    "line",
    [
        "request-log --last 30s --summary",
        "promql 'increase(vllm:num_preemptions_total[30s])'",
        "dashboard ttft",
    ],
)
def test_what_the_gateway_and_the_scrapes_have_noted_is_read_from_the_record(world, line):
    assert told(world, line) is None


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("nvidia-smi", "nvidia-smi: this box has no GPU. Nothing was charged."),
        ("dcgmi dmon", "dcgm: this box has no GPU, and so nothing that counts its pipes. "),
        ("kv-ledger", "kv-ledger: vLLM tells how full its pool is, and not who holds it: "),
        ("py-spy dump", "a real engine of this box has no such instrument. Nothing was charged."),
    ],
)
def test_what_this_engine_has_nothing_for_is_refused_with_why(world, line, why):
    with pytest.raises(NotMeasured) as refused:
        told(world, line)
    assert why in str(refused.value)


def test_a_page_that_hangs_reads_as_it_does_by_hand(world, fake, monkeypatch):
    monkeypatch.setattr("labs.live.readings.ASK_LIMIT_S", 0.1)
    fake.set(metrics="hangs")
    text = told(world, "curl localhost:8000/metrics")
    assert text == "curl: (28) Operation timed out after 100 milliseconds"
    fake.set(metrics=None)


def test_a_page_of_another_version_is_refused_and_names_what_it_lacks(world, fake):
    fake.set(lacks=["vllm:num_requests_waiting"])
    outcome = performed(world, "curl localhost:8000/metrics")
    assert (outcome.kind, outcome.cost_s) == ("refused", 0)
    assert "lacks vllm:num_requests_waiting" in outcome.text


def test_an_engine_that_is_down_refuses_and_its_log_says_why(world, short):  # noqa: F811
    cluster = beginning.cluster_of(world)
    os.kill(engine_of(cluster), signal.SIGKILL)
    until(cluster, lambda: cluster.replicas[0].is_lost, within_s=60.0)
    assert told(world, "curl localhost:8000/metrics") == REFUSED
    assert performed(world, "curl localhost:8000/health").text == REFUSED
    log = told(world, "cat engine.log").splitlines()
    assert log[-1] == "the engine is down; its log ends here"
    assert len(log) > 1


def test_past_the_budget_what_is_free_is_answered_and_what_costs_says_what_is_left(world):
    cluster = beginning.cluster_of(world)
    cluster.clock.page_ns -= 1_000_000_000_000
    cluster.workload.set_rate(0.0, cluster.now_s)
    assert performed(world, "curl localhost:8000/health").text == "HTTP 200, empty body"
    refused = performed(world, "wait 10s")
    assert refused.text.startswith(
        "That costs 0:10 and 0:00 is left on the incident clock. Explain what you found"
    )


def test_the_record_of_a_reading_is_what_stands_in_the_row(world):
    outcome = performed(world, "request-log --last 30s --summary")
    assert json.dumps(outcome.signals)
    assert outcome.kind == "reading"
    assert outcome.text.startswith("arrivals ")

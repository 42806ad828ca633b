"""An engine that somebody else runs: looked at first, sent requests, scraped, and never touched."""

import os
import subprocess
import time
from dataclasses import replace

import pytest

from labs import console, incident
from labs.catalogue import lab
from labs.incident import advance
from labs.instruments.take import NotMeasured, take
from labs.live import attached, beginning, boxes, servers
from labs.live.attached import checked
from labs.live.boxes import BoxError, box
from labs.live.offering import NotServed
from labs.live_supervisor import problems_of
from labs.simulator.config import EngineConfig
from tests.labs.live import posing
from tests.labs.live.test_changing import ATTACHED

KNOBS = EngineConfig(num_gpu_blocks=45, block_size=32, max_model_len=1024)
SERVES = {"model": "small-llama", "longest": 1024}


@pytest.fixture
def there(tmp_path):
    """Start somebody's engine that says so, and return (its box, its process)."""
    started = []

    def start(**said):
        program = posing.program(tmp_path, "vllm", posing.ENGINE)
        posing.says(tmp_path, **{**SERVES, **said})
        port = servers.free_port()
        process = subprocess.Popen(
            [program, "serve", "m", "--port", str(port)], stdout=subprocess.DEVNULL, env=os.environ
        )
        started.append(process)
        url = f"http://127.0.0.1:{port}"
        until = time.monotonic() + 10
        while not servers.answers(url):
            assert time.monotonic() < until
            time.sleep(0.02)
        return replace(ATTACHED, url=url), process

    yield start
    for each in started:
        each.terminate()
        each.wait()


def brief():
    spec = lab("preemption-storm/live")
    timeline = spec.timeline.model_copy(
        update={"starts_at_s": -1, "healthy_from_s": -1, "fault_at_s": 500}
    )
    return spec.model_copy(update={"timeline": timeline})


def test_it_is_played_on_and_goes_on_afterwards(there, tmp_path):
    where, process = there()
    found = beginning.waking(brief(), 1, where, folder=tmp_path / "logs", hypothesis="router")
    cluster = beginning.cluster_of(found)
    try:
        beginning.begin(found, lambda share, doing: None)
        for second in range(1, 30):
            if not posing.asked(tmp_path):
                advance(found, second)
        assert posing.asked(tmp_path)
        assert cluster.replicas[0].samples
        assert take(found.view, console.parse("curl replica-0:8000/metrics")).text
        for line in ("tail -n 6 /var/log/vllm/engine.log", "steps --last 10s"):
            with pytest.raises(NotMeasured, match=f"run by somebody else.*{'Nothing was charged'}"):
                take(found.view, console.parse(line))
        outcome = incident.perform(found, console.parse("restart"), 1)
        assert outcome.text.startswith("restart: this engine is run by somebody else")
    finally:
        cluster.close()
    assert process.poll() is None
    assert servers.answers(where.url)
    assert not (tmp_path / "logs").exists()


def test_what_it_had_counted_before_is_not_counted(there, tmp_path):
    where, _ = there(families=counting("vllm:generation_tokens_total", 5000))
    found = beginning.waking(brief(), 1, where, folder=tmp_path, hypothesis="router")
    cluster = beginning.cluster_of(found)
    try:
        beginning.begin(found, lambda share, doing: None)
        cluster.advance(0.0)
        (life,) = cluster.replicas[0].processes
        assert life.base is None
        assert {each.generation_tokens for each in cluster.replicas[0].samples} == {0}
    finally:
        cluster.close()


def test_one_that_is_not_heard_of_any_more_is_lost(there, tmp_path, monkeypatch):
    where, process = there()
    found = beginning.waking(brief(), 1, where, folder=tmp_path, hypothesis="router")
    cluster = beginning.cluster_of(found)
    try:
        beginning.begin(found, lambda share, doing: None)
        process.terminate()
        process.wait()
        monkeypatch.setattr(attached, "UNHEARD_S", 0.0)
        cluster.advance(0.0)
        (replica,) = cluster.replicas
        assert replica.is_lost
        assert str(replica.failure).startswith(f"The engine at {where.url} has not answered for")
    finally:
        cluster.close()


def counting(series, value):
    """The page's families, one series at a value."""
    return [
        [name, kind, f"{series} {value}" if line.startswith(f"{series} ") else line]
        for name, kind, line in posing.families()
    ]


def cache(**labels):
    said = ",".join(f'{name}="{value}"' for name, value in labels.items())
    return [*posing.families(), ["vllm:cache_config_info", "gauge", f"vllm:cache_config_info{{{said}}} 1"]]  # fmt: skip


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"version": "0.31.2"}, "is vLLM 0.31.2, and the course knows 0.32."),
        ({"model": "llama"}, "serves llama; this box's profile says small-llama."),
        ({"longest": 4096}, "has a context of 4096 tokens; this world of the lab is made for 1024."),
        ({"families": posing.families()[1:]}, "/metrics lacks vllm:num_requests_running"),
        ({"families": counting("vllm:num_requests_running", 3)}, "has 3 requests of others"),
        ({"families": cache(num_gpu_blocks=90)}, "has a pool of 90 KV blocks; this world"),
        ({"families": cache(block_size=16)}, "has KV blocks of 16 tokens; this world"),
    ],
)  # fmt: skip
def test_one_that_is_not_as_the_lab_needs_it_is_refused(there, said, why):
    where, _ = there(**said)
    with pytest.raises(servers.EngineError, match=why.replace(".", r"\.")):
        checked(where.url, "small-llama", KNOBS)


def test_one_that_is_as_the_lab_needs_it_is_taken(there):
    where, _ = there(version="0.32.1", families=cache(num_gpu_blocks=45, block_size=32))
    assert checked(where.url, "small-llama", KNOBS).text


def test_nobody_there_is_a_sentence():
    with pytest.raises(
        servers.EngineError, match=r"The engine at http://127.0.0.1:1 does not answ"
    ):
        checked("http://127.0.0.1:1", "small-llama", KNOBS)


def test_a_world_that_starts_its_engine_otherwise_is_not_played(tmp_path):
    with pytest.raises(NotServed, match="is started in another way, and the one of there is run"):
        beginning.waking(brief(), 1, ATTACHED, folder=tmp_path, hypothesis="long_prompts")


@pytest.mark.parametrize("key", ["late-in-turns/live", "not-to-the-end/live"])
def test_a_lab_whose_engines_are_replaced_in_turn_is_not_played(tmp_path, key):
    with pytest.raises(NotServed, match="replaced in turn, and the engine of there is run by some"):
        beginning.waking(lab(key), 1, ATTACHED, folder=tmp_path)


# ---------------------------------------------------------------------------------- its profile


@pytest.fixture
def profile(tmp_path, monkeypatch):
    """Write a profile of somebody's engine, and read it."""
    monkeypatch.setattr(boxes, "PROFILES_DIR", tmp_path)

    def read(text):
        box.cache_clear()
        (tmp_path / "theirs.toml").write_text(text, encoding="utf-8")
        return box("theirs")

    yield read
    box.cache_clear()


SAID = """
title = "A vLLM of our cluster"
url = "$LIVE_URL"
served_model_name = "small-llama"
simulator_profile = "small-llama-cpu"
block_size = 32
"""


def test_a_profile_says_where_it_answers(profile, monkeypatch):
    found = profile(SAID)
    monkeypatch.setenv("LIVE_URL", "http://vllm.serving.svc:8000/")
    assert boxes.address(found) == "http://vllm.serving.svc:8000"
    monkeypatch.delenv("LIVE_URL")
    with pytest.raises(BoxError, match="LIVE_URL is not set: it says where the engine of theirs"):
        boxes.address(found)
    with pytest.raises(BoxError, match=r"write http://host:port, not vllm:8000"):
        boxes.address(replace(found, url="vllm:8000"))


def test_a_profile_that_says_how_to_start_it_as_well_is_refused(profile):
    with pytest.raises(BoxError, match=r"theirs.toml: program: take it out: the engine at url is"):
        profile(SAID + 'program = "vllm"')
    with pytest.raises(
        BoxError, match=r"theirs.toml: say served_model_name, and simulator_profile"
    ):
        profile(SAID.replace('served_model_name = "small-llama"', ""))
    with pytest.raises(BoxError, match=r"program: say which command starts an engine"):
        profile('title = "x"\nblock_size = 32\nmodel = "m"')


def test_its_worker_starts_only_where_it_answers(profile, there, monkeypatch):
    profile(SAID)
    monkeypatch.setenv("LIVE_URL", "http://127.0.0.1:1")
    (problem,) = problems_of("theirs")
    assert problem.startswith("The engine at http://127.0.0.1:1 does not answer /health")
    where, _ = there()
    monkeypatch.setenv("LIVE_URL", where.url)
    assert problems_of("theirs") == []

"""Real engines: `make test-live` runs these, and nothing else does (``--live``).

One engine starts in 20 s on two free cores, so a module shares one where it can.
"""

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from labs.live import guard, servers
from labs.live.boxes import box
from labs.live.launching import launch_of
from labs.live.servers import EngineError, Server, free_port
from labs.simulator.config import EngineConfig

START_S = 240.0
"""80 s were seen beside another engine; one that needs three times as long hangs."""
KV_BYTES = {"tiny-llama": 512, "small-llama": 12_288}
TINY = EngineConfig(
    num_gpu_blocks=256,
    max_num_seqs=32,
    max_num_batched_tokens=2048,
    block_size=32,
    max_model_len=1024,
    enable_prefix_caching=True,
)


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    return None if config.getoption("--live") else True


@pytest.fixture(scope="module")
def start_engine(tmp_path_factory, live_dir) -> Iterator[Callable[..., Server]]:
    """``start_engine(model, config, *flags)``: an engine that is ready, until the module is through."""
    started: list[Server] = []

    def start(model: str = "tiny-llama", config: EngineConfig = TINY, *flags: str) -> Server:
        shape = replace(
            box("cpu"),
            model=f".live/models/{model}",
            served_model_name=model,
            kv_bytes_per_token=KV_BYTES[model],
        )
        port = free_port()
        log_path = tmp_path_factory.mktemp("engine") / f"{port}.log"
        marks = guard.marks("test", live_dir)
        launch = launch_of(shape, config, port=port, log_path=log_path, flags=flags, env=marks)
        started.append(servers.start(launch))
        try:
            servers.wait_ready(started[-1], within_s=START_S)
        except EngineError as error:
            pytest.fail(f"{error}\n{servers.tail(log_path, 60)}")
        return started[-1]

    yield start
    for server in started:
        servers.stop(server)


@pytest.fixture(scope="session")
def ask() -> Callable[..., tuple[int, str]]:
    """``ask(server, path, body)``: status and text of the answer; a body is posted as JSON."""

    def answer(server: Server, path: str, body: dict | None = None) -> tuple[int, str]:
        request = urllib.request.Request(
            server.base_url + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as got:
                return got.status, got.read().decode()
        except urllib.error.HTTPError as refusal:
            with refusal:
                return refusal.code, refusal.read().decode()

    return answer


@pytest.fixture(scope="session")
def live_dir(tmp_path_factory) -> Path:
    """What marks the processes of these tests."""
    return tmp_path_factory.mktemp("live")


@pytest.fixture(scope="session")
def processes(live_dir) -> Callable[[], list[int]]:
    """``processes()``: the ids of all engines' processes, and of their guards, that these tests have running."""

    def running() -> list[int]:
        return [process.pid for process, _ in guard.marked(live_dir)]

    return running

"""A replica whose real engine does not come up: why, in its own log, beside one that serves; and that other values bring it back."""

from dataclasses import replace

import pytest

from labs.live import guard, servers, startup_logs
from labs.live.boxes import box
from labs.live.launching import launch_of, sharing
from labs.simulator.config import EngineConfig

CONFIG = EngineConfig(
    num_gpu_blocks=97,
    max_num_seqs=4,
    max_num_batched_tokens=512,
    block_size=32,
    max_model_len=1024,
)
START_S = 240.0


@pytest.fixture
def started(live_dir, tmp_path):
    """``started(config)``: an engine that shares the processor, as a lab with two replicas starts it."""
    made = []
    flags, env = sharing(box("cpu"), 2)

    def start(config):
        marks = guard.marks("test", live_dir)
        launch = launch_of(
            box("cpu"),
            config,
            port=servers.free_port(),
            log_path=tmp_path / "engine.log",
            flags=flags,
            env={**env, **marks},
        )
        made.append(servers.start(launch))
        return made[-1]

    yield start
    for each in made:
        servers.stop(each)


def test_one_request_that_exceeds_the_pool_ends_a_start_and_a_shorter_context_does_not(started):
    failed = started(replace(CONFIG, max_model_len=4096))
    with pytest.raises(servers.EngineDied, match=r"max seq len \(4096\)"):
        servers.wait_ready(failed, within_s=START_S)
    log = failed.launch.log_path.read_text()
    assert startup_logs.phase_of(log) == "kv sizing"
    # One block of the pool is no request's.
    assert startup_logs.pool_of(log) == 96 * 32
    again = started(CONFIG)
    servers.wait_ready(again, within_s=START_S)
    log = again.launch.log_path.read_bytes()[again.log_at :].decode()
    assert startup_logs.pool_of(log) == 97 * 32
    assert "world_size=1" in log

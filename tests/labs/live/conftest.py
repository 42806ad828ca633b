"""A fake engine behind a box's profile, and live worlds before it that end with their test."""

import json
import sys
from pathlib import Path

import pytest

from labs.instruments.prometheus.families import FAMILIES
from labs.live import servers
from labs.live.boxes import Box
from labs.live.clusters import LiveCluster
from labs.live.iterations import FLAG
from labs.live.launching import launch_of
from labs.simulator.config import EngineConfig
from labs.simulator.cost_model import profile
from labs.simulator.router import RouterDelay
from labs.simulator.workload import LengthDistribution, RequestClass, Workload, WorkloadSpec

PROGRAM = Path(__file__).with_name("fake_engine.py")
CONFIG = EngineConfig(
    num_gpu_blocks=32,
    max_num_seqs=16,
    max_num_batched_tokens=256,
    block_size=32,
    max_model_len=1024,
)
KV_BYTES = 512


def families():
    """Name, kind and bounds of each family of a vLLM server's page."""
    return [
        (each.name, each.kind, list(each.bounds(CONFIG)) if each.bounds else [])
        for each in FAMILIES
    ]


class FakeBox:
    """A box whose engines are fake ones; ``set`` says how they behave from now on."""

    def __init__(self, folder):
        self.folder = folder
        self.mode = {"families": families()}
        model = folder / "model"
        model.mkdir()
        (model / "config.json").write_text("{}")
        program = folder / "vllm"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {PROGRAM} "$@"\n')
        program.chmod(0o755)
        self.box = Box(
            name="fake",
            title="A fake engine",
            program=str(program),
            model=str(model),
            served_model_name="fake",
            simulator_profile="small-llama-cpu",
            block_size=32,
            kv_bytes_per_token=KV_BYTES,
            env=(("FAKE_ENGINE", str(folder / "mode.json")),),
        )
        self.set()

    def set(self, **mode):
        self.mode |= mode
        beside = self.folder / "mode.new"
        beside.write_text(json.dumps(self.mode))
        beside.replace(self.folder / "mode.json")

    def launch(self, replica, config, **options):
        return launch_of(
            self.box,
            config,
            port=servers.free_port(),
            log_path=self.folder / f"engine-{replica}.log",
            flags=[FLAG],
            **options,
        )


@pytest.fixture(autouse=True)
def _look_often(monkeypatch):
    monkeypatch.setattr(servers, "LOOK_EVERY_S", 0.02)
    monkeypatch.setattr("labs.live.telling.SCRAPE_EVERY_S", 0.05)


@pytest.fixture
def fake(tmp_path):
    folder = tmp_path / "fake"
    folder.mkdir()
    return FakeBox(folder)


@pytest.fixture
def live_cluster(fake):
    """``live_cluster(rate=50.0)``: a world before fake engines, begun; closed at the end."""
    made = []

    def make(
        *, rate=40.0, outputs=6, replicas=1, begin=True, config=CONFIG, within_s=10.0, **others
    ):
        kind = RequestClass(
            "chat", 1.0, LengthDistribution(20.0, 0.2, 4, 64), LengthDistribution(outputs, 0.0)
        )
        made.append(
            LiveCluster(
                config,
                profile("small-llama-cpu").cost_model(),
                Workload(WorkloadSpec(((-9.0, rate),), (kind,)), "test", start_s=-1.0),
                launch=fake.launch,
                model="fake",
                ready_within_s=within_s,
                start_s=-1.0,
                seed="test",
                router_delay=RouterDelay(0.001, 0.002),
                replicas=replicas,
                **others,
            )
        )
        if begin:
            made[-1].begin()
        return made[-1]

    yield make
    for each in made:
        each.close()

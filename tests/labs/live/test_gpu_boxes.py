import pytest

from labs.live import boxes
from labs.live.boxes import BoxError, box, for_profile
from labs.live.launching import launch_of
from labs.simulator.config import EngineConfig
from labs.simulator.cost_model import profile
from labs.simulator.hardware.boxes import box as hardware_named

GPU_BOXES = ["h100-sxm-4", "h100-nvl-4"]
CONFIG = EngineConfig(num_gpu_blocks=6158, max_num_seqs=96, max_num_batched_tokens=2048)


@pytest.mark.parametrize("name", GPU_BOXES)
def test_a_box_has_the_gpus_and_links_of_the_hardware_that_it_names(name):
    hardware = hardware_named(box(name).hardware)
    assert box(name).devices == tuple(range(len(hardware.gpus)))
    assert box(name).pairs == hardware.nvlink_pairs


@pytest.mark.parametrize("name", GPU_BOXES)
def test_a_model_has_the_shape_of_the_profile_that_it_stands_for(name):
    for model in box(name).models:
        said = profile(model.profile)
        assert model.kv_bytes_per_token == said.kv_bytes_per_token
        assert model.tensor_parallel_size == said.tensor_parallel_size
        assert box(name).block_size == said.block_size


@pytest.mark.parametrize("name", GPU_BOXES)
def test_cuda_counts_gpus_as_nvidia_smi_does(name):
    assert dict(box(name).env)["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"


def test_the_profile_of_a_lab_decides_the_model():
    assert for_profile(box("h100-sxm-4"), "llama-70b-fp8").model == "$LIVE_MODEL_FP8"
    assert for_profile(box("h100-sxm-4"), "atlas-70b").served_model_name == "llama-70b"
    assert for_profile(box("h100-nvl-4"), "llama-70b-nvl").tensor_parallel_size == 2


def test_a_profile_that_the_box_cannot_serve_is_refused_with_those_that_it_can():
    with pytest.raises(BoxError, match="h100-nvl-4 serves llama-70b-nvl; it has no model for ll"):
        for_profile(box("h100-nvl-4"), "llama-70b-fp8")


def test_a_box_with_one_model_serves_it_whatever_the_profile():
    assert for_profile(box("cpu"), "atlas-70b") is box("cpu")


def test_a_model_whose_variable_is_not_set_is_named(monkeypatch, tmp_path):
    monkeypatch.delenv("LIVE_MODEL", raising=False)
    where = for_profile(box("h100-sxm-4"), "llama-70b")
    with pytest.raises(BoxError, match="LIVE_MODEL is not set: it names the folder of the model"):
        launch_of(where, CONFIG, port=8100, log_path=tmp_path / "log")
    with pytest.raises(BoxError, match="write an absolute path"):
        boxes.place("$LIVE_MODEL", {"LIVE_MODEL": "models/llama"})
    assert boxes.place("$LIVE_MODEL", {"LIVE_MODEL": "/models/l"}).as_posix() == "/models/l"


def test_a_start_names_gpus_parallelism_and_pool(tmp_path):
    where = for_profile(box("h100-nvl-4"), "llama-70b-nvl")
    launch = launch_of(
        where, CONFIG, port=8101, log_path=tmp_path / "log", devices=(2, 3), as_written=True
    )
    assert launch.argv[:3] == ("vllm", "serve", "$LIVE_MODEL")
    words = " ".join(launch.argv)
    assert "--tensor-parallel-size 2 --gpu-memory-utilization 0.92" in words
    assert f"--kv-cache-memory-bytes {6158 * 16 * 163_840}" in words
    assert launch.env["CUDA_VISIBLE_DEVICES"] == "2,3"
    assert 'serve "$LIVE_MODEL" --served-model-name' in launch.shell()


def test_a_profile_without_a_model_is_refused(tmp_path, monkeypatch):
    (tmp_path / "bare.toml").write_text(
        'title = "T"\nprogram = "vllm"\nblock_size = 16\n', encoding="utf-8"
    )
    monkeypatch.setattr(boxes, "PROFILES_DIR", tmp_path)
    with pytest.raises(BoxError, match=r"bare.toml: say model, or models by profile"):
        boxes.box("bare")


def test_a_program_without_a_path_is_found_on_path(tmp_path, monkeypatch):
    (tmp_path / "vllm").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "vllm").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert boxes.program("vllm") == str(tmp_path / "vllm")
    assert boxes.program("python-of-nowhere") == "python-of-nowhere"
    assert boxes.program(".venv-live/bin/vllm") == str(boxes.ROOT / ".venv-live/bin/vllm")

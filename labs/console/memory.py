"""The lines that read or change the memory of the ranks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from labs.console.commands import Command, Refusal, bare, for_a_replica, unknown

if TYPE_CHECKING:
    from labs.console.commands import Filter, Reader

SWITCHES = {
    "--enforce-eager": "no value",
    "--no-enforce-eager": "no value",
    "--expandable-segments": "no value",
    "--no-lazy-capture": "no value",
    "--bounded-cache": "no value",
}
_NUMBERS = {
    "--tensor-parallel-size": (1, 8),
    "--max-model-len": (512, 1_048_576),
    "--max-num-seqs": (1, 1024),
    "--max-num-batched-tokens": (64, 131_072),
    "--max-cudagraph-capture-size": (1, 2048),
    "--num-gpu-blocks-override": (2, 65_536),
}
FLAGS = {
    **{name: f"an integer from {low} to {high}" for name, (low, high) in _NUMBERS.items()},
    "--gpu-memory-utilization": "a share from 0.5 to 1",
    "--kv-cache-dtype": "auto or fp8",
    "--attention-backend": "FLASH_ATTN, FLASHINFER or TORCH_SDPA",
    **SWITCHES,
}
"""What ``redeploy`` takes. The last three switches are the engine's environment and its own runner's."""


def _value_is_good(flag: str, value: str) -> bool:
    if flag == "--kv-cache-dtype":
        return value in {"auto", "fp8"}
    if flag == "--attention-backend":
        return value in {"FLASH_ATTN", "FLASHINFER", "TORCH_SDPA"}
    if flag == "--gpu-memory-utilization":
        plain = re.fullmatch(r"0?\.\d{1,3}|1(?:\.0)?", value, re.ASCII) is not None
        return plain and float(value) >= 0.5  # noqa: PLR2004
    low, high = _NUMBERS[flag]
    return re.fullmatch(r"\d{1,7}", value, re.ASCII) is not None and low <= int(value) <= high


def _redeploy(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    if filters:
        return Refusal("redeploy prints nothing to filter.")
    options: dict[str, str] = {}
    words = [
        part
        for word in arguments
        for part in (word.split("=", 1) if word.startswith("--") else [word])
    ]
    while words:
        flag = words.pop(0)
        if flag in SWITCHES:
            options[flag] = ""
            continue
        value = words.pop(0) if words else ""
        if flag == "--replica" and re.fullmatch(r"\d", value, re.ASCII):
            options["replica"] = value
        elif flag not in FLAGS:
            return unknown("redeploy", flag, sorted({*FLAGS, "--replica"}))
        elif not _value_is_good(flag, value):
            return Refusal(f"redeploy: {flag} takes {FLAGS[flag]}, not `{value[:40]}`.")
        else:
            options[flag] = value
    return Command("redeploy", options=options)


def _failures(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    """Read ``failures`` with ``--last 5m`` or ``--last 15m``; five minutes unless said."""
    if filters:
        return Refusal("failures prints four lines; there is nothing to filter.")
    if not arguments:
        return Command("failures")
    if arguments[0] != "--last":
        return unknown("failures", arguments[0], ["--last"])
    if len(arguments) != 2 or arguments[1] not in {"5m", "15m"}:  # noqa: PLR2004
        return Refusal("failures: --last takes 5m or 15m.")
    return Command("failures", options={"last": arguments[1]})


READERS: dict[str, Reader] = {
    **{
        verb: for_a_replica(verb)
        for verb in (
            "memory-ledger", "memory-summary", "memory-snapshot", "memory-history", "memory-log", "host-memory",
        )
    },
    "failures": _failures,
    "memory-used": bare("memory-used"),
    "starts": bare("starts"),
    "redeploy": _redeploy,
    "evict": bare("evict"),
    "refuse-prompt-logprobs": bare("refuse-prompt-logprobs"),
}  # fmt: skip
VERBS: dict[str, str] = {
    "memory-ledger": "one rank's memory by owner",
    "memory-summary": "torch.cuda.memory_summary of one rank",
    "memory-snapshot": "a rank's allocations, summed by where they were made",
    "memory-history": "used, reserved and allocated over two days",
    "memory-log": "late graph captures, and the errors that ended a process",
    "host-memory": "resident memory of the host processes",
    "failures": "requests of five or fifteen minutes by what became of them",
    "memory-used": "how full each GPU is",
    "starts": "each replica's server: up or not, and how often it was started",
    "redeploy": "start replicas with other values",
    "evict": "end other tenants' processes on these GPUs",
    "refuse-prompt-logprobs": "have the gateway strip prompt_logprobs",
}
"""Verb of a command -> what it is, in the words of ``help``."""

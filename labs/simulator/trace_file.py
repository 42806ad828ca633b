"""The file of a recording of vLLM's scheduler, read and checked key by key."""

import gzip
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from labs.simulator.config import EngineConfig

GZIP_MAGIC = b"\x1f\x8b"
MAX_STEP = 1_000_000_000
MAX_NUM_BLOCKS = 10_000_000
"""More than any machine has; a guard against a file that would eat this one's memory."""


class TraceError(ValueError):
    """A recording that cannot be used; the message is one line and names the file and the key."""


@dataclass(slots=True, frozen=True)
class Trace:
    """A recording: what was asked of vLLM's scheduler, and what it did."""

    name: str
    config: EngineConfig
    requests: list[dict[str, Any]]
    steps: list[dict[str, Any]]
    summary: dict[str, Any]


_CONFIG = {
    "block_size": "whole",
    "max_model_len": "whole",
    "prefix_caching": "flag",
    "policy": "text",
    "watermark": "number",
    "reserve_full_isl": "flag",
    "long_prefill_token_threshold": "whole",
    "chunked_prefill": "flag",
    "num_blocks": "whole",
    "max_num_seqs": "whole",
    "max_num_batched_tokens": "whole",
}
_REQUEST = {
    "id": "text",
    "arrive": "whole",
    "prompt_len": "whole",
    "out": "whole",
    "priority": "integer",
    "prompt": "integers",
}
_STEP = {
    "step": "whole",
    "arrived": "texts",
    "scheduled": "counts",
    "total": "whole",
    "new": "texts",
    "resumed": "texts",
    "computed_before": "counts",
    "preempted": "texts",
    "free_blocks_after_schedule": "whole",
    "blocks": "counts",
    "running": "texts",
    "waiting": "texts",
    "usage": "number",
    "finished": "texts",
    "free_blocks_end": "whole",
}
_SUMMARY = {
    "steps": "whole",
    "requests": "whole",
    "finished": "whole",
    "preemptions": "whole",
    "prefix_queries": "whole",
    "prefix_hits": "whole",
    "first_token_step": "counts",
    "finish_step": "counts",
    "min_free": "whole",
    "max_waiting": "whole",
}


def read_trace(path: Path) -> Trace:
    """Read and check the recording at ``path``; the suffix .gz means gzip.

    Raises TraceError if the file cannot be read, is not JSON, or a key is missing, has the wrong
    type or a value that no run can have.
    """
    check = _Checker(path)
    data = check.fields(
        "", _load(path), {"workload": "text", "config": "object", "summary": "object"}
    )
    for key in ("requests", "steps"):
        if not isinstance(data.get(key), list):
            check.fail(key, "must be a list" if key in data else "missing")
    config = _config(check, check.fields("config", data["config"], _CONFIG))
    requests = [
        check.fields(f"requests[{i}]", row, _REQUEST) for i, row in enumerate(data["requests"])
    ]
    _check_requests(check, requests)
    steps = [check.fields(f"steps[{i}]", row, _STEP) for i, row in enumerate(data["steps"])]
    for before, after in pairwise(steps):
        if after["step"] <= before["step"]:
            check.fail("step", f"{after['step']} does not follow {before['step']}")
    for i, step in enumerate(steps):
        if not 0.0 <= step["usage"] <= 1.0:
            check.fail(f"steps[{i}].usage", f"must be in [0, 1], got {step['usage']}")
        for key in ("free_blocks_after_schedule", "free_blocks_end"):
            if step[key] > config.usable_blocks:
                check.fail(f"steps[{i}].{key}", f"{step[key]} of {config.usable_blocks} blocks")
    return Trace(
        data["workload"],
        config,
        requests,
        steps,
        check.fields("summary", data["summary"], _SUMMARY),
    )


def _load(path: Path) -> object:
    try:
        raw = path.read_bytes()
        text = gzip.decompress(raw) if path.suffix == ".gz" or raw[:2] == GZIP_MAGIC else raw
        return json.loads(text)
    except OSError as error:
        raise TraceError(f"{path}: file: {error.strerror or error}") from error
    except (EOFError, zlib.error) as error:
        raise TraceError(f"{path}: file: not a whole gzip file") from error
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise TraceError(f"{path}: file: not JSON: {reason}") from error


def _config(check: "_Checker", config: dict[str, Any]) -> EngineConfig:
    if config["num_blocks"] > MAX_NUM_BLOCKS:
        check.fail("config.num_blocks", f"{config['num_blocks']} is more than {MAX_NUM_BLOCKS}")
    try:
        return EngineConfig(
            num_gpu_blocks=config["num_blocks"],
            max_num_seqs=config["max_num_seqs"],
            max_num_batched_tokens=config["max_num_batched_tokens"],
            block_size=config["block_size"],
            max_model_len=config["max_model_len"],
            policy=config["policy"],
            enable_prefix_caching=config["prefix_caching"],
            enable_chunked_prefill=config["chunked_prefill"],
            long_prefill_token_threshold=config["long_prefill_token_threshold"],
            scheduler_reserve_full_isl=config["reserve_full_isl"],
            watermark=float(config["watermark"]),
        )
    except (ValueError, OverflowError) as error:
        raise TraceError(f"{check.path}: config.{error}") from error


def _check_requests(check: "_Checker", requests: list[dict[str, Any]]) -> None:
    seen: set[str] = set()
    for i, row in enumerate(requests):
        if row["id"] in seen:
            check.fail(f"requests[{i}].id", f"{row['id']!r} comes twice")
        seen.add(row["id"])
        if row["arrive"] > MAX_STEP:
            check.fail(f"requests[{i}].arrive", f"{row['arrive']} is more than {MAX_STEP}")
        for key in ("prompt_len", "out"):
            if row[key] < 1:
                check.fail(f"requests[{i}].{key}", f"must be at least 1, got {row[key]}")
        if len(row["prompt"]) != row["prompt_len"]:
            check.fail(
                f"requests[{i}].prompt",
                f"{len(row['prompt'])} tokens, prompt_len says {row['prompt_len']}",
            )


class _Checker:
    """Says where in the file a value is wrong."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def fail(self, key: str, reason: str) -> None:
        raise TraceError(f"{self.path}: {key}: {reason}")

    def fields(self, where: str, row: object, kinds: dict[str, str]) -> dict[str, Any]:
        """Return ``row`` if it is an object with these keys of these kinds."""
        if not isinstance(row, dict):
            raise TraceError(f"{self.path}: {where or 'file'}: must be an object")
        for key, kind in kinds.items():
            name = f"{where}.{key}" if where else key
            if key not in row:
                self.fail(name, "missing")
            if not _TESTS[kind](row[key]):
                self.fail(name, f"must be {_WORDS[kind]}")
        return row


_WORDS = {
    "whole": "a whole number, 0 or more",
    "integer": "a whole number",
    "number": "a number, 0 or more",
    "flag": "true or false",
    "text": "a text",
    "object": "an object",
    "texts": "a list of texts",
    "integers": "a list of whole numbers",
    "counts": "an object of whole numbers, 0 or more",
}
# type() and not isinstance(): true and false are no numbers here.
_TESTS: dict[str, Callable[[Any], bool]] = {
    "whole": lambda value: type(value) is int and value >= 0,
    "integer": lambda value: type(value) is int,
    "number": lambda value: type(value) in {int, float} and 0 <= value < float("inf"),
    "flag": lambda value: type(value) is bool,
    "text": lambda value: type(value) is str,
    "object": lambda value: type(value) is dict,
    "texts": lambda value: type(value) is list and all(type(v) is str for v in value),
    "integers": lambda value: type(value) is list and all(type(v) is int for v in value),
    "counts": lambda value: (
        type(value) is dict and all(type(v) is int and v >= 0 for v in value.values())
    ),
}

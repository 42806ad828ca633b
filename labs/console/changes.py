"""The lines that act: they let time pass, verify, or change something."""

from __future__ import annotations

import re

from labs.console.commands import Command, Filter, Reader, Refusal, bare, unknown
from labs.console.durations import duration_s

MAX_WAIT_S = 1800

ENGINE_FLAGS = {
    "--max-num-seqs": "an integer from 1 to 1024",
    "--kv-cache-dtype": "auto or fp8",
    "--watermark": "a share from 0 to 0.5",
    "--max-num-batched-tokens": "an integer from 64 to 65536",
    "--num-gpu-blocks-override": "an integer from 64 to 65536",
    "--scheduler-reserve-full-isl": "no value",
    "--no-scheduler-reserve-full-isl": "no value",
    "--enable-chunked-prefill": "no value",
    "--no-enable-chunked-prefill": "no value",
    "--allow-whole-prefill": "no value",
    "--no-allow-whole-prefill": "no value",
}


def _wait(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    seconds = duration_s(arguments[0]) if len(arguments) == 1 else None
    if filters or not seconds or seconds > MAX_WAIT_S:
        return Refusal("wait: say how long, up to 30 minutes: `wait 5m`, `wait 90s`.")
    return Command("wait", options={"seconds": str(seconds)})


def _verify(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    if arguments or filters:
        return Refusal(
            "verify takes no argument: it measures p95 TTFT and the longest gap over five minutes."
        )
    return Command("verify")


def _restart(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    if filters:
        return Refusal("restart prints nothing to filter.")
    options: dict[str, str] = {}
    words = [
        part
        for word in arguments
        for part in (word.split("=", 1) if word.startswith("--") else [word])
    ]
    while words:
        flag = words.pop(0)
        if flag not in ENGINE_FLAGS:
            return unknown("restart", flag, sorted(ENGINE_FLAGS))
        if ENGINE_FLAGS[flag] == "no value":
            options[flag] = ""
        else:
            value = words.pop(0) if words else ""
            if not _flag_value_is_good(flag, value):
                return Refusal(f"restart: {flag} takes {ENGINE_FLAGS[flag]}, not `{value[:40]}`.")
            options[flag] = value
    for name in ("scheduler-reserve-full-isl", "enable-chunked-prefill", "allow-whole-prefill"):
        if f"--{name}" in options and f"--no-{name}" in options:
            return Refusal(f"restart: --{name} and --no-{name} contradict each other.")
    return Command("restart", options=options)


def _flag_value_is_good(flag: str, value: str) -> bool:
    if flag == "--kv-cache-dtype":
        return value in {"auto", "fp8"}
    if flag == "--watermark":
        return re.fullmatch(r"0?\.\d{1,4}|0", value, re.ASCII) is not None and float(value) <= 0.5  # noqa: PLR2004
    low, high = (1, 1024) if flag == "--max-num-seqs" else (64, 65536)
    return re.fullmatch(r"\d{1,6}", value, re.ASCII) is not None and low <= int(value) <= high


def _shed(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    value = arguments[0].removesuffix("%") if len(arguments) == 1 else ""
    if filters or re.fullmatch(r"\d{1,3}", value, re.ASCII) is None or not 1 <= int(value) <= 100:  # noqa: PLR2004
        return Refusal("shed: say which share gets a 429: `shed 20%`.")
    return Command("shed", options={"percent": str(int(value))})


def _limit_max_tokens(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    value = arguments[0] if len(arguments) == 1 else ""
    if filters or re.fullmatch(r"\d{1,5}", value, re.ASCII) is None or not 1 <= int(value) <= 16384:  # noqa: PLR2004
        return Refusal(
            "limit-max-tokens: give a number of tokens from 1 to 16384: `limit-max-tokens 1200`."
        )
    return Command("limit-max-tokens", options={"tokens": str(int(value))})


def _undo(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    value = arguments[0] if len(arguments) == 1 else ""
    if filters or re.fullmatch(r"\d{1,3}", value, re.ASCII) is None:
        return Refusal("undo: give the number of the change to take back: `undo 7`.")
    return Command("undo", options={"number": str(int(value))})


READERS: dict[str, Reader] = {
    "wait": _wait,
    "verify": _verify,
    "restart": _restart,
    "shed": _shed,
    "limit-max-tokens": _limit_max_tokens,
    "add-replica": bare("add-replica"),
    "restart-router": bare("restart-router"),
    "undo": _undo,
}

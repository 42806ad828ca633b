"""Which real command answers an instrument on a box of GPUs: an argv or an address, never a shell.

Its words follow from the parsed command alone, and only those that stand in a list here are passed on. What is printed
is the reading, as it is; ``gpu_outputs`` finds the signals in it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labs.console import filtered
from labs.instruments.sources.source import NotMeasured

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from labs.console import Command
    from labs.live.boxes import Box
    from labs.live.faults.acts import Start

VERBS = frozenset({"nvidia-smi", "dcgm", "topo", "all-reduce-perf", "taskset", "dmesg", "nccl-log"})
"""What this module answers; every other instrument reads the record, the engine's pages, or its log."""
UNTOLD = {
    "host-memory": "not built for a live engine",
    "kv-ledger": "vLLM does not tell who holds which block",
    "loads": "its servers are vLLM",
    "memory-history": "vLLM keeps no such record",
    "memory-ledger": "vLLM does not tell its memory by owner",
    "memory-log": "vLLM captures no graphs late",
    "memory-snapshot": "vLLM writes no snapshot unless it is started for one",
    "memory-summary": "vLLM does not print torch's summary",
    "py-spy": "not built for a live engine",
    "rank-times": "no counter of a real engine says how long a rank waits for the others",
    "server-info": "its servers are vLLM",
    "sglang-log": "its servers are vLLM",
    "torch-profile": "not built for a live engine",
    "upstream-log": "there is no gateway before a real engine",
}
"""Instruments that a real engine does not answer, and why."""
DCGM_URL = "http://127.0.0.1:9400/metrics"
"""Where dcgm-exporter answers by default."""
GPM = "1,5,10,20,21,60,61"
"""NVML's numbers of the GPM metrics that the course reads: graphics, tensor and DRAM activity, PCIe and NVLink, each way.
nvidia-smi wants them said; a console that says none means these."""
SHORT_S, LONG_S = 10.0, 60.0
MOST_SAMPLES = 10
_FIELDS = re.compile(r"[a-z][a-z0-9_.]*(?:,[a-z][a-z0-9_.]*)*")
_FORMAT = re.compile(r"--format=csv(?:,noheader)?(?:,nounits)?")
_NUMBERS = re.compile(r"\d{1,3}(?:,\d{1,3})*")
_TERMINAL = re.compile(r"\x1b\[[0-9;]*m")
_NOTHING = "Nothing was charged."


@dataclass(frozen=True)
class Ask:
    """One thing to run or to fetch."""

    argv: tuple[str, ...] = ()
    url: str = ""
    env: tuple[tuple[str, str], ...] = ()
    """What it finds in its environment beside PATH."""
    timeout_s: float = SHORT_S
    title: str = ""
    """Written above its answer, where there are several."""


def asks_of(
    command: Command,
    box: Box,
    starts: Sequence[Start] = (),
    *,
    pids: Sequence[int] = (),
) -> tuple[Ask, ...]:
    """Return what answers a command on a box, in order. Raises NotMeasured for what it cannot answer.

    ``starts`` are the replicas as they run now; ``pids`` the processes of their workers, which only a running box has.
    """
    if not box.devices:
        raise NotMeasured(
            f"This box has no GPU: {command.verb} has nothing to read here. {_NOTHING}"
        )
    match command.verb:
        case "nvidia-smi":
            return (Ask(("nvidia-smi", *_smi(command.target))),)
        case "dcgm":
            return (Ask(url=DCGM_URL),)
        case "topo":
            return (Ask(("nvidia-smi", "topo", "-m")),)
        case "dmesg":
            return (Ask(("dmesg", "-T")),)
        case "all-reduce-perf":
            return tuple(_perf(start) for start in starts)
        case "taskset":
            return tuple(Ask(("taskset", "-cp", str(pid))) for pid in pids)
        case _:
            raise NotMeasured(f"There is no {command.verb} on a box of GPUs. {_NOTHING}")


def _perf(start: Start) -> Ask:
    seat = start.seat
    replica = tuple(pair for pair in start.env if pair[0].startswith("NCCL_"))
    return Ask(
        ("all_reduce_perf", *["-b", "8M", "-e", "32M", "-f", "2", "-g"], str(len(seat.devices))),
        env=(
            ("CUDA_DEVICE_ORDER", "PCI_BUS_ID"),
            ("CUDA_VISIBLE_DEVICES", seat.cuda_visible_devices),
            *replica,
        ),
        timeout_s=LONG_S,
        title=f"replica-{seat.replica}",
    )


def _smi(target: str) -> list[str]:
    """Return nvidia-smi's words. Raises NotMeasured for one that is not passed on."""
    words = target.split()
    first = words[0] if words else ""
    if not words:
        return []
    if first in {"topo", "nvlink"}:
        return [first, "-m" if first == "topo" else "-s"]
    if first == "dmon":
        return ["dmon", *_dmon(words[1:])]
    name, _, fields = first.partition("=")
    if name not in {"--query-gpu", "--query-compute-apps"} or not _FIELDS.fullmatch(fields):
        raise NotMeasured(f"nvidia-smi: `{first[:40]}` is not passed on to the driver. {_NOTHING}")
    formats = words[1:] or ["--format=csv"]
    bad = next((word for word in formats if not _FORMAT.fullmatch(word)), None)
    if bad is not None:
        raise NotMeasured(f"nvidia-smi: write --format=csv, not `{bad[:40]}`. {_NOTHING}")
    return [first, formats[0]]


_DMON = {"-c": re.compile(r"\d{1,2}"), "-d": re.compile(r"[1-9]"), "-s": re.compile(r"[pucvmet]{1,7}"), "-i": _NUMBERS}  # fmt: skip


def _dmon(words: list[str]) -> list[str]:
    """Return dmon's words: it ends after so many samples, one unless more are asked for."""
    found: dict[str, str] = {}
    left = list(words)
    while left:
        word, _, value = left.pop(0).partition("=")
        if word == "--gpm-metrics":
            if not value and left and _NUMBERS.fullmatch(left[0]):
                value = left.pop(0)
            if value and not _NUMBERS.fullmatch(value):
                raise NotMeasured(f"nvidia-smi dmon: `{value[:40]}` are no metrics. {_NOTHING}")
            found[word] = value or GPM
            continue
        value = left.pop(0) if left else ""
        if word not in _DMON or not _DMON[word].fullmatch(value):
            raise NotMeasured(
                f"nvidia-smi dmon: `{word[:40]}` is not passed on to the driver. {_NOTHING}"
            )
        found[word] = value
    count = min(max(1, int(found.get("-c", "1"))), MOST_SAMPLES)
    return [*(part for pair in {**found, "-c": str(count)}.items() for part in pair)]


def seconds_of(asks: Sequence[Ask]) -> float:
    """Return the longest that asking may take."""
    return sum(each.timeout_s for each in asks)


# ------------------------------------------------------------------------------------- asking

type Run = Callable[[Ask, Mapping[str, str]], str]


def read(
    command: Command,
    asks: Sequence[Ask],
    environment: Mapping[str, str],
    run: Run | None = None,
) -> tuple[str, str]:
    """Return (what was printed, what is left of it after the command's filters).

    ``environment`` is all that a program finds. Raises NotMeasured where the box lacks what was asked, or did not answer.
    """
    answers = []
    for each in asks:
        answer = (run or _answer)(each, environment)
        answers.append(
            f"==> {each.title} <==\n{answer}" if len(asks) > 1 and each.title else answer
        )
    whole = "\n\n".join(answers) if any(each.title for each in asks) else "\n".join(answers)
    return whole, filtered(whole, command.filters) or "(no line matches)"


_LACKS = {
    "nvidia-smi": "the driver's tools are not on this box",
    "all_reduce_perf": "nccl-tests are not installed on this box",
    "taskset": "util-linux is not installed on this box",
    "dmesg": "util-linux is not installed on this box",
}


def require(asks: Sequence[Ask], environment: Mapping[str, str]) -> None:
    """Raise NotMeasured for a program that the box lacks."""
    for name in (each.argv[0] for each in asks if each.argv):
        if shutil.which(name, path=environment.get("PATH")) is None:
            raise NotMeasured(f"{name}: {_LACKS.get(name, 'it is not on this box')}. {_NOTHING}")


def _answer(ask: Ask, environment: Mapping[str, str]) -> str:
    if ask.url:
        return _fetched(ask)
    name = ask.argv[0]
    require([ask], environment)
    try:
        done = subprocess.run(
            ask.argv,
            env={**environment, **dict(ask.env)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=ask.timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as exc:
        raise NotMeasured(
            f"{name} did not answer within {ask.timeout_s:.0f} s. {_NOTHING}"
        ) from exc
    except OSError as exc:
        raise NotMeasured(f"{name} could not be run: {exc.strerror or exc}. {_NOTHING}") from exc
    # ``topo -m`` underlines its head even where nobody sees it.
    return _TERMINAL.sub("", done.stdout.decode(errors="replace")).rstrip("\n")


def _fetched(ask: Ask) -> str:
    try:
        with urllib.request.urlopen(ask.url, timeout=ask.timeout_s) as answer:  # noqa: S310  (loopback)
            return bytes(answer.read()).decode(errors="replace").rstrip("\n")
    except (OSError, urllib.error.URLError, ValueError) as exc:
        raise NotMeasured(
            f"dcgm: nothing answers at {ask.url}; dcgm-exporter is not running on this box. {_NOTHING}"
        ) from exc


def nccl_lines(log: str) -> str:
    """Return the lines of an engine's log that tell of its links: what NCCL said, and which all-reduce vLLM took."""
    marks = ("NCCL INFO", "NCCL WARN", "all-reduce backends", "ustom allreduce")
    return "\n".join(line for line in log.splitlines() if any(mark in line for mark in marks))

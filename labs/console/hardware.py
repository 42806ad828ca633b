"""The lines that read or change the hardware under the engines, and look at replicas side by side."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from labs.console.commands import Command, Refusal, unknown

if TYPE_CHECKING:
    from labs.console.commands import Filter, Reader

_SMI = ("dmon", "topo", "nvlink")
_FLAGS = {"topo": ["-m"], "nvlink": ["-s", "--status"]}


def _nvidia_smi(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    target, first = " ".join(arguments), arguments[0] if arguments else ""
    if first == "-pl":
        return _power_limit(arguments[1:], filters)
    if first in _FLAGS and arguments[1:] not in [[flag] for flag in _FLAGS[first]]:
        return Refusal(
            f"nvidia-smi {first}: `nvidia-smi {first} {_FLAGS[first][0]}` is all it knows."
        )
    queries = ("--query-gpu=", "--query-compute-apps=")
    if not arguments or first in _SMI or first.startswith(queries):
        return Command("nvidia-smi", target=target, filters=filters)
    return Refusal(
        "nvidia-smi: this console has the plain table, `dmon`, `topo -m`, `nvlink -s`, "
        "`--query-gpu=… --format=csv` and `--query-compute-apps=… --format=csv`."
    )


def _power_limit(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    value = arguments[0] if len(arguments) == 1 else ""
    if filters or re.fullmatch(r"\d{3}", value, re.ASCII) is None:
        return Refusal(
            "nvidia-smi -pl: give a limit in watts, for every GPU: `nvidia-smi -pl 700`."
        )
    return Command("power-limit", options={"watts": value})


def _fixed(verb: str, *accepted: list[str], usage: str) -> Reader:
    """Return the reader of a command whose arguments are given."""

    def read(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
        if arguments not in accepted:
            return Refusal(f"{verb}: `{usage}` is all it knows.")
        return Command(verb, filters=filters)

    return read


def _perf(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    good = re.fullmatch(r"(-b 8M -e 32M -f 2( -g \d)?)?", " ".join(arguments), re.ASCII)
    if good is None:
        return Refusal(
            "all_reduce_perf: it runs over each replica's GPUs: `all_reduce_perf -b 8M -e 32M -f 2`."
        )
    return Command("all-reduce-perf", filters=filters)


def _place(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    said = re.fullmatch(
        r"(?:replica-)?(\d)(?: (node-[a-h]))? (\d(?:,\d){0,7})", " ".join(arguments), re.ASCII
    )
    if filters or said is None:
        return Refusal(
            "place: a replica, a node if it leaves its own, and GPUs in order of rank: `place 1 2,3`, `place 0 node-c 0,1,2,3`."
        )
    return Command("place", options={"replica": said[1], "node": said[2] or "", "gpus": said[3]})


def _bare(verb: str) -> Reader:
    def read(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
        if arguments or filters:
            return unknown(verb, (arguments or ["|"])[0], [])
        return Command(verb)

    return read


def _unset_env(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    name = arguments[0] if len(arguments) == 1 else ""
    if filters or re.fullmatch(r"[A-Z][A-Z0-9_]{2,40}", name, re.ASCII) is None:
        return Refusal("unset-env: name one variable of the replicas: `unset-env NCCL_DEBUG`.")
    return Command("unset-env", options={"name": name})


def _drain(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    said = re.fullmatch(r"(?:replica-)?(\d)", " ".join(arguments), re.ASCII)
    if filters or said is None:
        return Refusal("drain: say which replica gets nothing more: `drain 2`.")
    return Command("drain", options={"replica": said[1]})


def _route(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    policies = ("round-robin", "least-loaded")
    if filters or len(arguments) != 1 or arguments[0] not in policies:
        return Refusal(
            "route: say how the router picks: `route least-loaded`, `route round-robin`."
        )
    return Command("route", options={"policy": arguments[0]})


READERS: dict[str, Reader] = {
    "nvidia-smi": _nvidia_smi,
    "topo": _fixed("topo", [], ["-m"], usage="topo -m"),
    "all_reduce_perf": _perf,
    "taskset": _fixed("taskset", [], ["-cp"], usage="taskset -cp"),
    "dmesg": _fixed("dmesg", [], ["-T"], usage="dmesg -T"),
    "replicas": _fixed("replicas", [], ["--last", "5m"], usage="replicas --last 5m"),
    "demand": _fixed("demand", [], ["--last", "5m"], usage="demand --last 5m"),
    "step-times": _fixed("step-times", [], ["--last", "60s"], usage="step-times --last 60s"),
    "rank-times": _fixed("rank-times", [], ["--last", "60s"], usage="rank-times --last 60s"),
    "place": _place,
    "cool": _bare("cool"),
    "bind-numa": _bare("bind-numa"),
    "drain": _drain,
    "route": _route,
    "evict": _bare("evict"),
    "unset-env": _unset_env,
}
VERBS: dict[str, str] = {
    "topo": "topo -m as each replica's container sees it",
    "all-reduce-perf": "nccl-tests over each replica's GPUs",
    "taskset": "the CPUs that the workers may run on",
    "dmesg": "what the driver told the kernel",
    "replicas": "queue, pool and TTFT of each replica",
    "demand": "what people ask for, against the load test",
    "step-times": "the steps of each replica",
    "rank-times": "where each rank's time goes",
    "place": "move a replica to other GPUs",
    "cool": "have the fans of every node turned up",
    "evict": "end other tenants' processes on these GPUs",
    "unset-env": "roll the replicas without a variable",
    "bind-numa": "roll the replicas with workers bound to near CPUs",
    "drain": "take a replica out of the router's rotation",
    "route": "choose how the router picks a replica",
    "power-limit": "set the power limit of every GPU",
}
"""Verb of a command -> what it is, in the words of ``help``."""

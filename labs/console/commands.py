"""What a line can mean: a command with its filters, or a refusal."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass, field

MAX_LINE_CHARACTERS = 400


@dataclass(frozen=True)
class Filter:
    """One ``| grep``, ``| head``, ``| tail`` or ``| wc -l`` behind a source."""

    name: str
    pattern: str = ""
    lines: int = 10
    invert: bool = False
    ignore_case: bool = False


@dataclass(frozen=True)
class Command:
    """What to do: ``verb`` is one of VERBS; ``target`` and ``options`` say with what."""

    verb: str
    target: str = ""
    options: dict[str, str] = field(default_factory=dict)
    filters: tuple[Filter, ...] = ()


@dataclass(frozen=True)
class Refusal:
    """Why a line was not understood, and what would be."""

    message: str


type Reader = Callable[[list[str], tuple[Filter, ...]], Command | Refusal]
"""Reads the words behind a command's name, and the filters behind its pipes."""

COMMON_VERBS = {
    "metrics": "the engine's /metrics",
    "promql": "one PromQL expression",
    "dashboard": "one panel of the dashboard, drawn from the healthy window until now",
    "nvidia-smi": "what the driver counts",
    "dcgm": "what DCGM counts",
    "engine-log": "the engine's log",
    "request-log": "the gateway's request log",
    "steps": "what the engine's steps were made of",
    "kv-ledger": "who holds the KV blocks",
    "flags": "the flags that the engine runs with",
    "wait": "let incident time pass",
    "verify": "measure what raised the alarm again, over a window",
    "restart": "restart the engine with other flags",
    "shed": "answer 429 to a share of requests at the router",
    "limit-max-tokens": "cap max_tokens at the gateway",
    "add-replica": "bring up the standby replica",
    "restart-router": "restart the router",
    "undo": "take a change back",
    "help": "what this console knows",
}


def unknown(command: str, word: str, known: list[str]) -> Refusal:
    """Return the refusal of a word that a command does not take, with the nearest that it does."""
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    if near:
        return Refusal(f"{command}: no `{word[:40]}`. Did you mean `{near[0]}`?")
    takes = f"It takes {', '.join(known)}." if known else "It takes no argument."
    return Refusal(f"{command}: no `{word[:40]}`. {takes}")


def bare(name: str) -> Reader:
    """Return the reader of a command that takes no argument."""

    def read(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
        if arguments or filters:
            return Refusal(f"{name} takes no argument.")
        return Command(name)

    return read


def of_replica(arguments: list[str]) -> tuple[list[str], dict[str, str] | None]:
    """Return the words without ``--replica N``, and that as an option; None for one that is no number."""
    if "--replica" not in arguments:
        return arguments, {}
    at = arguments.index("--replica")
    value = arguments[at + 1] if at + 1 < len(arguments) else ""
    rest = arguments[:at] + arguments[at + 2 :]
    good = re.fullmatch(r"\d", value, re.ASCII) is not None
    return rest, {"replica": value} if good else None


def for_a_replica(name: str) -> Reader:
    """Return the reader of a command that takes ``--replica N`` and nothing else."""

    def read(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
        rest, options = of_replica(arguments)
        if rest or options is None:
            return unknown(name, (rest or arguments)[0], ["--replica"])
        return Command(name, options=options, filters=filters)

    return read

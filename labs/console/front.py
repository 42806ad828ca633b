"""The lines that read or change what stands in front of the engines, and their lifetime."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from labs.console.commands import Command, Refusal, bare
from labs.console.windows import in_its_window

if TYPE_CHECKING:
    from labs.console.commands import Filter, Reader


def _fixed(verb: str, usage: str) -> Reader:
    """Return the reader of a command that is typed in one way, or without its arguments."""

    def read(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
        return in_its_window(verb, usage, arguments, filters)

    return read


PANELS = ("slow-streams", "running", "failed", "unanswered", "unfinished")


def _panel(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    if len(arguments) != 1 or arguments[0] not in PANELS:
        return Refusal(f"panel: name one that pages: {', '.join(PANELS)}.")
    return Command("panel", target=arguments[0], filters=filters)


PROBES = ("both-long", "no-role", "prompt-long")
CHECKS = ("model", "role", "messages", "context_length", "max_tokens", "json")


def _probe(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    if len(arguments) != 1 or arguments[0] not in PROBES:
        return Refusal(
            f"probe: sends one request through the gateway and prints the answer: {', '.join(PROBES)}."
        )
    return Command("probe", target=arguments[0], filters=filters)


def _gateway_check(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    if filters or len(arguments) != 1 or arguments[0] not in CHECKS:
        return Refusal(f"gateway-check: name one check to switch on: {', '.join(CHECKS)}.")
    return Command("gateway-check", options={"check": arguments[0]})


def _client_retries(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    if filters or len(arguments) != 1 or arguments[0] not in {"0", "1", "2", "3"}:
        return Refusal("client-retries: say how many, 0 to 3: `client-retries 0`.")
    return Command("client-retries", options={"retries": arguments[0]})


MOST_WORKERS = 512


def _batch_workers(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    value = arguments[0] if len(arguments) == 1 else ""
    good = re.fullmatch(r"\d{1,3}", value, re.ASCII) and 1 <= int(value) <= MOST_WORKERS
    if filters or not good:
        return Refusal(f"batch-workers: say how many, 1 to {MOST_WORKERS}: `batch-workers 16`.")
    return Command("batch-workers", options={"workers": str(int(value))})


READERS: dict[str, Reader] = {
    "panel": _panel,
    "access-log": _fixed("access-log", "access-log --last 5m"),
    "upstream-log": _fixed("upstream-log", "upstream-log --last 5m"),
    "answer-lengths": _fixed("answer-lengths", "answer-lengths --last 5m"),
    "probe": _probe,
    "gateway-check": _gateway_check,
    "pass-refusals": bare("pass-refusals"),
    "connections": _fixed("connections", "connections"),
    "close-upstream": bare("close-upstream"),
    "attempts": _fixed("attempts", "attempts --last 5m"),
    "client-retries": _client_retries,
    "ages": _fixed("ages", "ages --last 5m"),
    "ready-after-warm-up": bare("ready-after-warm-up"),
    "slots": _fixed("slots", "slots"),
    "streams": _fixed("streams", "streams --last 5m"),
    "in-flight": _fixed("in-flight", "in-flight"),
    "batch-workers": _batch_workers,
}
VERBS: dict[str, str] = {
    "access-log": "what the gateway answered, by status",
    "upstream-log": "what the engine had said where the gateway answered 5xx",
    "answer-lengths": "how long answers were, against what was asked for",
    "probe": "one request of your own through the gateway, and its answer",
    "gateway-check": "switch a check of the gateway on",
    "pass-refusals": "let the engine's refusals through the gateway as they are",
    "panel": "the number of a panel that pages",
    "connections": "what the engines run, against the streams that clients hold open",
    "close-upstream": "have the gateway close the engine's connection when a client goes",
    "attempts": "what was sent for the first time, and what again",
    "client-retries": "how often the clients' library sends again what failed",
    "ages": "since when each replica is ready, and TTFT by its age",
    "ready-after-warm-up": "have the readiness probe of replicas wait for their warm-up",
    "slots": "what bounds how many requests run at once",
    "streams": "how fast answers come once they have begun",
    "in-flight": "who has requests open, and how long they are",
    "batch-workers": "how many requests the batch job keeps open at most",
}
"""Verb of a command -> what it is, in the words of ``help``."""

"""The lines that read or change what is special within the engines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from labs.console.commands import Command, Refusal, bare
from labs.console.readings import READERS as READINGS
from labs.console.windows import in_its_window

if TYPE_CHECKING:
    from labs.console.commands import Filter, Reader


_BY = {"--by-class": "request-classes", "--by-tenant": "request-tenants"}


def _request_log(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    of = _BY.get(arguments[-1]) if arguments else None
    if of is not None:
        return in_its_window(of, "request-log --last 5m", arguments[:-1], filters)
    return READINGS["request-log"](arguments, filters)


def _torch_profile(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    if arguments not in ([], ["--last", "10s"]):
        return Refusal("torch-profile: it takes ten seconds of steps: `torch-profile --last 10s`.")
    return Command("torch-profile", filters=filters)


def _py_spy(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    if arguments not in ([], ["record", "-d", "20"], ["dump"], ["top"]):
        return Refusal("py-spy: it samples the engine for twenty seconds: `py-spy record -d 20`.")
    return Command("py-spy", filters=filters)


def _scrape_every(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    said = re.fullmatch(r"(\d{1,3})s", arguments[0], re.ASCII) if len(arguments) == 1 else None
    if filters or said is None or not 1 <= int(said[1]) <= 300:  # noqa: PLR2004
        return Refusal("scrape-every: say how often, 1s to 300s: `scrape-every 30s`.")
    return Command("scrape-every", options={"seconds": str(int(said[1]))})


def _tokenize_diff(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    if arguments:
        return Refusal("tokenize-diff: it takes the two latest prompts of one tenant, no argument.")
    return Command("tokenize-diff", filters=filters)


READERS: dict[str, Reader] = {
    "request-log": _request_log,
    "tokenize-diff": _tokenize_diff,
    "rollback-template": bare("rollback-template"),
    "rollback-image": bare("rollback-image"),
    "torch-profile": _torch_profile,
    "py-spy": _py_spy,
    "freeze-gc": bare("freeze-gc"),
    "scrape-every": _scrape_every,
}
VERBS: dict[str, str] = {
    "request-classes": "the gateway's request log by class of request",
    "request-tenants": "the gateway's request log by tenant",
    "tokenize-diff": "two prompts of one tenant, tokenized and compared",
    "rollback-image": "roll the replicas back to the image before this one",
    "rollback-template": "have the gateway render prompts with the template before this one",
    "torch-profile": "torch.profiler over ten seconds of steps, by class of kernel",
    "py-spy": "what the engine's host threads do",
    "freeze-gc": "have the engine's heap frozen, so that the collector no longer walks it",
    "scrape-every": "set how often the engine's metrics are scraped",
}
"""Verb of a command -> what it is, in the words of ``help``."""

"""The lines that read how calls end and how replicas are stopped, and those that change it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from labs.console.commands import Command, Refusal, bare
from labs.console.windows import in_its_window

if TYPE_CHECKING:
    from labs.console.commands import Filter, Reader


def _windowed(verb: str, window: str) -> Reader:
    """Return the reader of a command that has one window, typed or left away."""

    def read(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
        return in_its_window(verb, f"{verb} --last {window}", arguments, filters)

    return read


def _seconds(verb: str, low: int, high: int, example: int) -> Reader:
    """Return the reader of a command that takes whole seconds within bounds."""

    def read(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
        value = (arguments[0] if len(arguments) == 1 else "").removesuffix("s")
        is_number = re.fullmatch(r"\d{1,4}", value, re.ASCII) is not None
        if filters or not is_number or not low <= int(value) <= high:
            return Refusal(f"{verb}: give seconds from {low} to {high}: `{verb} {example}`.")
        return Command(verb, options={"seconds": str(int(value))})

    return read


READERS: dict[str, Reader] = {
    "endings": _windowed("endings", "5m"),
    "stops": _windowed("stops", "10m"),
    "shutdown-timeout": _seconds("shutdown-timeout", 0, 600, 180),
    "pre-stop": _seconds("pre-stop", 0, 600, 90),
    "router-refresh": _seconds("router-refresh", 1, 120, 5),
    "client-timeout": _seconds("client-timeout", 10, 900, 600),
    "hold-replicas": bare("hold-replicas"),
}
VERBS: dict[str, str] = {
    "endings": "how calls ended, and which stand still",
    "stops": "which replicas were stopped, and what was open then",
    "shutdown-timeout": "how long a server that is told to stop may finish what runs",
    "pre-stop": "how long after a replica was picked its server is told to stop",
    "router-refresh": "how often the router reads the list of replicas",
    "client-timeout": "how long the clients' library waits for a whole answer",
    "hold-replicas": "keep the machines for an hour more, so that none is replaced",
}
"""Verb of a command -> what it is, in the words of ``help``."""

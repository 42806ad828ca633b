"""The lines that read or change what stands in front of the engines, and their lifetime."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.console.commands import Command, Refusal

if TYPE_CHECKING:
    from labs.console.commands import Filter, Reader


def _fixed(verb: str, usage: str) -> Reader:
    """Return the reader of a command that is typed in one way, or without its arguments."""

    def read(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
        if arguments and arguments != usage.split()[1:]:
            return Refusal(f"{verb}: `{usage}` is all it knows.")
        return Command(verb, filters=filters)

    return read


PANELS = ("slow-streams", "running", "failed", "unanswered")


def _panel(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    if len(arguments) != 1 or arguments[0] not in PANELS:
        return Refusal(f"panel: name one that pages: {', '.join(PANELS)}.")
    return Command("panel", target=arguments[0], filters=filters)


READERS: dict[str, Reader] = {
    "panel": _panel,
    "slots": _fixed("slots", "slots"),
    "streams": _fixed("streams", "streams --last 5m"),
}
VERBS: dict[str, str] = {
    "panel": "the number of a panel that pages",
    "slots": "what bounds how many requests run at once",
    "streams": "how fast answers come once they have begun",
}
"""Verb of a command -> what it is, in the words of ``help``."""

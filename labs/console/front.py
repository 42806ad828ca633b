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


READERS: dict[str, Reader] = {
    "slots": _fixed("slots", "slots"),
    "streams": _fixed("streams", "streams --last 5m"),
}
VERBS: dict[str, str] = {
    "slots": "what bounds how many requests run at once",
    "streams": "how fast answers come once they have begun",
}
"""Verb of a command -> what it is, in the words of ``help``."""

"""How far back a line looks: it has one window, which goes without saying, and shorter ones on real engines of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.console.commands import Command, Refusal

if TYPE_CHECKING:
    from labs.console.commands import Filter

FAST = {"5m": ("30s", "90s", "150s")}
"""The window of a cluster -> those of real engines of ours, where all goes faster; the longer ones where replicas are
replaced in turn: they hold one turn, or two."""


def in_its_window(
    verb: str, usage: str, arguments: list[str], filters: tuple[Filter, ...]
) -> Command | Refusal:
    """Return the command of a line that takes what ``usage`` says after its first word, or nothing.

    A shorter window is kept as the option ``last``, so that a lab that does not keep it can say so.
    """
    known = usage.split()[1:]
    if not arguments or arguments == known:
        return Command(verb, filters=filters)
    fast = FAST.get(known[-1], ()) if known else ()
    if arguments in ([*known[:-1], each] for each in fast):
        return Command(verb, options={"last": arguments[-1]}, filters=filters)
    there = f"; on a real engine of ours `--last {fast[0]}`" if fast else ""
    return Refusal(f"{verb}: `{usage}` is all it knows{there}.")

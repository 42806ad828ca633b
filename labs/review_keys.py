"""The keys of the grader's pages: what each does, and what a grader may put in its place. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Binding:
    """What one key does. ``key`` is one character; empty if the grader wants none for it."""

    action: str
    key: str
    title: str


DEFAULTS = (
    Binding("next", "n", "Next: save what is open, and claim another"),
    Binding("save", "s", "Save the draft"),
    Binding("release", "r", "Save, and look at the release"),
    Binding("skip", "x", "Skip, with a reason"),
    Binding("down", "j", "To the following item"),
    Binding("up", "k", "To the item before"),
)
FIXED = "?0123456789"
"""Keys that stay what they are: the overlay, and points by the number of an item."""


def bindings(changed: Mapping[str, str]) -> tuple[Binding, ...]:
    """Return all keys, with what a grader has changed by action."""
    return tuple(
        Binding(each.action, changed.get(each.action, each.key), each.title) for each in DEFAULTS
    )


def changes(chosen: Mapping[str, str]) -> dict[str, str]:
    """Return what differs from the defaults: all that needs to be stored."""
    return {
        each.action: chosen[each.action]
        for each in DEFAULTS
        if chosen.get(each.action, each.key) != each.key
    }


def faults(chosen: Mapping[str, str]) -> dict[str, str]:
    """Return what is wrong with a choice of keys, a sentence by action; nothing is wrong with no key."""
    found: dict[str, str] = {}
    first: dict[str, str] = {}
    titles = {each.action: each.title for each in DEFAULTS}
    for action, key in chosen.items():
        if not key:
            continue
        if len(key) != 1 or not key.isprintable():
            found[action] = f"“{key}” is not one key. Type one character, or leave it empty."
        elif key in FIXED:
            found[action] = f"{key} is taken: digits give points, and ? lists the keys."
        elif key in first:
            found[action] = (
                f"{key} is already the key for “{titles[first[key]]}”. Type another, or leave it empty."
            )
        else:
            first[key] = action
    return found

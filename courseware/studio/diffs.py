"""What two states of a piece differ by, line by line. Pure."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from courseware.studio.pieces import is_computed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CONTEXT = 3
_FROM = re.compile(r"\+(\d+)")
MOST_LINES = 2000
"""Of one file's difference; the rest is counted."""


@dataclass(frozen=True)
class Line:
    """One line of a difference."""

    kind: str
    """"same", "gone", "new" or "gap"."""
    text: str


@dataclass(frozen=True)
class FileDiff:
    """How one file differs."""

    name: str
    what: str
    """"new", "gone" or "changed"."""
    lines: tuple[Line, ...]
    added: int
    taken: int
    more: int = 0
    """Lines that are not shown."""


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> list[FileDiff]:
    """Return the files that differ, by name; computed files are none of them."""
    found: list[FileDiff] = []
    for name in sorted(set(before) | set(after)):
        if is_computed(name) or before.get(name) == after.get(name):
            continue
        what = "new" if name not in before else "gone" if name not in after else "changed"
        lines = tuple(_lines(before.get(name, ""), after.get(name, "")))
        found.append(
            FileDiff(
                name,
                what,
                lines[:MOST_LINES],
                added=sum(line.kind == "new" for line in lines),
                taken=sum(line.kind == "gone" for line in lines),
                more=max(0, len(lines) - MOST_LINES),
            )
        )
    return found


def _lines(before: str, after: str) -> Iterator[Line]:
    said = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=CONTEXT)
    for number, line in enumerate(said):
        if number < 2:  # noqa: PLR2004  (the two names)
            continue
        if line.startswith("@@"):
            yield Line("gap", f"from line {_FROM.findall(line)[0]}")
        else:
            kind = {"+": "new", "-": "gone"}.get(line[:1], "same")
            yield Line(kind, line[1:])

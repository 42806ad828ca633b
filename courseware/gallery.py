"""The examples of docs/authoring.md: a block's source, and the picture of what it makes. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lessons.outline import ONCE
from lessons.walkthroughs import FILE

if TYPE_CHECKING:
    from collections.abc import Iterator

GUIDE = Path(__file__).parent.parent / "docs" / "authoring.md"
PICTURES = GUIDE.parent / "pictures"
_EXAMPLE = re.compile(
    r"^```\n(?P<source>/// (?P<block>[a-z-]+).*\n(?:(?!```).*\n)*?)```\n\n!\[(?P<words>[^\]]+)\]\(pictures/(?P<picture>[a-z-]+)\.webp\)$",
    re.MULTILINE,
)
_WALKTHROUGH = re.compile(r"^```toml\n(?P<source>lab = (?:(?!```).*\n)*)```$", re.MULTILINE)
_KIND = re.compile(r"^ {4}kind: (?P<kind>[a-z]+)$", re.MULTILINE)
BEFORE, AFTER = "Before the block", "After the block"
"""Headings of an example's station: what lies between them is the picture."""
_FILLED = {
    "in-short": "/// in-short\nShort.\n///\n",
    "analogy": "/// analogy | In the kitchen\nWords.\n///\n",
    "takeaway": "/// takeaway\nKeep.\n///\n",
}


@dataclass(frozen=True)
class Example:
    """One block in the guide."""

    block: str
    source: str
    words: str
    """What stands for the picture where it cannot be seen."""
    name: str
    """Of its picture, without the suffix."""

    @property
    def picture(self) -> Path:
        return PICTURES / f"{self.name}.webp"

    @property
    def kind(self) -> str:
        """Of a check; empty for any other block."""
        found = _KIND.search(self.source)
        return found["kind"] if found and self.block == "check" else ""


def examples(guide: str) -> Iterator[Example]:
    """Yield every source of the guide that begins with a block and is followed by a picture."""
    for found in _EXAMPLE.finditer(guide):
        yield Example(found["block"], found["source"], found["words"], found["picture"])


def beside(example: Example, guide: str) -> dict[str, str]:
    """Return the files that an example's station needs beside it, by name: a run, the guide's walkthrough."""
    found = _WALKTHROUGH.search(guide) if example.block == "run" else None
    return {} if found is None else {FILE: found["source"]}


def station_of(example: Example) -> str:
    """Return a station's source with the example between two headings, and what every station needs around them."""
    needed = [_FILLED[name] for name in ONCE if name != example.block]
    head = '+++\ntitle = "An example"\nshort = "Example"\nminutes = 1\n+++\n'
    return "\n".join(
        [head, *needed, f"## {BEFORE}\n", example.source, f"## {AFTER}\n", "The page goes on.\n"]
    )

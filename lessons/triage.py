"""The triage card: ``content/triage.toml`` to what the one page shows. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from lessons.content import CONTENT_DIR
from lessons.front_matter import ContentError, checked, read_toml
from lessons.markdown import LAYERS, inline_html

if TYPE_CHECKING:
    from pathlib import Path

TRIAGE_FILE = CONTENT_DIR / "triage.toml"
_WORDS = ("symptom", "first", "rules_out", "then")


@dataclass(frozen=True)
class Row:
    """A symptom on the card. All but the command are one line of HTML."""

    layer: str
    part: str
    """Of the layer; empty if the card does not split it."""
    symptom: str
    first: str
    command: str
    """As it is typed."""
    rules_out: str
    then: str


@dataclass(frozen=True)
class Sum:
    """A formula on the card."""

    name: str
    formula: str
    use: str


@dataclass(frozen=True)
class Card:
    """One page."""

    steps: tuple[str, ...]
    rows: tuple[Row, ...]
    sums: tuple[Sum, ...]


@cache
def triage(path: Path = TRIAGE_FILE) -> Card:
    """Return the card. Raises ContentError, which names the file, the row and the key."""
    data = read_toml(path, {"steps": list, "row": list, "sum": list}, {})
    rows = tuple(_row(f"{path}: row {place}", row) for place, row in enumerate(data["row"], 1))
    sums = tuple(
        Sum(
            **checked(
                f"{path}: sum {place}", found, dict.fromkeys(("name", "formula", "use"), str), {}
            )
        )
        for place, found in enumerate(data["sum"], 1)
    )
    return Card(tuple(inline_html(step) for step in data["steps"]), rows, sums)


def _row(where: str, data: dict[str, Any]) -> Row:
    keys = dict.fromkeys(("layer", "command", *_WORDS), str)
    found = checked(where, data, keys, {"part": str})
    if found["layer"] not in LAYERS:
        raise ContentError(f"{where}: layer: {found['layer']!r} is none of {', '.join(LAYERS)}")
    words = {name: inline_html(found[name]) for name in _WORDS}
    return Row(found["layer"], found.get("part", ""), command=found["command"], **words)

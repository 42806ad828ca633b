"""The triage card: ``content/triage.toml`` to what the one page shows. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from courseware.glossary import unknown_terms
from courseware.served import remembered, tree
from lessons.front_matter import Place, checked, read_toml
from lessons.markdown import LAYERS, inline_html

if TYPE_CHECKING:
    from pathlib import Path

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


@remembered
def triage(path: Path | None = None) -> Card:
    """Return the card. Raises ContentError, which names the file, the row and the key."""
    data, file = read_toml(
        path or tree().lessons / "triage.toml", {"steps": list, "row": list, "sum": list}, {}
    )
    rows = tuple(
        _row(file.at("row", place, name=f"row {place + 1}"), row)
        for place, row in enumerate(data["row"])
    )
    keys = dict.fromkeys(("name", "formula", "use"), str)
    sums = tuple(
        Sum(**checked(file.at("sum", place, name=f"sum {place + 1}"), found, keys, {}))
        for place, found in enumerate(data["sum"])
    )
    steps = tuple(_html(file.at("steps"), step) for step in data["steps"])
    return Card(steps, rows, sums)


def _html(place: Place, text: Any) -> str:
    """Return the HTML of one line. Raises ContentError for what is no text, or marks a term that there is not."""
    if not isinstance(text, str):
        raise place.error(f"write texts in quotes, not {text!r}")
    for _, term in unknown_terms(text):
        raise place.error(f"no keyword is called {term!r}: write it into glossary.toml")
    return inline_html(text)


def _row(place: Place, data: Any) -> Row:
    keys = dict.fromkeys(("layer", "command", *_WORDS), str)
    found = checked(place, data, keys, {"part": str})
    if found["layer"] not in LAYERS:
        raise place.at("layer").error(f"{found['layer']!r} is none of {', '.join(LAYERS)}")
    words = {name: _html(place.at(name), found[name]) for name in _WORDS}
    return Row(found["layer"], found.get("part", ""), command=found["command"], **words)

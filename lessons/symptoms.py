"""The index of symptoms: what one is handed on call, row by row, and the page behind each. Files to Symptom; pure.

``content/symptoms/<group>.<number>.md`` holds one symptom. A mistake raises ContentError with file and line or key.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from courseware.glossary import unknown_terms
from courseware.served import remembered, tree
from lessons.content import is_lab, lessons, no_such_lab
from lessons.front_matter import ContentError, Place, head_and_lines
from lessons.markdown import LAYERS
from lessons.prose import prose_html

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TIERS = ("public", "signed-in", "enrolled")
_NAME = re.compile(r"(?P<group>[1-9])\.(?P<number>[1-9]\d?)")
_KEYS: dict[str, type] = {"symptom": str, "first": str, "layer": str, "tier": str, "evidence": list}
_OPTIONAL: dict[str, type] = {"lessons": list, "labs": list}


@dataclass(frozen=True)
class Group:
    """A family of symptoms: what all of them look like, and the split to make before any other."""

    number: int
    title: str
    split: str


GROUPS = (
    Group(1, "The first token comes late", "Did the request wait, or was it being computed?"),
    Group(
        2,
        "It starts, then it stutters",
        "Look at one stream, then at one step; averages hide both.",
    ),
    Group(
        3,
        "Memory runs out",
        "Write the ledger of one rank, phase by phase, before you turn a knob.",
    ),
    Group(
        4,
        "Slower than the arithmetic",
        "Say in milliseconds what it should have cost. Then split the gap.",
    ),
    Group(
        5,
        "The answers changed",
        "Compare the token ids that went in before the logits that came out.",
    ),
    Group(6, "Two numbers disagree", "Ask what each of them was counted over."),
)


@dataclass(frozen=True)
class Source:
    """A public thread or page that shows the same."""

    title: str
    url: str


@dataclass(frozen=True)
class Symptom:
    """One row of the index and its page."""

    number: str
    """As people say it: 4.10."""
    symptom: str
    first: str
    """What to measure first, in a line."""
    layer: str
    tier: str
    lessons: tuple[tuple[str, str, str], ...]
    """Lesson slug, station slug, station title."""
    labs: tuple[str, ...]
    evidence: tuple[Source, ...]
    html: str
    text: str
    """The Markdown, for searching."""

    @property
    def group(self) -> Group:
        return GROUPS[int(self.number.partition(".")[0]) - 1]


@remembered
def symptoms(root: Path | None = None) -> Mapping[str, Symptom]:
    """Return the symptoms by number, in order. Raises ContentError."""
    files = sorted((root or tree().lessons / "symptoms").glob("*.md"), key=_place)
    return {path.stem: read_symptom(path) for path in files}


def _place(path: Path) -> tuple[int, int]:
    match = _NAME.fullmatch(path.stem)
    if match is None or int(match["group"]) > len(GROUPS):
        raise ContentError(
            f"{path}: call it <group>.<number>.md, such as 4.10.md; there are {len(GROUPS)} groups"
        )
    return int(match["group"]), int(match["number"])


def read_symptom(path: Path) -> Symptom:
    """Return the symptom of one file. Raises ContentError."""
    _place(path)
    head, place, first_line, lines = head_and_lines(path, _KEYS, _OPTIONAL)
    for key, known in (("layer", LAYERS), ("tier", TIERS)):
        if head[key] not in known:
            raise place.at(key).error(f"{head[key]!r} is none of {', '.join(known)}")
    for key in ("symptom", "first"):
        for _, term in unknown_terms(head[key]):
            raise place.at(key).error(f"no keyword is called {term!r}: write it into glossary.toml")
    return Symptom(
        number=path.stem,
        symptom=head["symptom"],
        first=head["first"],
        layer=head["layer"],
        tier=head["tier"],
        lessons=tuple(
            _station(place.at("lessons"), address) for address in head.get("lessons", [])
        ),
        labs=tuple(_lab(place.at("labs"), slug) for slug in head.get("labs", [])),
        evidence=tuple(_evidence(place.at("evidence"), entry) for entry in head["evidence"]),
        html=prose_html(path, lines, first_line),
        text="\n".join(lines),
    )


def _station(place: Place, address: Any) -> tuple[str, str, str]:
    lesson, _, slug = str(address).partition("/")
    found = lessons().get(lesson)
    station = None if found is None else found.station(slug)
    if station is None:
        raise place.error(f"there is no station {address!r}; write <lesson>/<station>")
    return lesson, slug, station.title


def _lab(place: Place, slug: Any) -> str:
    if not isinstance(slug, str) or not is_lab(slug):
        raise place.error(no_such_lab(str(slug)))
    return slug


def _evidence(place: Place, entry: Any) -> Source:
    if (
        not isinstance(entry, dict)
        or set(entry) != {"title", "url"}
        or not str(entry["url"]).startswith("https://")
    ):
        raise place.error(f'write {{ title = "…", url = "https://…" }}, not {entry!r}')
    return Source(str(entry["title"]), str(entry["url"]))

"""A lab's rubric, ``rubric.toml``: what a grader gives points for, or takes them away for. Read, checked, written. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from courseware.text_files import FileError, line_of, lines_of, nearest, toml_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

FILE = "rubric.toml"
MOST_ITEMS, MOST_POINTS = 20, 20
MOST_KEY, MOST_TITLE, MOST_NOTE = 60, 200, 2_000
_KEY = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_FIELDS = ("key", "title", "points", "note")
_NAMED = re.compile(r"\{\{([^{}]*)\}\}")


class RubricError(ValueError):
    """A rubric that cannot be used; one line a fault: file, line, what is wrong and what to write."""


@dataclass(frozen=True)
class Item:
    """One thing that is given points for; with negative ``points``, one that takes them away."""

    key: str
    """Says which item it is, in every edition: points are stored by it."""
    title: str
    """What the learner reads."""
    points: int
    note: str = ""
    """What only staff read: what counts, and what does not."""

    @property
    def takes_away(self) -> bool:
        return self.points < 0

    @property
    def most(self) -> int:
        """How many points it gives, or takes away, at most."""
        return abs(self.points)

    @property
    def choices(self) -> tuple[int, ...]:
        """What may be given, from nothing to all of it: 0, 1, 2 or 0, -1."""
        step = -1 if self.takes_away else 1
        return tuple(range(0, self.points + step, step))


@dataclass(frozen=True)
class Rubric:
    items: tuple[Item, ...]

    @property
    def most(self) -> int:
        """The points of who is given everything and taken nothing from."""
        return sum(item.points for item in self.items if not item.takes_away)

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(item.key for item in self.items)

    def item(self, key: str) -> Item | None:
        """Return the item of a key; None if there is none."""
        return next((item for item in self.items if item.key == key), None)


@dataclass(frozen=True)
class Fault:
    """What is wrong with one place of a rubric, and what to write."""

    place: int | None
    """Of the item, from 0; None for the rubric as a whole."""
    field: str
    says: str


# -------------------------------------------------------------------------------------------- read


@lru_cache(maxsize=128)
def read(text: str, file: str = FILE) -> Rubric:
    """Return the rubric of a ``rubric.toml``. Raises RubricError, one line a fault; ``file`` is what they name."""
    try:
        tables = toml_of(Path(file), text)
    except FileError as fault:
        raise RubricError(str(fault)) from fault
    listed = tables.get("item", [])
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise RubricError(f"{file}:1: item: write each item as a table: [[item]]")
    found = list(_raw_faults(tables, listed))
    items = () if found else tuple(_item(each) for each in listed)
    found = found or list(faults(items))
    if not found:
        return Rubric(items)
    raise RubricError("\n".join(located(text, fault, file) for fault in found))


def located(text: str, fault: Fault, file: str = FILE) -> str:
    """Return a fault with its file and line: “rubric.toml:4: item 1, points: …”."""
    keys = (fault.field,) if fault.place is None else ("item", fault.place, fault.field)
    return f"{file}:{line_of(lines_of(text), keys) or 1}: {_where(fault)}{fault.says}"


def _where(fault: Fault) -> str:
    if fault.place is None:
        return f"{fault.field}: " if fault.field else ""
    return f"item {fault.place + 1}, {fault.field}: "


def _item(table: Mapping[str, Any]) -> Item:
    return Item(table["key"], table["title"], table["points"], table.get("note", "").strip())


def _raw_faults(tables: Mapping[str, Any], listed: Sequence[Mapping[str, Any]]) -> Iterator[Fault]:
    """Yield what has another name or another type than it should."""
    for name in tables:
        if name != "item":
            yield Fault(None, name, "no such key here; a rubric holds [[item]] tables alone")
    for place, table in enumerate(listed):
        yield from _table_faults(place, table)


def _table_faults(place: int, table: Mapping[str, Any]) -> Iterator[Fault]:
    for name in table:
        if name not in _FIELDS:
            known = ", ".join(_FIELDS)
            yield Fault(place, name, f"no such key; known: {known}{nearest(name, _FIELDS)}")
    for name in ("key", "title", "points"):
        if name not in table:
            yield Fault(place, name, "missing; an item has key, title and points")
    for name in ("key", "title", "note"):
        if not isinstance(table.get(name, ""), str):
            yield Fault(place, name, "must be a text in quotation marks")
    points = table.get("points", 1)
    if not isinstance(points, int) or isinstance(points, bool):
        yield Fault(place, "points", "must be a whole number, such as 2; -1 takes a point away")


def faults(items: Sequence[Item]) -> Iterator[Fault]:
    """Yield what keeps items from being a rubric, whoever wrote them."""
    if not any(item.points > 0 for item in items):
        yield Fault(None, "", "at least one item must give points")
    if len(items) > MOST_ITEMS:
        yield Fault(None, "", f"{MOST_ITEMS} items at most; this has {len(items)}")
    seen: set[str] = set()
    for place, item in enumerate(items):
        if not _KEY.fullmatch(item.key) or len(item.key) > MOST_KEY:
            yield Fault(
                place, "key", "small letters, digits and hyphens, such as who-waits; 60 at most"
            )
        elif item.key in seen:
            yield Fault(place, "key", f"{item.key} is another item's key already; choose another")
        seen.add(item.key)
        if not item.title.strip():
            yield Fault(place, "title", "say what is given points for")
        elif len(item.title) > MOST_TITLE or "\n" in item.title:
            yield Fault(
                place,
                "title",
                f"one line of {MOST_TITLE} characters at most; {len(item.title)} stand here",
            )
        if len(item.note) > MOST_NOTE:
            yield Fault(
                place, "note", f"{MOST_NOTE:,} characters at most; {len(item.note):,} stand here"
            )
        if not 1 <= abs(item.points) <= MOST_POINTS:
            yield Fault(
                place, "points", f"1 to {MOST_POINTS}, or -1 to -{MOST_POINTS} to take away; not 0"
            )


# ------------------------------------------------------------------------------------------- written


def written(rubric: Rubric) -> str:
    """Return a rubric as the text of its file; what is read from it is the same rubric."""
    return "\n".join(
        "\n".join(
            (
                "[[item]]",
                f"key = {_quoted(item.key)}",
                f"title = {_quoted(item.title)}",
                f"points = {item.points}",
                *([f"note = {_quoted(item.note)}"] if item.note else ()),
                "",
            )
        )
        for item in rubric.items
    )


def _quoted(text: str) -> str:
    """Return a text as TOML; over several lines if it has them."""
    quoted = json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
    if "\n" not in text:
        return quoted
    return '"""\n' + quoted[1:-1].replace("\\n", "\n") + '"""'


# ----------------------------------------------------------------------------------------- parameters


def names_in(text: str) -> list[str]:
    """Return the parameters that a text names: ``{{ hypothesis }}``."""
    return [match[1].strip() for match in _NAMED.finditer(text)]


def filled(text: str, values: Mapping[str, str]) -> str:
    """Return a text with its parameters filled in; one that has no value stays as it is written."""
    return _NAMED.sub(lambda match: values.get(match[1].strip(), match[0]), text)


def with_values(rubric: Rubric, values: Mapping[str, str]) -> Rubric:
    """Return a rubric with the parameters of its texts filled in, for one attempt."""
    return Rubric(
        tuple(
            replace(item, title=filled(item.title, values), note=filled(item.note, values))
            for item in rubric.items
        )
    )


def unknown_names(rubric: Rubric, known: Sequence[str]) -> Iterator[Fault]:
    """Yield the parameters that a rubric names and that a lab does not have."""
    for place, item in enumerate(rubric.items):
        for field in ("title", "note"):
            for name in names_in(getattr(item, field)):
                if name not in known:
                    yield Fault(
                        place,
                        field,
                        f"there is no {{{{ {name} }}}}; there are: {', '.join(known)}{nearest(name, known)}",
                    )

"""What stands at the head of a content file, and in the TOML beside it: read, or refused with file, line and fix. Pure."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from courseware import text_files
from courseware.text_files import FileError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from courseware.text_files import Key

_WORDS: Mapping[type, str] = {
    str: "a text in quotes",
    int: "a whole number from 1",
    list: "a list in brackets",
    dict: "a table",
}


class ContentError(ValueError):
    """Content that cannot be shown; the message names file and line, and what to write."""


@dataclass(frozen=True)
class Place:
    """Where something stands in a file of TOML, or in the head of another."""

    path: Path
    lines: Mapping[tuple[Key, ...], int]
    first_line: int = 1
    keys: tuple[Key, ...] = ()
    name: str = ""
    """What people read of it, such as ``step 3 (queue): run``."""

    def at(self, *keys: Key, name: str = "") -> Place:
        """Return a place within this one, called by its key unless it has a name."""
        said = name or ".".join(str(key) for key in keys)
        return replace(
            self,
            keys=(*self.keys, *keys),
            name=f"{self.name}: {said}" if self.name else said,
        )

    def error(self, message: str) -> ContentError:
        line = text_files.line_of(self.lines, self.keys) or self.first_line
        name = f"{self.name}: " if self.name else ""
        return ContentError(f"{self.path}:{line}: {name}{message}")


def source_of(path: Path) -> str:
    """Return a file's text. Raises ContentError."""
    try:
        return text_files.text_of(path)
    except FileError as error:
        raise ContentError(str(error)) from error


def _parsed(path: Path, source: str, first_line: int = 1) -> tuple[dict[str, Any], Place]:
    try:
        data = text_files.toml_of(path, source, first_line)
    except FileError as error:
        raise ContentError(str(error)) from error
    return data, Place(path, text_files.lines_of(source, first_line))


def read_toml(
    path: Path, keys: Mapping[str, type], optional: Mapping[str, type]
) -> tuple[dict[str, Any], Place]:
    """Return a TOML file that has these keys, and where they stand. Raises ContentError."""
    data, place = _parsed(path, source_of(path))
    return checked(place, data, keys, optional), place


def checked(
    place: Place, data: Any, keys: Mapping[str, type], optional: Mapping[str, type]
) -> dict[str, Any]:
    """Return the table if it has these keys, of these types, none of them empty. Raises ContentError."""
    known = {**keys, **optional}
    if not isinstance(data, dict):
        raise place.error(f"write a table with {', '.join(keys)}")
    for key in data:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
            raise place.at(key).error(f"unknown key; {hint}")
    for key, kind in known.items():
        if key not in data and key in keys:
            raise place.at(key).error(f"missing: write “{key} = …”, {_WORDS[kind]}")
        if key in data and (type(data[key]) is not kind or (kind is int and data[key] < 1)):
            raise place.at(key).error(f"write {_WORDS[kind]}")
        if key in data and kind is str and not data[key].strip():
            raise place.at(key).error("is empty: write a text")
    return data


def head_and_lines(
    path: Path, keys: Mapping[str, type], optional: Mapping[str, type]
) -> tuple[dict[str, Any], Place, int, list[str]]:
    """Return what stands between ``+++`` and ``+++`` and where, the number of the line after it, and the lines from there on.

    Raises ContentError.
    """
    lines = source_of(path).splitlines()
    if not lines or lines[0] != "+++" or "+++" not in lines[1:]:
        raise ContentError(f"{path}:1: begin with “+++”, {', '.join(keys)}, and “+++”")
    end = lines.index("+++", 1)
    data, place = _parsed(path, "\n".join(lines[1:end]), 2)
    return checked(place, data, keys, optional), place, end + 2, lines[end + 1 :]
